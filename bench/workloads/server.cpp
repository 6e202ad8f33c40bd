// Threads that end while their memory lives on, and memory that one thread takes and another frees.
//
// server: each session owns a table of blocks; a thread replaces random ones for a while, starts
// its successor on the same table and ends, as a server with a thread per batch of requests does.
// So most frees concern blocks of a thread that is gone. handover: a producer sends batches of
// messages through a short queue to a consumer that reads and frees them: every free is remote,
// and memory is bounded only if the producer gets its blocks back. thread_churn: threads live for
// some dozens of allocations, so their set-up and the fate of their pages is what counts.
//
// SPDX-License-Identifier: MIT
#include <thread>
#include <vector>

#include "block.hpp"
#include "queue.hpp"
#include "random.hpp"
#include "workload.hpp"

namespace tarn {
namespace {

struct Session {
  static constexpr std::size_t slot_count = 2000;
  std::vector<Block> slots;
  Random random;
  std::uint64_t sum = 0;
  std::uint64_t generations;

  Session(std::uint64_t seed, std::uint64_t generation_count)
      : slots(slot_count), random(seed), generations(generation_count) {
    for (Block& block : slots) {
      block = take_block(random.log_size(8, 8), 1);
    }
  }
};

// One generation of a session. A thread cannot join itself, so the successor is started by the
// session's keeper as soon as this one has returned.
void serve(Session& session) {
  constexpr int requests = 20000;
  for (int i = 0; i < requests; ++i) {
    Block& block = session.slots[session.random.below(Session::slot_count)];
    session.sum += give_block(block);
    block = take_block(session.random.log_size(8, 8), static_cast<std::uint64_t>(i));
  }
}

void keep_session(Session& session) {
  for (std::uint64_t i = 0; i < session.generations; ++i) {
    std::thread(serve, std::ref(session)).join();
  }
}

using Batch = std::vector<Block>;

using BatchQueue = BoundedQueue<Batch, 8>;

void produce(BatchQueue& queue, std::uint64_t batch_count) {
  constexpr std::size_t batch_blocks = 1000;
  Random random(7);
  for (std::uint64_t i = 0; i < batch_count; ++i) {
    Batch batch(batch_blocks);
    for (Block& block : batch) {
      block = take_block(random.log_size(16, 5), i);
    }
    queue.push(std::move(batch));
  }
  queue.push(Batch{});
}

// What a thread of the churn leaves behind for the one that joins it.
void live_briefly(std::uint64_t seed, std::vector<Block>& estate) {
  constexpr std::size_t block_count = 64;
  Random random(seed);
  Block blocks[block_count];
  for (Block& block : blocks) {
    block = take_block(random.log_size(16, 7), seed);
  }
  for (std::size_t i = 0; i < block_count; ++i) {
    if (i % 8 == 0) {
      estate.push_back(blocks[i]);
    } else {
      std::free(blocks[i].memory);
    }
  }
}

}  // namespace

std::uint64_t run_server(const Request& request) {
  std::vector<Session> sessions;
  sessions.reserve(request.threads);
  for (unsigned i = 0; i < request.threads; ++i) {
    sessions.emplace_back(i + 1, request.size);
  }
  std::vector<std::thread> keepers;
  for (Session& session : sessions) {
    keepers.emplace_back(keep_session, std::ref(session));
  }
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < request.threads; ++i) {
    keepers[i].join();
    for (Block& block : sessions[i].slots) {
      sum += give_block(block);
    }
    sum += sessions[i].sum;
  }
  return sum;
}

std::uint64_t run_handover(const Request& request) {
  BatchQueue queue;
  std::thread producer(produce, std::ref(queue), request.size);
  std::uint64_t sum = 0;
  for (Batch batch = queue.pop(); !batch.empty(); batch = queue.pop()) {
    for (Block& block : batch) {
      sum += give_block(block);
    }
  }
  producer.join();
  return sum;
}

std::uint64_t run_thread_churn(const Request& request) {
  constexpr unsigned at_once = 4;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; i += at_once) {
    std::vector<Block> estates[at_once];
    std::thread threads[at_once];
    for (unsigned t = 0; t < at_once; ++t) {
      threads[t] = std::thread(live_briefly, i + t, std::ref(estates[t]));
    }
    for (unsigned t = 0; t < at_once; ++t) {
      threads[t].join();
      for (Block& block : estates[t]) {
        sum += give_block(block);
      }
    }
  }
  return sum;
}

}  // namespace tarn
