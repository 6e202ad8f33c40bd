// class_pools.hpp: a private malloc made of pools of several sizes, in C++ (C++17). Header only
// over tarn/pool/class_pools.h, which says what each function promises.
//
//   tarn::ClassPools pools;                              // powers of two
//   static constexpr std::size_t sizes[] = {396, 768};
//   tarn::ClassPools tuned({.classes = sizes});          // and these (designators: C++20)
//   tarn::LockedClassPools<std::mutex> shared;           // for any thread
//   void* p = pools.allocate(390);
//
// Functions that allocate throw std::bad_alloc, with no lock held; those that begin with try_ give
// null instead. Without exceptions all give null.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CLASS_POOLS_HPP
#define TARN_CLASS_POOLS_HPP

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <memory>
#include <type_traits>

#include "../detail/errors.hpp"
#include "../detail/lock.hpp"
#include "../source/source.hpp"
#include "class_pools.h"

namespace tarn {

// The sizes of classes: an ascending array, which must exist until the pools are made.
struct ClassSizes {
  constexpr ClassSizes() noexcept = default;
  template <std::size_t n>
  constexpr ClassSizes(const std::size_t (&sizes)[n]) noexcept : data(sizes), count(n) {}

  const std::size_t* data = nullptr;
  std::size_t count = 0;
};

struct ClassPoolsOptions {
  ClassSizes classes;  // Besides powers of two.
  const char* name = nullptr;
  std::size_t block_bytes_max = 0;
  std::size_t chunk_bytes = 0;
  std::size_t chunk_bytes_max = 0;
  bool keep_chunks = false;
  bool tuned_only = false;
};

// Lock: any class with lock() and unlock(); see tarn/detail/lock.hpp. An exception of lock() leaves
// functions that are not noexcept, and ends the process in those that are.
template <class Lock>
class LockedClassPools {
  static_assert(!std::is_same_v<Lock, LockFree>, "class pools need a lock");

 public:
  // Makes pools over malloc's heap, or over a source, which must outlive the pools. Throws
  // InvalidOptions or std::bad_alloc. Without exceptions the pools are false as a truth value
  // instead, and never have a block.
  explicit LockedClassPools(const ClassPoolsOptions& options = {}) { make(nullptr, options); }
  explicit LockedClassPools(SourceRef source, const ClassPoolsOptions& options = {}) {
    make(&source.get(), options);
  }
  ~LockedClassPools() { tarn_class_pools_destroy(&own_); }
  LockedClassPools(const LockedClassPools&) = delete;
  LockedClassPools& operator=(const LockedClassPools&) = delete;

  explicit operator bool() const noexcept { return own_.class_count != 0; }

  [[nodiscard]] void* allocate(std::size_t bytes) {
    return or_bad_alloc(tarn_class_pools_allocate(&own_, bytes));
  }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return or_bad_alloc(tarn_class_pools_allocate_aligned(&own_, alignment, bytes));
  }
  [[nodiscard]] void* allocate_zeroed(std::size_t count, std::size_t bytes) {
    return or_bad_alloc(tarn_class_pools_allocate_zeroed(&own_, count, bytes));
  }
  // When it throws, p is as it was.
  [[nodiscard]] void* reallocate(void* p, std::size_t bytes) {
    void* const moved = tarn_class_pools_reallocate(&own_, p, bytes);
    return bytes == 0 && p != nullptr ? moved : or_bad_alloc(moved);
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes) noexcept {
    return tarn_class_pools_allocate(&own_, bytes);
  }
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return tarn_class_pools_allocate_aligned(&own_, alignment, bytes);
  }
  [[nodiscard]] void* try_allocate_zeroed(std::size_t count, std::size_t bytes) noexcept {
    return tarn_class_pools_allocate_zeroed(&own_, count, bytes);
  }
  // Null: p is as it was; or it was freed, if `bytes` is 0.
  [[nodiscard]] void* try_reallocate(void* p, std::size_t bytes) noexcept {
    return tarn_class_pools_reallocate(&own_, p, bytes);
  }
  void deallocate(void* p) noexcept { tarn_class_pools_deallocate(&own_, p); }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  std::size_t usable_bytes(const void* p) const noexcept {
    return tarn_class_pools_usable_bytes(&own_, p);
  }
  // With this function tarn::malloc_table() needs no size in front of blocks.
  std::size_t block_bytes_of(const void* p) const noexcept { return usable_bytes(p); }
  bool owns(const void* p) const noexcept { return tarn_class_pools_owns(&own_, p) != 0; }
  bool check() const noexcept { return tarn_class_pools_check(&own_) != 0; }
  std::size_t trim() noexcept { return tarn_class_pools_trim(&own_); }
  const char* name() const noexcept { return own_.name; }

  // Calls visit(block, usable bytes) for each live block, by address. If visit returns a bool,
  // false ends the walk. Returns true when all blocks were shown. No lock is held while visit runs,
  // so it may throw, allocate and free, also the block that it is shown.
  template <class Visit>
  bool walk(Visit&& visit) {
    std::size_t bytes = 0;
    void* block = nullptr;
    while ((block = tarn_class_pools_next(&own_, block, &bytes)) != nullptr) {
      if constexpr (std::is_void_v<decltype(visit(block, bytes))>) {
        visit(block, bytes);
      } else {
        if (!visit(block, bytes)) return false;
      }
    }
    return true;
  }

  tarn_class_pools_stats stats() const noexcept {
    tarn_class_pools_stats stats = TARN_CLASS_POOLS_STATS();
    tarn_class_pools_get_stats(&own_, &stats);
    return stats;
  }
  std::size_t class_count() const noexcept { return own_.class_count; }
  // Classes are numbered by size. pre: number < class_count()
  tarn_class_pool_stats class_stats(std::size_t number) const noexcept {
    tarn_class_pool_stats stats = TARN_CLASS_POOL_STATS();
    tarn_class_pools_get_class_stats(&own_, number, &stats);
    return stats;
  }

  Lock& lock() noexcept { return lock_; }
  // For functions of the C interface. These take the lock, too.
  tarn_class_pools* get() noexcept { return &own_; }

 private:
  void make(const tarn_source* source, const ClassPoolsOptions& from) {
    tarn_class_pools_options options = TARN_CLASS_POOLS_OPTIONS();
    options.name = from.name;
    options.class_bytes = from.classes.data;
    options.class_count = from.classes.count;
    options.block_bytes_max = from.block_bytes_max;
    options.chunk_bytes = from.chunk_bytes;
    options.chunk_bytes_max = from.chunk_bytes_max;
    options.source = source;
    options.flags = (from.keep_chunks ? unsigned{TARN_CLASS_POOLS_KEEP_CHUNKS} : 0) |
                    (from.tuned_only ? unsigned{TARN_CLASS_POOLS_TUNED_ONLY} : 0);
    if constexpr (!std::is_same_v<Lock, NoLock>) {
      options.lock.lock = [](void* lock) { static_cast<Lock*>(lock)->lock(); };
      options.lock.unlock = [](void* lock) { static_cast<Lock*>(lock)->unlock(); };
      options.lock.context = std::addressof(lock_);
    }
    if (tarn_class_pools_init(&own_, &options) == 0) return;
#if defined(__cpp_exceptions)
    if (own_.source.acquire != nullptr) throw std::bad_alloc();
    throw InvalidOptions(
        "tarn::ClassPools: classes must ascend from 1 byte on, chunk_bytes_max must not be below "
        "chunk_bytes, and there must be a class");
#endif
  }

  // Mutable, since a lookup notes the chunk that it has found.
  mutable tarn_class_pools own_;
  Lock lock_;
};

using ClassPools = LockedClassPools<NoLock>;

}  // namespace tarn

#endif
#endif
