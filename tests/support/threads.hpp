// threads: the same work in several threads at once.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <thread>
#include <type_traits>
#include <vector>

namespace support {

// Call work(0) to work(count - 1), or work() as often, in a thread each.
class Threads {
 public:
  template <class Number, class Work>
  Threads(Number count, const Work& work) {
    for (Number number = 0; number < count; ++number) {
      if constexpr (std::is_invocable_v<const Work&, Number>) {
        threads_.emplace_back(work, number);
      } else {
        threads_.emplace_back(work);
      }
    }
  }
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // All have ended when it returns.
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  std::vector<std::thread> threads_;
};

// As above; returns when all have ended.
template <class Number, class Work>
void in_threads(Number count, const Work& work) {
  Threads(count, work).join();
}

// Calls work(item) for each of them, in a thread each; returns when all have ended.
template <class Items, class Work>
void each_in_threads(Items& items, const Work& work) {
  std::vector<std::thread> threads;
  for (auto& item : items) threads.emplace_back([&item, &work] { work(item); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace support
