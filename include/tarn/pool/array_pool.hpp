// array_pool.hpp: a pool whose free list is an array apart from the blocks (C++17). Header only;
// needs no OS, no library and no exceptions. All of the pool lies in the object:
//
//   +-----------------+----------+--------------------------+-------------------------------+
//   | free_ | carved_ | live map | free_indices_[capacity]  | block 0 | block 1 | ...       |
//   +-----------------+----------+--------------------------+-------------------------------+
//                     (exact only)  a stack: the last freed    0..carved_-1 were handed out
//                                   block is the next one      once, the rest never touched
//
//   in use = carved_ - free_     (after V. Stadnik, "Array-Based Memory Pool and Allocator", 2023)
//
// For memory provided at run time see tarn/pool/region_array_pool.hpp, for several processes
// tarn/pool/shared_array_pool.hpp, for containers tarn/standard/array_allocator.hpp.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ARRAY_POOL_HPP
#define TARN_ARRAY_POOL_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "../detail/align.hpp"
#include "../detail/api.h"
#include "../detail/array_misuse.h"
#include "../detail/exact_index.h"
#include "../detail/index_stack.h"
#include "../detail/watch.h"

namespace tarn {

// What an ArrayPool does when no block is free. It is one of the next two types, or any class with
//
//   void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept;
//   void deallocate(void* p, std::size_t bytes, std::size_t alignment) noexcept;
//
// which then provides the blocks beyond the capacity. A free returns them to it by their address.
struct OverflowNull {};   // allocate() returns null.
struct OverflowThrow {};  // allocate() throws std::bad_alloc; without exceptions it returns null.

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

// The program's operator new as a fallback.
struct OverflowNew {
  void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > PTRDIFF_MAX) return nullptr;  // Some operators do not return from that.
    return ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  }
  void deallocate(void* p, std::size_t, std::size_t alignment) noexcept {
    ::operator delete (p, std::align_val_t{alignment});
  }
};

// What each free checks. cheap: p is the start of a block that has been handed out at some time,
// which takes a multiplication and a comparison; a double free is found only when all blocks are
// free. exact: the block is live, which takes a bit for each block.
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

// A pool of block_count blocks of block_bytes, for one thread at a time. It is
// constant-initialised: a static one lies in .bss and is usable before any constructor runs. Its
// destructor does nothing, so a static one can be used to the very end. allocate() and deallocate()
// are O(1), and touch only pages that a block or a free index needs. The block that was freed last
// comes first, and blocks that were never used come by ascending address. When all blocks are free,
// they come from the start again.
template <std::size_t block_count, std::size_t block_bytes,
          std::size_t alignment = natural_alignment(block_bytes), class Overflow = OverflowThrow,
          ArrayChecks checks = ArrayChecks::cheap>
class ArrayPool : private Overflow {
  static_assert(block_count > 0, "a pool has at least one block");
  static_assert(block_bytes > 0, "a block has at least one byte");
  static_assert(is_power_of_two(alignment), "an alignment is a power of two");
  static_assert(std::uint64_t{block_count} - 1 <= UINT32_MAX, "indices have 32 bits at most");
  static_assert(block_bytes <= PTRDIFF_MAX - (alignment - 1), "the blocks are too large");

 public:
  using Index = std::conditional_t<
      block_count - 1 <= UINT8_MAX, std::uint8_t,
      std::conditional_t<block_count - 1 <= UINT16_MAX, std::uint16_t, std::uint32_t>>;

  // The distance from one block to the next.
  static constexpr std::size_t stride = align_up(block_bytes, alignment);
  static_assert(block_count <= (PTRDIFF_MAX / 2) / stride, "the blocks do not fit into memory");

  constexpr ArrayPool() noexcept : memory_() {}
  constexpr explicit ArrayPool(Overflow overflow) noexcept
      : Overflow(std::move(overflow)), memory_() {}
  ArrayPool(const ArrayPool&) = delete;
  ArrayPool& operator=(const ArrayPool&) = delete;
  TARN_WATCH_DESTRUCTOR(ArrayPool, blocks(), sizeof memory_.parts.blocks)

  // Takes a block of block_bytes, aligned to `alignment`. When none is free, Overflow decides.
  [[nodiscard]] void* allocate() noexcept(is_null_) {
    void* const p = in_register(this)->take();
    return TARN_LIKELY(p != nullptr) ? p : spill_or_throw();
  }
  [[nodiscard]] void* try_allocate() noexcept {
    void* const p = in_register(this)->take();
    return TARN_LIKELY(p != nullptr) ? p : spill();
  }

  // For generic code over any allocator. Null for more bytes or a greater alignment than the pool's
  // blocks have.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t align) noexcept {
    return bytes <= block_bytes && align <= alignment ? try_allocate() : nullptr;
  }

  // Frees a block; null is ignored. A pointer that is no block, or a block that was never handed
  // out, is reported as an `invalid free` unless a fallback takes it; then the process ends. Blocks
  // may be freed in any order.
  void deallocate(void* p) noexcept {
    const std::size_t i = index_of(p);
    if (TARN_UNLIKELY(!in_register(this)->give(i, p))) deallocate_elsewhere(p);
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  // Whether p points into this pool's own blocks, live or not.
  bool owns(const void* p) const noexcept {
    return address_of(p) - address_of(blocks()) < block_count * stride;
  }

  static constexpr std::size_t capacity() noexcept { return block_count; }
  std::size_t in_use() const noexcept { return carved_ - free_; }    // Those of the pool alone.
  bool is_empty() const noexcept { return carved_ == 0; }            // No block is in use.
  bool is_full() const noexcept { return in_use() == block_count; }  // No block is left.

  // The fallback.
  Overflow& overflow() noexcept { return *this; }

  // The number of a block. It does not depend on the pool's address.
  std::size_t index_of(const void* p) const noexcept {
    return tarn_exact_index(blocks(), p, tarn_exact_inverse(stride), shift_);
  }

  // Calls visit(void* block) for each live block of the pool, by address. visit may free the block
  // that it is shown and no other, and must not allocate. O(capacity / 4096 * free blocks), or
  // O(capacity) if exact.
  template <class Visit>
  void for_each(Visit&& visit) {
    constexpr std::size_t step = TARN_INDEX_WINDOW;
    tarn_index_window window;
    for (std::size_t first = 0; first < carved_; first += step) {
      if (!tarn_index_mark_free(stack(), first, &window)) return;
      const std::size_t count = carved_ - first < step ? carved_ - first : step;
      for (std::size_t i = 0; i != count; ++i) {
        if (tarn_index_is_free(&window, i) == 0) visit(block_at(first + i));
      }
    }
  }

  // Checks every invariant: the counts are within their bounds, each free index is of a block that
  // was handed out and is there once, and the live bits are those of all other blocks. Takes as
  // long as for_each(); reads no block.
  bool check() const noexcept {
    const Word* live = nullptr;
    if constexpr (checks == ArrayChecks::exact) live = memory_.parts.live;
    return tarn_index_check(stack(), block_count, live) != 0;
  }

 private:
  using Count = std::conditional_t<block_count <= UINT32_MAX, std::uint32_t, std::size_t>;
  using Word = std::uint32_t;
  static constexpr std::size_t word_bits_ = 32;
  static constexpr unsigned shift_ = tarn_exact_shift(stride);
  static constexpr bool is_null_ = std::is_same_v<Overflow, OverflowNull>;
  static constexpr bool is_throw_ = std::is_same_v<Overflow, OverflowThrow>;

  struct NoMap {};
  struct LiveMap {
    // A word is cleared when its first block is carved.
    Word live[(block_count + word_bits_ - 1) / word_bits_];
  };
  struct Parts : std::conditional_t<checks == ArrayChecks::exact, LiveMap, NoMap> {
    Index free_indices[block_count];
    alignas(alignment) unsigned char blocks[block_count * stride];
  };
  // A union, so that the constructor is constexpr and does not write the blocks.
  union Memory {
    struct None {};
    constexpr Memory() noexcept : none() {}
    None none;
    Parts parts;
  };

  const unsigned char* blocks() const noexcept { return memory_.parts.blocks; }
  void* block_at(std::size_t i) noexcept { return memory_.parts.blocks + i * stride; }

  // Takes a block of the pool; null: none is free.
  void* take() noexcept {
    if (TARN_UNLIKELY(free_ != 0)) return pop();
    return TARN_LIKELY(carved_ != block_count) ? carve() : nullptr;
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
  // Frees block i; false: it was never handed out.
  bool give(std::size_t i, const void* p) noexcept {
    if (TARN_UNLIKELY(i >= carved_)) return false;
    if constexpr (checks == ArrayChecks::exact) end_life(i, p);
    if (TARN_WATCH) tarn_watch_freed(p, block_bytes);
    memory_.parts.free_indices[free_] = static_cast<Index>(i);
    if (TARN_UNLIKELY(++free_ == carved_)) free_ = carved_ = 0;
    return true;
  }

  void* pop() noexcept {
    const std::size_t i = memory_.parts.free_indices[--free_];
    if constexpr (checks == ArrayChecks::exact) flip(i);
    if (TARN_WATCH) tarn_watch_open(block_at(i), block_bytes);
    return block_at(i);
  }
  void* carve() noexcept {
    const std::size_t i = carved_;
    if (TARN_WATCH && i == 0) close();
    carved_ = static_cast<Count>(i + 1);
    if constexpr (checks == ArrayChecks::exact) {
      if (i % word_bits_ == 0) memory_.parts.live[i / word_bits_] = 0;
      flip(i);
    }
    if (TARN_WATCH) tarn_watch_open(block_at(i), block_bytes);
    return block_at(i);
  }

  void flip(std::size_t i) noexcept {
    memory_.parts.live[i / word_bits_] ^= Word{1} << i % word_bits_;
  }
  void end_life(std::size_t i, const void* p) noexcept {
    if (TARN_UNLIKELY(tarn_index_is_live(memory_.parts.live, i) == 0)) {
      report("double free", p, "the block was freed before");
    }
    flip(i);
  }

  void* spill() noexcept {
    if constexpr (is_null_ || is_throw_)
      return nullptr;
    else
      return Overflow::try_allocate(block_bytes, alignment);
  }
  void* spill_or_throw() noexcept(is_null_) {
    void* const p = spill();
#if defined(__cpp_exceptions)
    if constexpr (!is_null_) {
      if (p == nullptr) throw std::bad_alloc();
    }
#endif
    return p;
  }

  void deallocate_elsewhere(void* p) noexcept {
    if (p == nullptr) return;
    if constexpr (!is_null_ && !is_throw_) {
      if (!owns(p)) return Overflow::deallocate(p, block_bytes, alignment);
    }
    if (index_of(p) < block_count) report("double free", p, "the block is free");
    report("invalid free", p, owns(p) ? "not the start of a block" : "no block of this pool");
  }
  [[noreturn]] static void report(const char* kind, const void* p, const char* what) noexcept {
    tarn_array_misuse(kind, "tarn::ArrayPool::deallocate", p, what);
  }

  tarn_index_stack stack() const noexcept {
    return {memory_.parts.free_indices, sizeof(Index), free_, carved_};
  }

  Count free_ = 0;    // How many indices are on the stack.
  Count carved_ = 0;  // How many blocks have been handed out since all were free.
  Memory memory_;
};

}  // namespace tarn

#endif
#endif
