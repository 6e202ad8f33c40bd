// file: the contract for files and named shared memory that are mapped. What fails says why in
// errno. Nothing here allocates, and no thread is cancelled in it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tarn::os {

enum class FileKind { path, shared_memory };
enum FileFlag : unsigned { file_writes = 1, file_creates = 2, file_is_new = 4 };

// A descriptor; -1: none. mode: of a file that is created.
int file_open(const char* name, FileKind kind, unsigned flags, unsigned mode) noexcept;
void file_close(int file) noexcept;
bool file_unlink(const char* name, FileKind kind) noexcept;

// Another descriptor of the same opening, which is a regular file; EACCES when it is to be written
// and cannot be.
int file_again(int file, bool writes) noexcept;

// The file's length; false with EINVAL when it is no regular file.
bool file_bytes(int file, std::size_t* bytes) noexcept;

// Has the first `bytes` of the file backed by storage, and the file at least so long. EFBIG beyond
// a limit, ENOSPC.
bool file_extend(int file, std::size_t bytes) noexcept;

// Address space that faults, for file_map.
void* file_reserve(std::size_t bytes) noexcept;

// Maps a part of the file there, over what was mapped; readable and writable. Shared: it is the
// file that is written.
bool file_map(void* start, int file, std::size_t offset, std::size_t bytes, bool shared) noexcept;
bool file_sync(void* start, std::size_t bytes) noexcept;  // Waits until it is in the storage.

// Excludes others that have opened the file, until it is unlocked or this opening ends, if need
// be with its process.
bool file_lock(int file) noexcept;
void file_unlock(int file) noexcept;

}  // namespace tarn::os
