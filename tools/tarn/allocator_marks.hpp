// allocator_marks: how to recognise a program that brings a malloc of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "elf.hpp"
#include "program.hpp"

namespace tarn {

// Adds a note for each allocator that is found in the file, or among the libraries that it needs.
// Symbols are looked at first; strings of the read-only data are for files that were stripped.
void add_allocator_notes(const Elf& elf, const std::string& name, Inspection& inspection);

// The sanitizer whose malloc the program has in order to find faults. Empty if it has none.
std::string_view sanitizer_of(const Elf& elf);

// Adds a note if the file is a Python interpreter, which keeps small blocks in pools of its own.
void add_python_note(const Elf& elf, const std::string& name, Inspection& inspection);

}  // namespace tarn
