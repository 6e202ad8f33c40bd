// file: the contract for files and named shared memory that are mapped. A function that fails says
// why in errno. Nothing here allocates, and no thread is cancelled in it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn::os {

enum class FileKind { path, shared_memory };
enum FileFlag : unsigned { file_writes = 1, file_creates = 2, file_is_new = 4 };

// Opens a file and returns its descriptor; -1 when it cannot. mode: the rights of a file that is
// created.
int file_open(const char* name, FileKind kind, unsigned flags, unsigned mode) noexcept;
void file_close(int file) noexcept;
bool file_unlink(const char* name, FileKind kind) noexcept;

// Returns another descriptor of the same open regular file; -1 when it cannot. EACCES: it is to be
// written, and was not opened for that.
int file_again(int file, bool writes) noexcept;

// Asks for the file's length. False with EINVAL when it is no regular file.
bool file_bytes(int file, std::size_t* bytes) noexcept;

// Makes the file at least `bytes` long, and has these bytes backed by storage. EFBIG: beyond the
// process's limit; ENOSPC: the storage is full.
bool file_extend(int file, std::size_t bytes) noexcept;

// Reserves address space for file_map(). An access to it faults.
void* file_reserve(std::size_t bytes) noexcept;

// Maps a part of the file at `start`, readable and writable, in place of what was mapped there.
// shared: writes go to the file.
bool file_map(void* start, int file, std::size_t offset, std::size_t bytes, bool shared) noexcept;
bool file_sync(void* start, std::size_t bytes) noexcept;  // Waits until the storage has it.

// Keeps out all others that have opened the file, until it is unlocked or this open file is closed,
// as it is when its process ends.
bool file_lock(int file) noexcept;
void file_unlock(int file) noexcept;

}  // namespace tarn::os
