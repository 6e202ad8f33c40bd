// faults: what a thread tried to do with memory that it may not touch.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tarn::os {

struct Fault {
  enum class Access : std::uint8_t { unknown, read, write };

  const void* address;  // Of the byte, or of one of the bytes.
  const void* next;     // As a return address of the instruction; null: not known.
  Access access;
  std::uintptr_t pc;  // Where the thread was: 0 where that is not known.
  std::uintptr_t sp;
  std::uintptr_t fp;
};

// "a read", of a fault by one.
constexpr const char* name_of(Fault::Access access) noexcept {
  switch (access) {
    case Fault::Access::read: return "a read";
    case Fault::Access::write: return "a write";
    case Fault::Access::unknown: break;
  }
  return "an access";
}

// From now on explain(fault) is called when a thread of the process touches such memory (SIGSEGV),
// in the signal handler; after that the program's own handler is, as if there were no other one, or
// the process ends as it would. A handler that the program sets later gets the faults alone. There
// may be two, which are called in turn; one that is there already is not added.
void explain_faults(void (*explain)(const Fault& fault)) noexcept;

}  // namespace tarn::os
