// filter: a program that reads what the process writes to it, and writes to a file of the process.
// The process knows nothing of it: no signal comes when it ends, wait() does not see it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn::os {

struct Filter {
  int to = -1;  // What is written there the program reads.
  int process = 0;
};

// Starts `path` with one argument, and an empty environment. False when that cannot be: then
// `to` is as it was. One thread at a time.
bool filter_start(const char* path, const char* argument, int output, Filter* filter) noexcept;

// False when it does not read any more. No SIGPIPE.
bool filter_write(const Filter& filter, const char* text, std::size_t bytes) noexcept;

// Waits for its end. Its exit status; 127 when it had none, or could not be started.
int filter_finish(Filter& filter) noexcept;

// The file, to be written to at its end; it is made if there is none. -1 when it cannot be opened.
int open_to_append(const char* path) noexcept;
void close_file(int file) noexcept;

}  // namespace tarn::os
