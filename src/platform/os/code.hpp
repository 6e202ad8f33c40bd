// code: the contract for where the process's code lies: which module an address is in, and what the
// module says of unwinding its calls. For reports and call stacks: nothing here allocates.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::os {

// The file name (without folders, cut to `bytes`) of the executable or library that the address
// lies in, and the address's distance from where that begins; false when it lies in none.
bool find_module(const void* address, char* name, std::size_t bytes,
                 std::uintptr_t* offset) noexcept;

// The name of the function that it lies in, as the symbol table in the module's file has it: not
// demangled, with a NUL. False when none is known, or the name is longer than `bytes` allow.
bool find_function(const void* address, char* name, std::size_t bytes) noexcept;

// The binary search table (.eh_frame_hdr) of the module in which the code lies; null when it has
// none. Where the C library has no function without a lock for it (glibc before 2.35), the
// loader's lock is taken. pre: the caller holds no lock that a thread which loads a module may want
const std::byte* find_unwind_table(const void* code) noexcept;

// Whether the byte can be read. A system call.
bool is_readable(const void* p) noexcept;

}  // namespace tarn::os
