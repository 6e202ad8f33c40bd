// process without an OS: what pools and arenas need of it. A program says where words go and how
// it ends by defining the two functions below; otherwise reports are not seen, and it traps.
//
// SPDX-License-Identifier: MIT
#include "platform/os/process.hpp"

#include "platform/os/code.hpp"

extern "C" {
[[gnu::weak]] void tarn_bare_write(const char* text, std::size_t bytes);
[[gnu::weak, noreturn]] void tarn_bare_abort(void);
}

namespace tarn::os {

void set_error(Error) noexcept {}  // Null says it.

void write_error(const char* text, std::size_t bytes) noexcept {
  if (tarn_bare_write != nullptr) tarn_bare_write(text, bytes);
}

void process_abort() noexcept {
  if (tarn_bare_abort != nullptr) tarn_bare_abort();
  __builtin_trap();
}

void process_exit(int) noexcept { process_abort(); }

std::uint64_t process_id() noexcept { return 0; }

bool find_module(const void*, char*, std::size_t, std::uintptr_t*) noexcept { return false; }

bool find_function(const void*, char*, std::size_t) noexcept { return false; }

}  // namespace tarn::os
