// A queue between threads: whoever runs ahead of the other side waits.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

namespace tarn {

// Has at most as many values.
template <class T, std::size_t most>
class BoundedQueue {
 public:
  void push(T value) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return values_.size() < most; });
    values_.push_back(std::move(value));
    lock.unlock();
    changed_.notify_all();
  }

  T pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !values_.empty(); });
    T value = std::move(values_.front());
    values_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return value;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> values_;
};

}  // namespace tarn
