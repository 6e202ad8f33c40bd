// region_array_pool.hpp: a pool of blocks of one size over memory that the program provides, in C++
// (C++17). Header only over tarn/pool/region_array_pool.h, which says what each function promises.
//
//   auto pool = tarn::RegionArrayPool::make({notes, sizeof notes}, frames, 64, 4096);
//   if (!pool) complain(tarn_array_status_text(pool.status()));
//   void* frame = pool.allocate();       // no byte of `frames` is read or written by the pool
//
// SPDX-License-Identifier: MIT
#ifndef TARN_REGION_ARRAY_POOL_HPP
#define TARN_REGION_ARRAY_POOL_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <memory>
#include <type_traits>

#include "../detail/errors.hpp"
#include "region_array_pool.h"

namespace tarn {

using ArrayStatus = tarn_array_status;

// A range of memory that the caller owns.
struct ArrayMemory {
  void* data;
  std::size_t bytes;
};

// A handle to a pool. It is copied freely, and valid while the memory exists. One thread of one
// process at a time.
class RegionArrayPool {
 public:
  // A reference that is stored is stored as a copy of this handle.
  static constexpr bool is_handle = true;

  RegionArrayPool() noexcept = default;

  // How many bytes the bookkeeping takes; 0 for a pool that cannot be made.
  static std::size_t bookkeeping_bytes(std::size_t block_count, std::size_t block_bytes,
                                       bool exact = false) noexcept {
    return tarn_array_pool_bytes(block_count, block_bytes, flags(exact));
  }

  // Formats the bookkeeping, which must be aligned to 8, and attaches to the pool. `blocks` has
  // block_count * block_bytes bytes. exact: each free checks that the block is live.
  static RegionArrayPool make(ArrayMemory bookkeeping, void* blocks, std::size_t block_count,
                              std::size_t block_bytes, bool exact = false) noexcept {
    RegionArrayPool made;
    made.status_ = tarn_array_pool_format(bookkeeping.data, bookkeeping.bytes, block_count,
                                          block_bytes, flags(exact));
    if (!made) return made;
    return attach(bookkeeping, {blocks, block_count * block_bytes});
  }

  // Attaches to an existing pool. Both ranges may have other addresses than when it was made.
  static RegionArrayPool attach(ArrayMemory bookkeeping, ArrayMemory blocks) noexcept {
    RegionArrayPool made;
    made.status_ = tarn_array_pool_attach(&made.pool_, bookkeeping.data, bookkeeping.bytes,
                                          blocks.data, blocks.bytes);
    return made;
  }

  // False when the handle is not attached. Then only status() may be called.
  explicit operator bool() const noexcept { return status_ == TARN_ARRAY_OK; }
  ArrayStatus status() const noexcept { return status_; }

  // Takes a block. Throws std::bad_alloc when none is free; without exceptions it returns null.
  [[nodiscard]] void* allocate() { return or_bad_alloc(try_allocate()); }
  [[nodiscard]] void* try_allocate() noexcept { return tarn_array_pool_allocate(&pool_); }
  void deallocate(void* p) noexcept { tarn_array_pool_deallocate(&pool_, p); }

  // For generic code over any allocator. Null for more bytes or a greater alignment than the pool's
  // blocks have.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > pool_.blocks.block_bytes || alignment > tarn_array_alignment(&pool_.blocks)) {
      return nullptr;
    }
    return try_allocate();
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  bool owns(const void* p) const noexcept { return tarn_array_pool_owns(&pool_, p) != 0; }
  std::size_t capacity() const noexcept { return pool_.blocks.count; }
  std::size_t block_bytes() const noexcept { return pool_.blocks.block_bytes; }
  std::size_t in_use() const noexcept { return tarn_array_pool_in_use(&pool_); }
  std::size_t peak() const noexcept { return tarn_array_pool_peak(&pool_); }  // The most so far.
  bool is_empty() const noexcept { return tarn_array_pool_is_empty(&pool_) != 0; }  // None in use.
  bool is_full() const noexcept { return tarn_array_pool_is_full(&pool_) != 0; }    // None is left.
  bool check() const noexcept { return tarn_array_pool_check(&pool_) != 0; }

  // The number of a block, which is the same in all processes, and the block of a number.
  std::size_t index_of(const void* p) const noexcept { return tarn_array_pool_index_of(&pool_, p); }
  void* at(std::size_t index) const noexcept { return tarn_array_pool_at(&pool_, index); }

  // See tarn_array_pool_watch. For a pool that this process alone uses, through this handle and
  // later copies of it. Does nothing without AddressSanitizer or TARN_MEMCHECK.
  void watch() noexcept {
    if (*this) tarn_array_pool_watch(&pool_);
  }

  // Calls visit(void* block) for each live block, by address. visit may free the block that it is
  // shown and no other, and must not throw.
  template <class Visit>
  void for_each(Visit&& visit) noexcept {
    using Decayed = std::remove_reference_t<Visit>;
    const auto each = [](void* block, void* context) noexcept -> int {
      (*static_cast<Decayed*>(context))(block);
      return 0;
    };
    void* const context = const_cast<void*>(static_cast<const void*>(std::addressof(visit)));
    tarn_array_pool_walk(&pool_, each, context);
  }

  tarn_array_pool* get() noexcept { return &pool_; }

 private:
  static constexpr unsigned flags(bool exact) noexcept {
    return exact ? unsigned{TARN_ARRAY_EXACT} : 0;
  }

  tarn_array_pool pool_{};
  ArrayStatus status_ = TARN_ARRAY_NO_POOL;
};

}  // namespace tarn

#endif
#endif
