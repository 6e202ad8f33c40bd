// roots: where a search begins: in registered memory, threads' stacks and registers, the data of
// modules, and all other memory that is not tarn's.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/base/check.hpp"
#include "platform/os/thread.hpp"
#include "platform/standstill/standstill.hpp"
#include "watch/unreachable/mappings.hpp"
#include "watch/unreachable/mark.hpp"
#include "watch/unreachable/scratch.hpp"

namespace tarn {

// The memory that the program has registered. Lock order: before scratch.
class RegisteredRoots {
 public:
  // False when out of memory.
  bool add(const std::byte* start, std::size_t bytes) noexcept;
  bool remove(const std::byte* start) noexcept;  // False when there is none.

  os::Lock& lock() noexcept { return lock_; }

  // pre: the lock is held
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    TARN_ASSERT(lock_.held_by_this_thread());
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

  // False when out of memory. pre: the mappings have been read
  bool begin(Scratch& scratch) noexcept;

  // Adds the roots of a thread. is_self: it is the thread that searches.
  void add_thread(const os::Standing& standing, bool is_self) noexcept;
  // Some threads did not stop: stacks that may be theirs are roots too.
  void missed_some() noexcept { missed_ = true; }

  // Marks all that is reached from the roots. pre: the threads have been added
  void scan() noexcept;

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t skipped_bytes() const noexcept { return skipped_bytes_; }

 private:
  // What is known about a mapping.
  struct Known {
    const std::byte* stack;  // The lowest pointer of the stacks that are sure to lie here.
    bool is_root;            // It is a root even in a strict search.
  };

  void add_area_of(const void* p) noexcept;
  bool is_root(std::size_t i) noexcept;
  void scan_mapping(std::size_t i) noexcept;
  void scan_foreign(os::Bytes bytes) noexcept;
  void scan_apart_from_own(os::Bytes bytes, std::size_t from) noexcept;
  void scan_words(os::Bytes bytes) noexcept;
  void scan_contexts() noexcept;
  void scan_chains() noexcept;

  BlockIndex& index_;
  Mappings& mappings_;
  Mark& mark_;
  bool strict_;
  bool missed_ = false;
  const std::byte* module_end_ = nullptr;  // A mapping here without a name is its .bss.
  Known* known_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t skipped_bytes_ = 0;
};

}  // namespace tarn
