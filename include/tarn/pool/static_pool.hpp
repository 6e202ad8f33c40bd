// static_pool.hpp: pools whose blocks lie in the object, with their size and number known at
// compile time, in C++ (C++17). Header only; needs no heap, no OS and no library.
// tarn/pool/static_pool.h has the same in C.
//
//   static tarn::StaticPool<64, 32> packets;         // 32 blocks of 64 bytes, in .bss
//   void* packet = packets.try_allocate();           // null when all are in use
//   packets.deallocate(packet);
//   static tarn::StaticObjectPool<Event, 16> events; // Event* e = events.try_create(...)
//
// Each operation takes constant time (docs/static_pools.md has the instructions), except those that
// are said to walk. Constant-initialised: usable before main, in constructors and destructors of
// any static object. Destroying a pool does nothing: its blocks end with its memory.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_STATIC_POOL_HPP
#define TARN_STATIC_POOL_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/align.hpp"
#include "../detail/construct.hpp"
#include "../detail/errors.hpp"
#include "../detail/exact_index.h"
#include "../detail/lock.hpp"
#include "../detail/static_bits.h"

namespace tarn {

using StaticStats = tarn_static_stats;

// Which threads may use a pool is its Lock:
//   NoLock     One thread, or several that the program keeps apart. Not an interrupt handler beside
//              a main loop.
//   LockFree   Any threads, interrupt handlers and signal handlers at once. Needs compare-and-swap
//              for a word. A processor without (Cortex-M0) does not compile this, and takes a lock
//              that masks interrupts: docs/static_pools.md.
//   a class    With lock() and unlock(). It is held for one operation, and default-constructed.
//
// Misuse, the free of a pointer that is no live block of this pool, is found before anything is
// changed: a block that was freed before, a foreign one, an address inside a block. See
// tarn_static_misuse in tarn/detail/static_bits.h.
template <std::size_t bytes_of_block, std::size_t count,
          std::size_t alignment_of_block = natural_alignment(bytes_of_block), class Lock = NoLock>
class StaticPool : private Lock {
  static constexpr bool is_shared_ = std::is_same_v<Lock, LockFree>;
  static constexpr std::size_t stride_ = align_up(bytes_of_block, alignment_of_block);
  static constexpr std::size_t inverse_ = tarn_exact_inverse(stride_ == 0 ? 1 : stride_);
  static constexpr unsigned shift_ = tarn_exact_shift(stride_ == 0 ? 1 : stride_);

  static_assert(sizeof(std::size_t) == sizeof(std::uintptr_t), "addresses are counted in words");
  static_assert(bytes_of_block > 0, "a block of a StaticPool has at least 1 byte");
  static_assert(is_power_of_two(alignment_of_block), "an alignment is a power of two");
  static_assert(count > 0, "a StaticPool has at least 1 block");
  static_assert(stride_ >= bytes_of_block && stride_ <= PTRDIFF_MAX / (count + (count == 0)),
                "the blocks of a StaticPool must fit into the address space");
  static_assert(!is_shared_ || __GCC_ATOMIC_POINTER_LOCK_FREE == 2,
                "LockFree needs a processor with compare-and-swap: give the pool a lock that masks "
                "interrupts instead (docs/static_pools.md)");

 public:
  static constexpr bool holds_no_addresses = true;  // It may lie where processes share memory.
  static constexpr std::size_t block_bytes = bytes_of_block;
  static constexpr std::size_t blocks = count;
  static constexpr std::size_t alignment = alignment_of_block;

  constexpr StaticPool() noexcept : Lock() {}
  StaticPool(const StaticPool&) = delete;
  StaticPool& operator=(const StaticPool&) = delete;
  TARN_WATCH_DESTRUCTOR(StaticPool, &storage_, sizeof storage_)

  // The size of the whole object, and the part of it that is not blocks.
  static constexpr std::size_t footprint_bytes() noexcept { return sizeof(StaticPool); }
  static constexpr std::size_t overhead_bytes() noexcept {
    return sizeof(StaticPool) - bytes_of_block * count;
  }

  // The most words of bookkeeping that one operation reads or writes; its time grows with them. At
  // most 5 for pools that are not LockFree. For LockFree pools the number holds while no other
  // thread uses the pool.
  static constexpr std::size_t worst_case_words() noexcept {
    const std::size_t words = TARN_STATIC_BIT_WORDS(count);
    if (words == 1) return 3;  // Two counts and the bits.
    return 3 + (is_shared_ ? TARN_STATIC_BIT_WORDS(words) : 2);
  }

  // Takes a block, which is not zeroed. Blocks that were never used come after all others, the
  // lowest address first. When all are in use it returns null; allocate() throws std::bad_alloc
  // instead, if there are exceptions.
  [[nodiscard]] void* try_allocate() noexcept {
    if constexpr (is_shared_) {
      const std::size_t i = tarn_static_take_shared(words_, &counts_, count);
      if (TARN_WATCH && i != TARN_STATIC_NONE) {
        tarn_static_watch_taken_shared(at(i), bytes_of_block, stride_);
      }
      return i == TARN_STATIC_NONE ? nullptr : at(i);
    } else {
      const LockScope<Lock> scope(*this);
      if (tarn_static_is_exhausted(&counts_, count)) return nullptr;
      if (TARN_WATCH) tarn_static_watch_first(&counts_, &storage_, stride_ * count);
      void* const p = at(tarn_static_take(words_, &counts_, count));
      if (TARN_WATCH) tarn_watch_open(p, bytes_of_block);
      return p;
    }
  }
  [[nodiscard]] void* allocate() { return or_bad_alloc(try_allocate()); }

  // For generic code over any allocator. Null for more bytes or a greater alignment than the pool's
  // blocks have, which is not counted as a failure.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return bytes <= bytes_of_block && alignment <= alignment_of_block ? try_allocate() : nullptr;
  }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
    return or_bad_alloc(try_allocate(bytes, alignment));
  }

  // Frees a block; null is ignored. Any other pointer that is no live block of this pool is misuse.
  void deallocate(void* p) noexcept {
    const std::size_t i = index_of(p);
    if (TARN_UNLIKELY(i >= count)) {
      if (p != nullptr) tarn_static_report("invalid free", this, p);  // Null is no block either.
    } else if (TARN_UNLIKELY(!give(i))) {
      tarn_static_report("double free", this, p);
    }
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  // Whether p lies in the memory of a block, live or not. Any pointer.
  bool owns(const void* p) const noexcept {
    return address_of(p) - address_of(storage_.bytes) < stride_ * count;
  }
  // Whether p is the start of a live block. Any pointer.
  bool is_live(const void* p) const noexcept {
    return tarn_static_is_live(words_, count, index_of(p)) != 0;
  }
  // The number of the block at p, from 0 by address; at least `blocks` if p is the start of none.
  std::size_t index_of(const void* p) const noexcept {
    return tarn_exact_index(storage_.bytes, p, inverse_, shift_);
  }

  std::size_t in_use() const noexcept { return __atomic_load_n(&counts_.in_use, __ATOMIC_RELAXED); }
  StaticStats stats() const noexcept {
    return {block_bytes, blocks, in_use(), __atomic_load_n(&counts_.peak, __ATOMIC_RELAXED),
            __atomic_load_n(&counts_.failures, __ATOMIC_RELAXED)};
  }

  // Calls visit(void*) for each live block, by address. If visit returns a bool, false ends the
  // walk. It may free the block that it is shown. The lock is not held, so no other thread may use
  // the pool meanwhile; in a LockFree pool blocks that come and go may be shown or not.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!tarn_static_is_live(words_, count, i)) continue;
      if constexpr (std::is_void_v<decltype(visit(at(i)))>) {
        visit(at(i));
      } else {
        if (!visit(at(i))) return;
      }
    }
  }

  // Checks every invariant, in all bits. No thread may use the pool meanwhile.
  bool check() const noexcept {
    return tarn_static_check_bits(words_, &counts_, count, is_shared_) != 0;
  }

 private:
  // Only the empty member is constructed, so making a pool that is not static writes its bits
  // alone.
  union Storage {
    constexpr Storage() noexcept : none() {}
    struct {
    } none;
    alignas(alignment_of_block) unsigned char bytes[stride_ * count];
  };

  void* at(std::size_t i) noexcept { return storage_.bytes + i * stride_; }

  bool give(std::size_t i) noexcept {
    if constexpr (is_shared_) {
      if (TARN_WATCH) {
        tarn_static_watch_giving_shared(words_, count, i, at(i), bytes_of_block, stride_);
      }
      return tarn_static_give_shared(words_, &counts_, count, i) != 0;
    } else {
      const LockScope<Lock> scope(*this);
      const bool given = tarn_static_give(words_, &counts_, count, i) != 0;
      if (TARN_WATCH && given) tarn_watch_freed(at(i), bytes_of_block);
      return given;
    }
  }

  // They lie before the blocks, where an overrun of the last one does not reach.
  std::size_t words_[TARN_STATIC_WORDS(count)] = {};
  tarn_static_counts counts_ = {};
  Storage storage_;
};

// A pool of objects of one type. Its destructor destroys no objects, so that static objects may use
// it to their end. The program calls destroy() for each, or destroy_all().
template <class T, std::size_t count, class Lock = NoLock>
class StaticObjectPool {
 public:
  using Pool = StaticPool<sizeof(T), count, alignof(T), Lock>;

  constexpr StaticObjectPool() noexcept = default;

  // Makes a T. When all blocks are in use it returns null; create() throws std::bad_alloc instead,
  // if there are exceptions. When the constructor throws, the memory goes back.
  template <class... Args>
  [[nodiscard]] T* try_create(Args&&... args) noexcept(
      std::is_nothrow_constructible_v<T, Args&&...>) {
    return construct(pool_.try_allocate(), std::forward<Args>(args)...);
  }
  template <class... Args>
  [[nodiscard]] T* create(Args&&... args) {
    return construct(pool_.allocate(), std::forward<Args>(args)...);
  }

  // Destroys an object; null is ignored. Any other pointer that is no live object of this pool is
  // misuse, and no destructor is run.
  void destroy(T* object) noexcept {
    if (object != nullptr && pool_.is_live(object)) object->~T();
    pool_.deallocate(object);
  }

  // Destroys every live object, by address. No other thread may use the pool meanwhile.
  void destroy_all() noexcept {
    for_each([this](T& object) { destroy(&object); });
  }

  // As StaticPool::for_each, but visit gets a T&. No other thread may use the pool meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) {
    pool_.for_each([&](void* p) { return visit(*static_cast<T*>(p)); });
  }

  bool owns(const void* p) const noexcept { return pool_.owns(p); }
  std::size_t in_use() const noexcept { return pool_.in_use(); }
  StaticStats stats() const noexcept { return pool_.stats(); }
  bool check() const noexcept { return pool_.check(); }
  static constexpr std::size_t footprint_bytes() noexcept { return Pool::footprint_bytes(); }

 private:
  template <class... Args>
  T* construct(void* p, Args&&... args) {
    return construct_in<T>(
        p, [this](void* block) { pool_.deallocate(block); }, std::forward<Args>(args)...);
  }

  Pool pool_;
};

}  // namespace tarn

#endif
#endif
