// scratch: the memory of one search: from the OS, none of it from a heap, given back as a whole.
// What has been found outlasts the search, in scratch; another search must not take that for a
// root, so all scratch there is can be looked at. Its lock comes after the registered roots'.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/list.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

class Scratch {
 public:
  Scratch() noexcept = default;
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Zeroed, aligned to 64; null when the OS refuses. What is not touched costs nothing.
  void* take(std::size_t bytes) noexcept;

  template <class T>
  T* take_array(std::size_t count) noexcept {
    return count > SIZE_MAX / 2 / sizeof(T) ? nullptr : static_cast<T*>(take(count * sizeof(T)));
  }

  void release() noexcept;

  static os::Lock& lock() noexcept { return lock_; }

  // Calls visit(start, bytes) for all scratch, of all searches. pre: the lock is held
  template <class Visit>
  static void for_each(Visit visit) noexcept {
    for (const Chunk* c = all_.head(); c != nullptr; c = c->next) {
      visit(reinterpret_cast<const std::byte*>(c), c->bytes);
    }
  }

  static void recover_after_fork() noexcept {
    if (lock_.recover_after_fork()) all_.abandon();
  }

 private:
  struct alignas(64) Chunk {
    Chunk* before;  // Of this scratch,
    Chunk* next;    // of all.
    Chunk* prev;
    std::size_t bytes;
  };

  static constinit os::Lock lock_;
  static constinit List<Chunk> all_;

  Chunk* chunks_ = nullptr;
  std::size_t used_ = 0;  // Of the newest chunk.
};

}  // namespace tarn
