// watched: a variable that one thread writes on its hit path, in plain stores, and that others may
// read meanwhile, knowing that what they get may be one step old. The processor reads and writes it
// whole. A reader that goes by what it read calls a barrier in all threads
// (heaps/heap/exclusive.hpp); for ThreadSanitizer, which does not know that, a write releases and a
// read acquires. In other builds atomics would keep the compiler from making one instruction of a
// read, a change and a write.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "platform/base/config.hpp"

namespace tarn {

template <class T>
class Watched {
 public:
  constexpr Watched(T value = T{}) noexcept : value_(value) {}
  Watched(const Watched& other) noexcept : value_(other.read()) {}
  TARN_INLINE Watched& operator=(const Watched& other) noexcept {
    *this = other.read();
    return *this;
  }
  TARN_INLINE Watched& operator=(T value) noexcept {
    if constexpr (TARN_TSAN) {
      __atomic_store_n(&value_, value, __ATOMIC_RELEASE);
    } else {
      value_ = value;
    }
    return *this;
  }

  TARN_INLINE operator T() const noexcept { return read(); }
  TARN_INLINE T operator->() const noexcept { return read(); }

  // For two variables that other threads read in the opposite order.
  TARN_INLINE void release(T value) noexcept { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }
  TARN_INLINE T acquire() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }

  // Return what was written, which need not be there any more: a thread that read it may have moved
  // on.
  TARN_INLINE T operator+=(T n) noexcept { return write(static_cast<T>(read() + n)); }
  TARN_INLINE T operator-=(T n) noexcept { return write(static_cast<T>(read() - n)); }
  TARN_INLINE T operator++() noexcept { return *this += T{1}; }
  TARN_INLINE T operator--() noexcept { return *this -= T{1}; }

 private:
  TARN_INLINE T write(T value) noexcept {
    *this = value;
    return value;
  }
  TARN_INLINE T read() const noexcept {
    if constexpr (TARN_TSAN) {
      return __atomic_load_n(&value_, __ATOMIC_ACQUIRE);
    } else {
      return value_;
    }
  }

  T value_;
};

}  // namespace tarn
