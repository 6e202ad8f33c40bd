// allocator_marks: by what one recognises a program that brings a malloc of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "elf.hpp"
#include "program.hpp"

namespace tarn {

// Adds a note for each allocator found in the file or among the libraries that it asks for by name.
// Symbols come first; strings of the read-only data are for files that were stripped.
void add_allocator_notes(const Elf& elf, const std::string& name, Inspection& inspection);

// The sanitizer whose malloc the program has, to find faults with; empty if it has none.
std::string_view sanitizer_of(const Elf& elf);

// Adds a note if the file is a Python that keeps small blocks in pools of its own.
void add_python_note(const Elf& elf, const std::string& name, Inspection& inspection);

}  // namespace tarn
