// array_pool.hpp: a pool whose free list is an array apart from the blocks (C++11). Header only;
// needs no OS, no library and no exceptions. All of the pool lies in the object:
//
//   +--------+----------+--------------------------+-------------------------------+
//   | counts | live map | free_indices_[capacity]  | block 0 | block 1 | ...       |
//   +--------+----------+--------------------------+-------------------------------+
//            (if exact)   a stack: the last freed    0..carved_-1 were handed out
//                         block is the next one      once, the rest never touched
//
// After V. Stadnik, "Array-Based Memory Pool and Allocator", 2023. For memory provided at run time
// see tarn/pool/region_array_pool.hpp, for several processes tarn/pool/shared_array_pool.hpp, for
// containers tarn/standard/array_allocator.hpp.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ARRAY_POOL_HPP
#define TARN_ARRAY_POOL_HPP

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/align.hpp"
#include "../detail/api.h"
#include "../detail/array_indices.hpp"
#include "../detail/array_misuse.h"
#include "../detail/errors.hpp"
#include "../detail/exact_index.h"
#include "../detail/watch.h"

namespace tarn {

// What an ArrayPool does when no block is free. It is one of the next two types, or any class with
// functions as they have, which then provides the blocks beyond the capacity. A free returns them
// to it by their address.
struct OverflowNull {  // allocate() returns null.
  static void* try_allocate(std::size_t, std::size_t) noexcept { return nullptr; }
  static void deallocate(void*, std::size_t, std::size_t) noexcept {}
};
// allocate() throws std::bad_alloc; without exceptions it returns null.
struct OverflowThrow : OverflowNull {};

// A fallback that is owned elsewhere, such as another pool or a heap's adaptor.
template <class Allocator>
class OverflowTo {
 public:
  constexpr explicit OverflowTo(Allocator& allocator) noexcept : allocator_(&allocator) {}
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return allocator_->try_allocate(bytes, alignment);
  }
  void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept {
    allocator_->deallocate(p, bytes, alignment);
  }

 private:
  Allocator* allocator_;
};

// The program's operator new as a fallback. What is aligned to more than std::max_align_t is moved
// up in a larger block, whose start lies in front of it.
struct OverflowNew {
  static void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t extra = alignment > alignof(std::max_align_t) ? alignment + sizeof(void*) : 0;
    if (bytes > PTRDIFF_MAX || extra > PTRDIFF_MAX - bytes) {
      return nullptr;  // Some operators do not return from that.
    }
    void* const start = ::operator new(bytes + extra, std::nothrow);
    if (extra == 0 || start == nullptr) return start;
    const std::size_t ahead =
        align_up(address_of(start) + sizeof(void*), alignment) - address_of(start);
    void* const p = static_cast<unsigned char*>(start) + ahead;
    static_cast<void**>(p)[-1] = start;
    return p;
  }
  static void deallocate(void* p, std::size_t, std::size_t alignment) noexcept {
    if (p == nullptr) return;
    ::operator delete(alignment > alignof(std::max_align_t) ? static_cast<void**>(p)[-1] : p);
  }
};

// What each free checks. cheap: p is the start of a block that has been handed out at some time,
// which takes a multiplication and a comparison; a double free is found only when all blocks are
// free, or in a pool for threads if the block is the one that the thread has freed last. exact: the
// block is live, which takes a bit for each block, or four bytes where threads share the pool.
enum class ArrayChecks : unsigned char { cheap, exact };

// Returns the same pointer, but the compiler no longer knows it to be a constant and keeps it in a
// register. Processors forward a store to a load at no cost when both go through one base register,
// but take five cycles when both are relative to the instruction pointer, as accesses to a static
// object are. A push_front in a loop takes 1.0 ns with this function and 2.2 ns without (gcc;
// docs/design/array_pools.md).
template <class T>
inline T* in_register(T* p) noexcept {
  __asm__("" : "+r"(p));
  return p;
}

// A pool of block_count blocks of block_bytes. It is constant-initialised: a static one lies in
// .bss and is usable before any constructor runs. Its destructor does nothing, so a static one can
// be used to the very end. allocate() and deallocate() are O(1), and touch only pages that a block
// or a free index needs. The block that was freed last comes first, and blocks that were never used
// come by ascending address. With NoLock, the default, for one thread at a time, they come from the
// start again when all are free. Lock is LockFree or ThreadSafe for any threads at once
// (tarn/detail/lock.hpp), or a class with lock() and unlock().
template <std::size_t block_count, std::size_t block_bytes,
          std::size_t alignment = natural_alignment(block_bytes), class Overflow = OverflowThrow,
          ArrayChecks checks = ArrayChecks::cheap, class Lock = NoLock>
class ArrayPool : private Overflow, private Lock {
  static_assert(block_count > 0, "a pool has at least one block");
  static_assert(block_bytes > 0, "a block has at least one byte");
  static_assert(is_power_of_two(alignment), "an alignment is a power of two");
  static_assert(std::uint64_t{block_count} - 1 <= UINT32_MAX, "indices have 32 bits at most");
  static_assert(block_bytes <= PTRDIFF_MAX - (alignment - 1), "the blocks are too large");
  using Indices = IndicesFor<block_count, checks == ArrayChecks::exact, Lock>;

 public:
  using Index = typename Indices::Index;

  // The distance from one block to the next.
  static constexpr std::size_t stride = align_up(block_bytes, alignment);
  static_assert(block_count <= (PTRDIFF_MAX / 2) / stride, "the blocks do not fit into memory");

  constexpr ArrayPool() noexcept {}
  constexpr explicit ArrayPool(Overflow overflow) noexcept : Overflow(std::move(overflow)) {}
  ArrayPool(const ArrayPool&) = delete;
  ArrayPool& operator=(const ArrayPool&) = delete;
  TARN_WATCH_DESTRUCTOR(ArrayPool, memory_.blocks, sizeof memory_.blocks)

  // Takes a block of block_bytes, aligned to `alignment`. When none is free, Overflow decides.
  TARN_NODISCARD void* allocate() noexcept(is_null_) {
    void* const p = try_allocate();
    return is_null_ || TARN_LIKELY(p != nullptr) ? p : or_bad_alloc(p);
  }
  TARN_NODISCARD void* try_allocate() noexcept {
    const LockScope<Lock> scope(*this);
    void* const p = in_register(this)->take();
    return TARN_LIKELY(p != nullptr) ? p : Overflow::try_allocate(block_bytes, alignment);
  }

  // For generic code over any allocator. Null for more bytes or a greater alignment than the pool's
  // blocks have.
  TARN_NODISCARD void* try_allocate(std::size_t bytes, std::size_t align) noexcept {
    return bytes <= block_bytes && align <= alignment ? try_allocate() : nullptr;
  }

  // Frees a block; null is ignored. A pointer that is no block, or a block that was never handed
  // out, is reported as an `invalid free` unless a fallback takes it; then the process ends. Blocks
  // may be freed in any order.
  void deallocate(void* p) noexcept {
    const LockScope<Lock> scope(*this);
    const std::size_t i = index_of(p);
    if (TARN_WATCH && i < block_count && is_watched(p)) tarn_watch_freed(p, block_bytes);
    const Given given = in_register(this)->indices_.give(i);
    if (TARN_UNLIKELY(given != Given::yes)) deallocate_elsewhere(p, given);
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  // Whether p points into this pool's own blocks, live or not.
  bool owns(const void* p) const noexcept {
    return address_of(p) - address_of(blocks()) < block_count * stride;
  }

  static constexpr std::size_t capacity() noexcept { return block_count; }
  // Those of the pool alone. (Among threads it counts, O(freed), and is exact while none is at it.)
  std::size_t in_use() const noexcept {
    const LockScope<Lock> scope(lock());
    return indices_.in_use();
  }
  // The largest in_use() so far: how many blocks a pool for such work needs. (A thread of several
  // takes 32 at a time that were never used, so it may be so much more for each.)
  std::size_t peak() const noexcept {
    const LockScope<Lock> scope(lock());
    return indices_.peak();
  }
  bool is_empty() const noexcept { return in_use() == 0; }           // No block is in use.
  bool is_full() const noexcept { return in_use() == block_count; }  // No block is left.

  // The fallback; and memory from it, or back to it, under this pool's lock. (Where Lock stands for
  // atomic operations the fallback must be safe among threads itself.)
  Overflow& overflow() noexcept { return *this; }
  TARN_NODISCARD void* try_allocate_overflow(std::size_t bytes, std::size_t align) noexcept {
    const LockScope<Lock> scope(*this);
    return Overflow::try_allocate(bytes, align);
  }
  void deallocate_overflow(void* p, std::size_t bytes, std::size_t align) noexcept {
    const LockScope<Lock> scope(*this);
    Overflow::deallocate(p, bytes, align);
  }

  // The number of a block. It does not depend on the pool's address.
  std::size_t index_of(const void* p) const noexcept {
    return tarn_exact_index(blocks(), p, tarn_exact_inverse(stride), tarn_exact_shift(stride));
  }

  // Calls visit(void* block) for each live block of the pool, by address. visit may free the block
  // that it is shown and no other, and must not allocate; no other thread uses the pool meanwhile.
  // O(capacity / 4096 * free blocks), at least O(capacity).
  template <class Visit>
  void for_each(Visit&& visit) {
    indices_.for_each([this, &visit](std::size_t i) { visit(block_at(i)); });
  }

  // Checks every invariant: the counts are within their bounds, each free index is of a block that
  // was handed out and is there once, and the live bits are those of all other blocks. Takes as
  // long as for_each(); reads no block.
  bool check() const noexcept { return indices_.check(); }

 private:
  static constexpr bool is_null_ = std::is_same<Overflow, OverflowNull>::value;
  static constexpr bool has_fallback_ = !std::is_base_of<OverflowNull, Overflow>::value;

  // A union, so that the constructor is constexpr and does not write the blocks.
  union Memory {
    struct None {};
    constexpr Memory() noexcept : none() {}
    None none;
    alignas(alignment) unsigned char blocks[block_count * stride];
  };

  // No part of the pool's value.
  Lock& lock() const noexcept { return const_cast<ArrayPool&>(*this); }

  const unsigned char* blocks() const noexcept { return memory_.blocks; }
  void* block_at(std::size_t i) noexcept { return memory_.blocks + i * stride; }

  // Takes a block of the pool; null: none is free.
  void* take() noexcept {
    std::size_t i;
    if (TARN_WATCH && !IsAtomic<Lock>::value && indices_.is_empty()) close();
    if (TARN_UNLIKELY(!indices_.take(&i))) return nullptr;
    if (TARN_WATCH && is_watched(block_at(i))) tarn_watch_open(block_at(i), block_bytes);
    return block_at(i);
  }
  // Threads must not disturb each other's blocks.
  static bool is_watched(const void* p) noexcept {
    return !IsAtomic<Lock>::value || tarn_watch_is_apart(p, stride) != 0;
  }
  // For tools that watch, while all blocks are free. The blocks count as closed when the last
  // granule of the sanitizer that lies wholly in them is.
  void close() noexcept {
    constexpr std::size_t granule = 8;
    const std::uintptr_t end = address_of(blocks()) + stride * block_count;
    const std::size_t back = end % granule + granule;
    if (back <= stride * block_count &&
        tarn_watch_is_closed(blocks() + (stride * block_count - back)) != 0) {
      return;
    }
    tarn_watch_close(blocks(), stride * block_count);
  }

  void deallocate_elsewhere(void* p, Given given) noexcept {
    if (p == nullptr) return;
    if (has_fallback_ && !owns(p)) return Overflow::deallocate(p, block_bytes, alignment);
    if (given == Given::free_already) report("double free", p, "the block was freed before");
    if (index_of(p) < block_count) report("double free", p, "the block is free");
    report("invalid free", p, owns(p) ? "not the start of a block" : "no block of this pool");
  }
  [[noreturn]] static void report(const char* kind, const void* p, const char* what) noexcept {
    tarn_array_misuse(kind, "tarn::ArrayPool::deallocate", p, what);
  }

  Indices indices_;
  Memory memory_;
};

#if __cplusplus < 201703L  // Inline since then.
template <std::size_t block_count, std::size_t block_bytes, std::size_t alignment, class Overflow,
          ArrayChecks checks, class Lock>
constexpr std::size_t
    ArrayPool<block_count, block_bytes, alignment, Overflow, checks, Lock>::stride;
#endif

}  // namespace tarn

#endif
#endif
