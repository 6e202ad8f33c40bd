// process: the contract for what a process has once: its environment, its clock, its standard
// error, and the file in which it keeps its account. Nothing here allocates.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarn::os {

// The value of an environment variable, or null. Null for every name in a set-uid process.
const char* environment(const char* name) noexcept;

// False before libc has been told the environment (in a dynamic executable's .preinit_array).
bool environment_known() noexcept;

// Milliseconds from an arbitrary start, never backwards; a few nanoseconds a call, grain 1-4 ms.
std::uint64_t clock_coarse_ms() noexcept;

// Like clock_coarse_ms(), but finer. A system call where no other way is.
std::uint64_t clock_ns() noexcept;

// Sets errno, where there is one.
enum class Error { invalid, no_memory, busy, unsupported, exists, loop };
void set_error(Error error) noexcept;
inline int fail(Error error) noexcept {
  set_error(error);
  return -1;
}

// A number that the kernel has drawn for this process: the same in each call, and in the children
// of a fork. Where it has drawn none, the same for all processes.
std::uint64_t process_random() noexcept;

// A number that nobody can foresee: another one in each call, and nowhere else in the process.
// Where the kernel draws none, made of process_random() and the clock.
std::uint64_t process_secret() noexcept;

// True when the process has one thread. False where that cannot be told.
bool process_is_alone() noexcept;

void write_error(const char* text, std::size_t bytes) noexcept;
// Writes to a file descriptor. False with errno set when not all could be written.
bool write_all(int file, const char* text, std::size_t bytes) noexcept;
[[noreturn]] void process_abort() noexcept;
[[noreturn]] void process_exit(int status) noexcept;  // At once: no function of the program's.

std::size_t page_bytes() noexcept;  // The OS's page size.

// Makes a path one from the root, by the folder in which the process is now. False when it has no
// room, or there is no such folder; then it stays.
bool make_absolute(char* path, std::size_t room) noexcept;

std::uint64_t process_id() noexcept;
std::uint64_t parent_id() noexcept;

// The short name of the running executable, cut to `bytes`, always terminated.
void program_name(char* text, std::size_t bytes) noexcept;

// Creates the file `path` of `bytes` zeros, backed by storage, and maps it shared. A file that had
// the name is unlinked. Null with errno set when it cannot be created.
void* file_map_create(const char* path, std::size_t bytes) noexcept;

// Creates another such file and maps it over a range that file_map_create() has mapped. False when
// the file cannot be created; the range is private memory then, so that it can still be written to.
bool file_map_renew(void* start, const char* path, std::size_t bytes) noexcept;

}  // namespace tarn::os
