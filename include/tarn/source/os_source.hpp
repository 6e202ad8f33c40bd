// os_source.hpp: chunks straight from the operating system, in C++ (C++17). Header only over
// tarn/source/os_source.h, which says what each function promises. Any thread.
//
//   tarn::OsSource pages({.huge_pages = true});   // C++20; or set the fields one by one
//   tarn::Pool nodes(sizeof(Node), pages);
//
// SPDX-License-Identifier: MIT
#ifndef TARN_OS_SOURCE_HPP
#define TARN_OS_SOURCE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <new>

#include "../detail/errors.hpp"
#include "os_source.h"
#include "source.hpp"

namespace tarn {

// The options of an OS source; each field means what it does in tarn_os_source_options.
struct OsSourceOptions {
  bool huge_pages = false;
  bool populate = false;
  bool lock = false;
  bool hide = false;
  int node = -1;  // -1: any node.
  std::size_t chunk_bytes = 0;
  const char* name = nullptr;
};

class OsSource {
 public:
  // Throws InvalidOptions for an option that the system does not have. Without exceptions the
  // source is false as a truth value instead, and never has a chunk.
  explicit OsSource(const OsSourceOptions& from = {}) {
    tarn_os_source_options options = TARN_OS_SOURCE_OPTIONS();
    options.flags = (from.huge_pages ? unsigned{TARN_OS_SOURCE_HUGE} : 0) |
                    (from.populate ? unsigned{TARN_OS_SOURCE_POPULATE} : 0) |
                    (from.lock ? unsigned{TARN_OS_SOURCE_LOCK} : 0) |
                    (from.hide ? unsigned{TARN_OS_SOURCE_HIDE} : 0) |
                    (from.node >= 0 ? unsigned{TARN_OS_SOURCE_NODE} : 0);
    options.node = from.node >= 0 ? static_cast<unsigned>(from.node) : 0;
    options.chunk_bytes = from.chunk_bytes;
    options.name = from.name;
    if (tarn_os_source_init(&source_, &options) == 0) return;
#if defined(__cpp_exceptions)
    throw InvalidOptions(
        "tarn::OsSource: the system does not have what the options ask for, or "
        "not for this process");
#endif
  }
  ~OsSource() { tarn_os_source_destroy(&source_); }
  OsSource(const OsSource&) = delete;
  OsSource& operator=(const OsSource&) = delete;

  explicit operator bool() const noexcept { return source_.options.bytes != 0; }

  [[nodiscard]] Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    return tarn_os_source_acquire(&source_, bytes, alignment);
  }
  void release(Chunk chunk) noexcept { tarn_os_source_release(&source_, chunk); }

  std::size_t chunk_bytes() const noexcept { return source_.options.chunk_bytes; }
  bool zeroed() const noexcept { return true; }

  tarn_os_source_stats stats() const noexcept {
    tarn_os_source_stats stats = TARN_OS_SOURCE_STATS();
    tarn_os_source_get_stats(&source_, &stats);
    return stats;
  }

  // For functions of the C interface.
  tarn_os_source* get() noexcept { return &source_; }

 private:
  tarn_os_source source_;
};

}  // namespace tarn

#endif
#endif
