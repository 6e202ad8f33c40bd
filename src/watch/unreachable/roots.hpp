// roots: where the search begins: registered memory, threads' stacks and registers, data of
// modules, all other memory that is not tarn's.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/os/standstill.hpp"
#include "platform/os/thread.hpp"
#include "watch/unreachable/mappings.hpp"
#include "watch/unreachable/mark.hpp"
#include "watch/unreachable/scratch.hpp"

namespace tarn {

// Memory that the program has registered. Its lock comes before all others.
class RegisteredRoots {
 public:
  // False when out of memory.
  bool add(const std::byte* start, std::size_t bytes) noexcept;
  bool remove(const std::byte* start) noexcept;  // False when there is none.

  os::Lock& lock() noexcept { return lock_; }

  // pre: the lock is held
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (const Entry* e = first_; e != nullptr; e = e->next) visit(e->bytes);
  }

  // In the child of a fork.
  void recover_after_fork() noexcept { lock_.recover_after_fork(); }

 private:
  struct Entry {
    os::Bytes bytes;
    Entry* next;
  };

  os::Lock lock_;
  Entry* first_ = nullptr;
  Entry* spare_ = nullptr;  // Entries are never given back.
};

extern RegisteredRoots registered_roots;

class Roots {
 public:
  Roots(BlockIndex& index, Mappings& mappings, Mark& mark, bool strict) noexcept
      : index_(index), mappings_(mappings), mark_(mark), strict_(strict) {}

  // False when out of memory. pre: the mappings are there
  bool begin(Scratch& scratch) noexcept;

  // self: the one that searches.
  void add_thread(const os::Standing& standing, bool is_self) noexcept;
  void missed_some() noexcept { missed_ = true; }

  // All that is reached, is. pre: the threads have been added
  void scan() noexcept;

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t skipped_bytes() const noexcept { return skipped_bytes_; }

 private:
  // What is known of a mapping.
  struct Known {
    const std::byte* stack;  // The lowest of the stacks in it whose threads have their TLS there.
    bool is_root;
  };

  void add_area_of(const void* p) noexcept;
  bool is_root(std::size_t i) noexcept;
  void scan_mapping(std::size_t i) noexcept;
  void scan_foreign(os::Bytes bytes) noexcept;
  void scan_apart_from_own(os::Bytes bytes, std::size_t from) noexcept;
  void scan_words(os::Bytes bytes) noexcept;
  void scan_contexts() noexcept;

  BlockIndex& index_;
  Mappings& mappings_;
  Mark& mark_;
  bool strict_;
  bool missed_ = false;
  const std::byte* module_end_ = nullptr;  // What follows it without a name is its zeroed data.
  Known* known_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t skipped_bytes_ = 0;
};

}  // namespace tarn
