// Threads that hand blocks over, and blocks that share cache lines.
//
// larson: tables of blocks go round among threads that end after each turn (Larson and Krishnan,
// "Memory allocation for long-running server applications", 1998). sharing_active: each thread
// allocates a small object, writes to it often and frees it; sharing_passive: the objects with
// which the threads begin come from one thread, side by side in a line (Berger et al., "Hoard",
// 2000). messages: producers send batches of messages to consumers, which answer some; whoever gets
// a message frees it.
//
// SPDX-License-Identifier: MIT
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "../workloads/block.hpp"
#include "../workloads/queue.hpp"
#include "../workloads/random.hpp"
#include "validation.hpp"

namespace tarn {
namespace {

struct Larson {
  std::size_t least, most;  // Bytes of a block.
  std::size_t blocks;       // In a table.
  std::uint64_t replaced;   // In a turn.
};

struct LarsonTable {
  std::vector<Block> blocks;
  Random random;
  std::uint64_t sum = 0;
};

void larson_turn(LarsonTable& table, const Larson& shape) {
  if (table.blocks.empty()) {
    for (std::size_t i = 0; i < shape.blocks; ++i) {
      table.blocks.push_back(take_block(table.random.between(shape.least, shape.most), i));
    }
  }
  for (std::uint64_t i = 0; i < shape.replaced; ++i) {
    Block& block = table.blocks[table.random.below(shape.blocks)];
    table.sum += give_block(block);
    block = take_block(table.random.between(shape.least, shape.most), i);
  }
}

std::uint64_t write_often(std::size_t bytes, std::uint64_t objects, int writes,
                          unsigned char* first) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < objects; ++i) {
    auto* const object = first != nullptr ? first : static_cast<unsigned char*>(std::malloc(bytes));
    if (object == nullptr) fail("out of memory");
    first = nullptr;
    object[0] = 0;
    for (int k = 0; k < writes; ++k) {
      volatile unsigned char& byte = object[static_cast<std::size_t>(k) % bytes];
      byte = static_cast<unsigned char>(byte + k);
    }
    sum += object[0];
    std::free(object);
  }
  return sum;
}

std::uint64_t share_lines(const Request& request, bool passive) {
  Random random(request.seed * 4 + (passive ? 2 : 1));
  const std::size_t bytes = random.between(8, 24);
  const int writes = static_cast<int>(random.between(20, 200));
  std::vector<unsigned char*> first(request.threads, nullptr);
  constexpr std::uint64_t rounds = 16;
  const std::uint64_t objects = request.size / rounds / static_cast<std::uint64_t>(writes) + 1;
  std::vector<std::uint64_t> sums(request.threads);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (unsigned i = 0; passive && i < request.threads; ++i) {
      first[i] = static_cast<unsigned char*>(std::malloc(bytes));
      if (first[i] == nullptr) fail("out of memory");
      first[i][0] = 0;
    }
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < request.threads; ++i) {
      threads.emplace_back([&, i] { sums[i] += write_often(bytes, objects, writes, first[i]); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::uint64_t sum = bytes * 1000 + static_cast<std::uint64_t>(writes);
  for (const std::uint64_t each : sums) sum += each;
  return sum;
}

struct Message {
  Message* next;
  std::uint64_t number;
  std::size_t bytes;
  unsigned char* body;
};

Message* make_message(std::uint64_t number, std::size_t bytes) {
  auto* const message = static_cast<Message*>(std::malloc(sizeof(Message)));
  auto* const body = static_cast<unsigned char*>(std::malloc(bytes));
  if (message == nullptr || body == nullptr) fail("out of memory");
  for (std::size_t i = 0; i < bytes; i += 64) body[i] = static_cast<unsigned char>(number + i);
  *message = {nullptr, number, bytes, body};
  return message;
}

std::uint64_t end_message(Message* message) {
  std::uint64_t sum = message->number ^ message->bytes;
  for (std::size_t i = 0; i < message->bytes; i += 64) sum += message->body[i];
  std::free(message->body);
  std::free(message);
  return sum;
}

// Answers, each batch a chain. Nobody waits here: the other side may be waiting for this one.
class Answers {
 public:
  void push(Message* batch) {
    const std::lock_guard lock(mutex_);
    batches_.push_back(batch);
  }
  // Null when nothing is there.
  Message* pop() {
    const std::lock_guard lock(mutex_);
    if (batches_.empty()) return nullptr;
    Message* const batch = batches_.front();
    batches_.pop_front();
    return batch;
  }

 private:
  std::mutex mutex_;
  std::deque<Message*> batches_;
};

struct Traffic {
  std::size_t batch;           // Messages.
  std::size_t least;           // Bytes of the smallest,
  unsigned doublings;          // and how often that may be doubled.
  std::uint64_t answered_per;  // One message in so many is answered.
};

struct Link {
  BoundedQueue<Message*, 6> forth;  // Batches, each a chain; null: the sender has ended.
  Answers back;
};

std::uint64_t end_all(Message* batch) {
  std::uint64_t sum = 0;
  while (batch != nullptr) {
    Message* const next = batch->next;
    sum += end_message(batch);
    batch = next;
  }
  return sum;
}

std::uint64_t send_all(Link& link, const Traffic& traffic, std::uint64_t batches, Random random) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < batches; ++i) {
    Message* batch = nullptr;
    for (std::size_t k = 0; k < traffic.batch; ++k) {
      Message* const message =
          make_message(random.next() >> 40, random.log_size(traffic.least, traffic.doublings));
      message->next = batch;
      batch = message;
    }
    link.forth.push(batch);
    while (Message* const answers = link.back.pop()) sum += end_all(answers);
  }
  link.forth.push(nullptr);
  return sum;
}

std::uint64_t receive_all(Link& link, const Traffic& traffic) {
  std::uint64_t sum = 0;
  while (Message* batch = link.forth.pop()) {
    Message* answers = nullptr;
    while (batch != nullptr) {
      Message* const next = batch->next;
      if (batch->number % traffic.answered_per == 0) {
        Message* const answer = make_message(batch->number + 1, batch->bytes / 2 + 16);
        answer->next = answers;
        answers = answer;
      }
      sum += end_message(batch);
      batch = next;
    }
    if (answers != nullptr) link.back.push(answers);
  }
  return sum;
}

}  // namespace

std::uint64_t run_larson(const Request& request) {
  Random random(request.seed * 4 + 3);
  const std::size_t least = random.between(8, 64);
  const Larson shape{least, least + random.between(60, 1000), random.between(500, 5000),
                     random.between(5000, 30000)};
  std::vector<LarsonTable> tables;
  for (unsigned i = 0; i < request.threads; ++i) tables.push_back({{}, Random(random.next())});
  for (std::uint64_t done = 0; done < request.size; done += shape.replaced) {
    std::vector<std::thread> threads;
    for (LarsonTable& table : tables) {
      threads.emplace_back([&table, &shape] { larson_turn(table, shape); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::uint64_t sum = 0;
  for (LarsonTable& table : tables) {
    for (Block& block : table.blocks) sum += give_block(block);
    sum += table.sum;
  }
  return sum;
}

std::uint64_t run_sharing_active(const Request& request) { return share_lines(request, false); }
std::uint64_t run_sharing_passive(const Request& request) { return share_lines(request, true); }

std::uint64_t run_messages(const Request& request) {
  Random random(request.seed * 4 + 4);
  const Traffic traffic{random.between(20, 200), random.between(16, 48),
                        static_cast<unsigned>(random.between(4, 7)), random.between(2, 6)};
  const unsigned pairs = request.threads / 2 + request.threads % 2;
  std::vector<Link> links(pairs);
  std::vector<std::uint64_t> sums(2 * std::size_t{pairs});
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < pairs; ++i) {
    const Random own(random.next());
    const std::uint64_t batches = request.size / traffic.batch / pairs + 1;
    threads.emplace_back(
        [&, i, own, batches] { sums[2 * i] = send_all(links[i], traffic, batches, own); });
    threads.emplace_back([&, i] { sums[2 * i + 1] = receive_all(links[i], traffic); });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sums) sum += each;
  for (Link& link : links) {
    while (Message* const answers = link.back.pop()) sum += end_all(answers);
  }
  return sum;
}

}  // namespace tarn
