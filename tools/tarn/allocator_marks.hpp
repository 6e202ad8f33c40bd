// allocator_marks: by what one recognises a program that brings a malloc of its own.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "elf.hpp"
#include "program.hpp"

namespace tarn {

// Adds a note for each allocator found in the file or among the libraries that it asks for by name.
// Symbols come first; strings of the read-only data are for files that were stripped.
void add_allocator_notes(const Elf& elf, const std::string& name, Inspection& inspection);

}  // namespace tarn
