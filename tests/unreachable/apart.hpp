// apart: addresses that a test knows and no search sees, and frames that are wiped afterwards.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tarn {

// The complement of an address is none.
class Hidden {
 public:
  Hidden() = default;
  explicit Hidden(const void* p) : not_(~reinterpret_cast<std::uintptr_t>(p)) {}
  template <class T = void>
  T* get() const {
    return static_cast<T*>(reveal(not_));
  }
  friend bool operator==(Hidden a, Hidden b) { return a.not_ == b.not_; }
  friend bool operator<(Hidden a, Hidden b) { return a.not_ < b.not_; }

 private:
  // Made anew each time: no compiler keeps it.
  __attribute__((noinline)) static void* reveal(std::uintptr_t not_p) {
    __asm__ volatile("notq %0" : "+r"(not_p));
    return reinterpret_cast<void*>(not_p);
  }

  std::uintptr_t not_ = 0;
};

// What calls before have left below the caller's frame is gone, and what they left in registers:
// new threads inherit the wide ones. Without the zones that AddressSanitizer puts around variables:
// they would keep what was there.
__attribute__((noinline, no_sanitize("address"))) inline void scrub() {
  if (__builtin_cpu_supports("avx")) {
    __asm__ volatile("vzeroall" ::: "memory");
  }
  if (__builtin_cpu_supports("avx512f")) {  // libc copies by way of these, which stay.
    __asm__ volatile(
        ".irp i, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t"
        "vpxorq %%zmm\\i, %%zmm\\i, %%zmm\\i\n\t"
        ".endr" ::
            : "memory");
  }
  volatile std::uint64_t left[6 * 1024];
  for (volatile std::uint64_t& word : left) word = 0;
}

// Frames of what is called lie lower than what scrub(), called from the same frame, leaves as it is
// for its own variables.
template <class F>
__attribute__((noinline, no_sanitize("address"))) auto call_below(F& f) {
  volatile char distance[512] = {};
  __asm__ volatile("" : : "r"(distance) : "memory");
  return f();
}

// Calls f, and wipes the memory of its frames. All that knows an address of a block that is to be
// lost is done so: no test depends on what a compiler keeps in frames, then. Results are hidden.
template <class F>
__attribute__((noinline, no_sanitize("address"))) auto apart(F f) {
  scrub();
  if constexpr (std::is_void_v<decltype(f())>) {
    call_below(f);
    scrub();
  } else {
    const auto result = call_below(f);
    scrub();
    return result;
  }
}

}  // namespace tarn
