// recover: what locking and unlocking a purgeable costs, beside the same under a mutex: one that is
// held as long as the block is used, and one that guards a count of users, as who frees the block
// must not wait for them. And what it takes to have a block vanish and be there again. Nanoseconds
// of wall time; medians and quartiles of the rounds, which are interleaved.
//
//   recover [ROUNDS [TASK]]     one task alone, for callgrind: its pairs are 1,000,000
//
// SPDX-License-Identifier: MIT
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "meter/process.h"
#include "tarn/heap/recover.h"
#include "tarn/tarn.h"

namespace tarn {
namespace {

constexpr int pairs = 1'000'000;
constexpr int threads_max = 2;

struct Guarded {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  void* block = nullptr;
  int users = 0;
};

tarn_purgeable purgeable{};
Guarded guarded;

void use(void* block) {
  if (block == nullptr) std::exit(1);
  __asm__ volatile("" : : "r"(block) : "memory");
}

void lock_purgeable() {
  for (int i = 0; i < pairs; ++i) {
    use(tarn_purgeable_lock(&purgeable));
    tarn_purgeable_unlock(&purgeable);
  }
}

void hold_mutex() {
  for (int i = 0; i < pairs; ++i) {
    pthread_mutex_lock(&guarded.mutex);
    use(guarded.block);
    pthread_mutex_unlock(&guarded.mutex);
  }
}

void count_under_mutex() {
  for (int i = 0; i < pairs; ++i) {
    pthread_mutex_lock(&guarded.mutex);
    void* const block = guarded.block;
    ++guarded.users;
    pthread_mutex_unlock(&guarded.mutex);
    use(block);
    pthread_mutex_lock(&guarded.mutex);
    --guarded.users;
    pthread_mutex_unlock(&guarded.mutex);
  }
}

template <int count, void (*task)()>
void in_threads() {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(task);
  for (std::thread& thread : threads) thread.join();
}

// 4 KiB each, in a heap of their own: all vanish, all are filled again.
constexpr int blocks = 10'000;
constexpr std::size_t block_bytes = 4'096;
tarn_purgeable many[blocks];
tarn_heap heap_of_many{};

void refill_all() {
  for (tarn_purgeable& p : many) {
    use(tarn_purgeable_refill(&p));
    tarn_purgeable_unlock(&p);
  }
}
void vanish_and_refill() {
  tarn_recover_heap(heap_of_many, SIZE_MAX, TARN_RECOVER_PURGEABLES, nullptr);
  refill_all();
}

struct Task {
  const char* name;
  void (*run)();
  int operations;
  std::vector<double> ns;
};

void measure(std::vector<Task>& tasks, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (Task& task : tasks) {
      const double begin = now_ns(CLOCK_MONOTONIC);
      task.run();
      task.ns.push_back((now_ns(CLOCK_MONOTONIC) - begin) / task.operations);
    }
  }
  for (Task& task : tasks) {
    std::sort(task.ns.begin(), task.ns.end());
    const std::size_t n = task.ns.size();
    std::printf("%-44s %8.1f ns   (%.1f to %.1f)\n", task.name, task.ns[n / 2], task.ns[n / 4],
                task.ns[n * 3 / 4]);
  }
}

int run(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  if (rounds < 1) return 2;
  void* const block = tarn_malloc(4'096);
  guarded.block = tarn_malloc(4'096);
  if (block == nullptr || tarn_purgeable_adopt(&purgeable, block) != 0) return 1;
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  heap_of_many = tarn_heap_create(&options);
  for (tarn_purgeable& p : many) tarn_purgeable_begin(&p, heap_of_many, block_bytes);
  refill_all();
  std::vector<Task> tasks = {
      {"lock and unlock a purgeable", lock_purgeable, pairs, {}},
      {"hold a mutex", hold_mutex, pairs, {}},
      {"count users under a mutex", count_under_mutex, pairs, {}},
      {"two threads, one purgeable", in_threads<threads_max, lock_purgeable>, pairs, {}},
      {"two threads, hold one mutex", in_threads<threads_max, hold_mutex>, pairs, {}},
      {"two threads, count under one mutex", in_threads<threads_max, count_under_mutex>, pairs, {}},
      {"a block of 4 KiB vanishes and is there again", vanish_and_refill, blocks, {}},
  };
  if (argc > 2) {
    const auto at = static_cast<std::size_t>(std::atoi(argv[2]));
    if (at >= tasks.size()) return 2;
    tasks = {tasks[at]};
  }
  measure(tasks, rounds);
  return 0;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) { return tarn::run(argc, argv); }
