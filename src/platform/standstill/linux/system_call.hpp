// system_call: system calls without libc, for signal handlers and for code that sanitizers must not
// see; and what the calling thread has in its registers. x86-64.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/config.hpp"

// An error that the kernel reports is negative. Handlers return to tarn_signal_return.
extern "C" {
TARN_HIDDEN long tarn_system_call(long number, long a, long b, long c, long d);
TARN_HIDDEN void tarn_signal_return();
TARN_HIDDEN void tarn_with_registers(void (*work)(void*, const std::byte*), void* context);
}

namespace tarn::os {

inline constexpr std::size_t mask_bytes = sizeof(std::uint64_t);  // Of signals.

template <class... Arguments>
TARN_UNSANITIZED long call(long number, Arguments... arguments) noexcept {
  long values[4] = {};
  std::size_t i = 0;
  ((values[i++] = (long)arguments), ...);  // Pointers and numbers alike.
  return tarn_system_call(number, values[0], values[1], values[2], values[3]);
}

// What the thread pointer leads to, and its second word: the table of the modules' memory.
TARN_UNSANITIZED inline const std::byte* thread_pointer() noexcept {
  const std::byte* self = nullptr;
  __asm__("movq %%fs:0, %0" : "=r"(self));
  return self;
}

TARN_UNSANITIZED inline const std::byte* modules_of(const std::byte* tls) noexcept {
  return *reinterpret_cast<const std::byte* const*>(tls + sizeof(void*));
}

}  // namespace tarn::os
