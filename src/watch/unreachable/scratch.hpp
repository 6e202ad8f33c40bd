// scratch: the memory of one search. It comes from the OS, none of it from a heap, and is given
// back as a whole. What was found outlasts the search in its scratch, and another search must not
// take that for a root; so all scratch of the process can be visited. Lock order: after the
// registered roots'.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/check.hpp"
#include "platform/base/list.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

class Scratch {
 public:
  Scratch() noexcept = default;
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Memory, zeroed and aligned to 64; null when the OS refuses. Pages that are not touched cost
  // nothing.
  void* take(std::size_t bytes) noexcept;

  template <class T>
  T* take_array(std::size_t count) noexcept {
    return count > SIZE_MAX / 2 / sizeof(T) ? nullptr : static_cast<T*>(take(count * sizeof(T)));
  }

  // Gives all memory of this scratch back.
  void release() noexcept;

  static os::Lock& lock() noexcept { return lock_; }

  // Calls visit(start, bytes) for all scratch, of all searches. pre: the lock is held
  template <class Visit>
  static void for_each(Visit visit) noexcept {
    TARN_ASSERT(lock_.held_by_this_thread());
    for (const Chunk* c = all_.head(); c != nullptr; c = c->next) {
      TARN_ASSERT(c->bytes >= sizeof(Chunk) && (c->next == nullptr || c->next->prev == c));
      visit(reinterpret_cast<const std::byte*>(c), c->bytes);
    }
  }

  static void recover_after_fork() noexcept {
    if (lock_.recover_after_fork()) all_.abandon();
  }

 private:
  struct alignas(64) Chunk {
    Chunk* before;  // The chunk that this scratch took before.
    Chunk* next;    // In the list of all scratch.
    Chunk* prev;    // In the list of all scratch.
    std::size_t bytes;
  };

  static constinit os::Lock lock_;
  static constinit List<Chunk> all_;

  Chunk* chunks_ = nullptr;
  std::size_t used_ = 0;  // Bytes of the newest chunk, with its header.
};

}  // namespace tarn
