// file_source.hpp: chunks from a mapped file or named shared memory, in C++ (C++17). Header only
// over tarn/source/file_source.h, which says what each function promises.
//
//   tarn::FileSourceOptions options;
//   options.create = true;
//   tarn::FileSource file("index", options);
//   tarn::Chunk chunk = file.acquire(1000, 16);
//   file.set_root(chunk.data);                     // the next process finds it: file.root()
//
// SPDX-License-Identifier: MIT
#ifndef TARN_FILE_SOURCE_HPP
#define TARN_FILE_SOURCE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cerrno>
#include <cstddef>
#include <exception>
#include <new>

#include "file_source.h"
#include "source.hpp"

namespace tarn {

// Says why a file could not be opened: in words, and by the errno of tarn_file_source_init.
class FileError : public std::exception {
 public:
  FileError(int number, const char* text) noexcept : number_(number), text_(text) {}
  const char* what() const noexcept override { return text_; }
  int number() const noexcept { return number_; }

 private:
  int number_;
  const char* text_;  // Static.
};

// The options of a file source; each field means what it does in tarn_file_source_options.
struct FileSourceOptions {
  bool create = false;
  bool exclusive = false;
  bool is_private = false;
  unsigned mode = 0;
  std::size_t file_bytes = 0;
  std::size_t bytes_max = 0;
  std::size_t chunk_bytes = 0;
};

// What files and shared memory have in common. If one that is made with std::nothrow, or without
// exceptions, cannot be opened, it is false as a truth value, and error() and why() say why.
class MappedSource {
 public:
  ~MappedSource() { tarn_file_source_destroy(&source_); }
  MappedSource(const MappedSource&) = delete;
  MappedSource& operator=(const MappedSource&) = delete;

  explicit operator bool() const noexcept { return source_.start != nullptr; }
  int error() const noexcept { return error_; }
  const char* why() const noexcept { return source_.why; }

  [[nodiscard]] Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    return tarn_file_source_acquire(&source_, bytes, alignment);
  }
  void release(Chunk chunk) noexcept { tarn_file_source_release(&source_, chunk); }
  std::size_t chunk_bytes() const noexcept { return source_.chunk_bytes; }

  std::size_t offset(const void* p) const noexcept { return tarn_file_source_offset(&source_, p); }
  void* at(std::size_t offset, std::size_t bytes) noexcept {
    return tarn_file_source_at(&source_, offset, bytes);
  }
  bool set_root(const void* p) noexcept { return tarn_file_source_set_root(&source_, p) == 0; }
  void* root() noexcept { return tarn_file_source_root(&source_); }
  bool sync() noexcept { return tarn_file_source_sync(&source_) == 0; }

  bool owns(const void* p) const noexcept { return tarn_file_source_owns(&source_, p) != 0; }
  bool check() const noexcept { return tarn_file_source_check(&source_) != 0; }
  tarn_file_source_stats stats() const noexcept {
    tarn_file_source_stats stats = TARN_FILE_SOURCE_STATS();
    tarn_file_source_get_stats(&source_, &stats);
    return stats;
  }

  // For functions of the C interface.
  tarn_file_source* get() noexcept { return &source_; }

 protected:
  MappedSource(const char* name, int descriptor, unsigned flags,
               const FileSourceOptions& from) noexcept {
    tarn_file_source_options options = TARN_FILE_SOURCE_OPTIONS();
    options.name = name;
    options.descriptor = descriptor;
    options.flags = flags | (from.create ? unsigned{TARN_FILE_CREATE} : 0) |
                    (from.exclusive ? unsigned{TARN_FILE_EXCLUSIVE} : 0) |
                    (from.is_private ? unsigned{TARN_FILE_PRIVATE} : 0);
    options.mode = from.mode;
    options.file_bytes = from.file_bytes;
    options.bytes_max = from.bytes_max;
    options.chunk_bytes = from.chunk_bytes;
    if (tarn_file_source_init(&source_, &options) != 0) error_ = errno;
  }
  void throw_error() const {
#if defined(__cpp_exceptions)
    if (error_ != 0) throw FileError(error_, source_.why);
#endif
  }

 private:
  tarn_file_source source_;
  int error_ = 0;
};

// A file. Constructors throw FileError, except those with std::nothrow.
class FileSource : public MappedSource {
 public:
  FileSource(const char* path, const FileSourceOptions& options, const std::nothrow_t&) noexcept
      : MappedSource(path, -1, 0, options) {}
  explicit FileSource(const char* path, const FileSourceOptions& options = {})
      : FileSource(path, options, std::nothrow) {
    throw_error();
  }
  // A file that is open already. The descriptor is copied, and the caller still closes it.
  FileSource(int descriptor, const FileSourceOptions& options, const std::nothrow_t&) noexcept
      : MappedSource(nullptr, descriptor, TARN_FILE_DESCRIPTOR, options) {}
  explicit FileSource(int descriptor, const FileSourceOptions& options = {})
      : FileSource(descriptor, options, std::nothrow) {
    throw_error();
  }
};

// Shared memory of the machine by its name, "/name", which exists until it is unlinked.
class SharedMemorySource : public MappedSource {
 public:
  SharedMemorySource(const char* name, const FileSourceOptions& options,
                     const std::nothrow_t&) noexcept
      : MappedSource(name, -1, TARN_FILE_SHARED_MEMORY, options) {}
  explicit SharedMemorySource(const char* name, const FileSourceOptions& options = {})
      : SharedMemorySource(name, options, std::nothrow) {
    throw_error();
  }

  static bool unlink(const char* name) noexcept { return tarn_shared_memory_unlink(name) == 0; }
};

}  // namespace tarn

#endif
#endif
