// malloc_table.hpp: any allocator as a table of functions that stand in for malloc, in C++ (C++17).
// tarn/heap/malloc_table.h says what each of the functions promises, and has the tables of the
// allocators in C.
//
//   tarn::Counted<tarn::Arena> arena;
//   tarn_malloc_table table = tarn::malloc_table(arena);   // of any BlockAllocator
//
// A block has 16 bytes in front (its alignment, where that is greater) for the numbers that it is
// deallocated with. Nothing is added where the allocator needs no such numbers: it has
// deallocate(p), and either block_bytes_of(p) or blocks of one size, block_bytes.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_MALLOC_TABLE_HPP
#define TARN_MALLOC_TABLE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "malloc_table.h"

namespace tarn {

// What the functions of a BlockAllocator can do without being told a block's size.
template <class A, class = void>
struct FreesByAddress : std::false_type {};
template <class A>
struct FreesByAddress<A, std::void_t<decltype(std::declval<A&>().deallocate(nullptr))>>
    : std::true_type {};

template <class A, class = void>
struct KnowsBlocks : std::false_type {};
template <class A>
struct KnowsBlocks<A, std::void_t<decltype(std::declval<A&>().block_bytes_of(nullptr))>>
    : std::true_type {};

template <class A, class = void>
struct HasBlockFunction : std::false_type {};
template <class A>
struct HasBlockFunction<A, std::void_t<decltype(std::declval<A&>().block_bytes())>>
    : std::true_type {};

template <class A, class = void>
struct HasBlockConstant : std::false_type {};
template <class A>
struct HasBlockConstant<A, std::enable_if_t<(A::block_bytes > 0)>> : std::true_type {};

// How a table uses a BlockAllocator. For other allocators, name another class with these functions.
// For an A whose table keeps the sizes it may also have static void* resize(A&, void* p, size_t
// old_bytes, size_t bytes, size_t alignment).
template <class A>
struct MallocTableUse {
  static constexpr bool keeps_size =
      !FreesByAddress<A>::value ||
      !(KnowsBlocks<A>::value || HasBlockFunction<A>::value || HasBlockConstant<A>::value);

  static void* take(A& a, std::size_t bytes, std::size_t alignment) noexcept {
    return a.try_allocate(bytes, alignment);
  }
  static void give(A& a, void* p, std::size_t bytes, std::size_t alignment) noexcept {
    if constexpr (keeps_size) {
      a.deallocate(p, bytes, alignment);
    } else {
      a.deallocate(p);
    }
  }
  // The usable bytes of a block whose size the table does not keep.
  static std::size_t bytes_of([[maybe_unused]] A& a, [[maybe_unused]] const void* p) noexcept {
    if constexpr (KnowsBlocks<A>::value) {
      return a.block_bytes_of(p);
    } else if constexpr (HasBlockFunction<A>::value) {
      return a.block_bytes();
    } else if constexpr (HasBlockConstant<A>::value) {
      return A::block_bytes;
    } else {
      return 0;
    }
  }
};

// The functions of a table over an A, with the block as the picture shows where keeps_size is true.
//
//   from take():  | ... | bytes, alignment | the user's |
//                 ^ base                    ^ base + max(16, alignment)
template <class A, class Use = MallocTableUse<A>>
class MallocTableOf {
 public:
  static tarn_malloc_table table(A* allocator) noexcept {
    tarn_malloc_table made = TARN_MALLOC_TABLE_FIELDS();
    made.allocate = allocate;
    made.allocate_zeroed = allocate_zeroed;
    made.allocate_aligned = allocate_aligned;
    made.reallocate = reallocate;
    made.deallocate = deallocate;
    made.usable_size = usable_size;
    made.context = allocator;
    return made;
  }

 private:
  struct Sizes {
    std::size_t bytes;      // The size that the user asked for.
    std::size_t alignment;  // The distance of the user's part from the base; at least 16.
  };
  static constexpr std::size_t least = 16;
  static_assert(sizeof(Sizes) <= least, "the numbers fit in front");

  static A& allocator_of(void* context) noexcept { return *static_cast<A*>(context); }
  static Sizes& sizes_of(const void* p) noexcept {
    return *(static_cast<Sizes*>(const_cast<void*>(p)) - 1);
  }
  static char* base_of(void* p) noexcept { return static_cast<char*>(p) - sizes_of(p).alignment; }

  static void* no_memory() noexcept {
    errno = ENOMEM;
    return nullptr;
  }
  static void* user_part(void* base, std::size_t bytes, std::size_t alignment) noexcept {
    void* const p = static_cast<char*>(base) + alignment;
    sizes_of(p) = {bytes, alignment};
    return p;
  }

  static void* take(void* context, std::size_t bytes, std::size_t alignment) noexcept {
    constexpr std::size_t most = PTRDIFF_MAX;
    if (bytes > most || alignment > most - bytes) return no_memory();
    const std::size_t front = Use::keeps_size ? alignment : 0;
    void* const base = Use::take(allocator_of(context), front + bytes, alignment);
    if (base == nullptr) return no_memory();
    return Use::keeps_size ? user_part(base, bytes, alignment) : base;
  }

  static void* allocate(void* context, std::size_t bytes) noexcept {
    return take(context, bytes, least);
  }
  static void* allocate_zeroed(void* context, std::size_t count, std::size_t bytes) noexcept {
    if (bytes != 0 && count > PTRDIFF_MAX / bytes) return no_memory();
    void* const p = take(context, count * bytes, least);
    return p == nullptr ? nullptr : __builtin_memset(p, 0, count * bytes);
  }
  static void* allocate_aligned(void* context, std::size_t alignment, std::size_t bytes) noexcept {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
      errno = EINVAL;
      return nullptr;
    }
    return take(context, bytes, alignment < least ? least : alignment);
  }

  static void deallocate(void* context, void* p) noexcept {
    if (p == nullptr) return;
    const int saved = errno;
    if constexpr (Use::keeps_size) {
      const Sizes sizes = sizes_of(p);
      Use::give(allocator_of(context), base_of(p), sizes.alignment + sizes.bytes, sizes.alignment);
    } else {
      Use::give(allocator_of(context), p, 0, 0);
    }
    errno = saved;
  }

  static std::size_t usable_size(void* context, const void* p) noexcept {
    if (p == nullptr) return 0;
    if constexpr (Use::keeps_size) {
      return sizes_of(p).bytes;
    } else {
      return Use::bytes_of(allocator_of(context), p);
    }
  }

  template <class U, class = void>
  struct Resizes : std::false_type {};
  template <class U>
  struct Resizes<U, std::void_t<decltype(U::resize(std::declval<A&>(), nullptr, std::size_t{},
                                                   std::size_t{}, std::size_t{}))>>
      : std::true_type {};

  static void* reallocate(void* context, void* p, std::size_t bytes) noexcept {
    if (p == nullptr) return allocate(context, bytes);
    if (bytes == 0) {
      deallocate(context, p);
      return nullptr;
    }
    const std::size_t had = usable_size(context, p);
    if constexpr (Use::keeps_size && Resizes<Use>::value) {
      const std::size_t alignment = sizes_of(p).alignment;
      if (bytes > PTRDIFF_MAX - alignment) return no_memory();
      void* const base = Use::resize(allocator_of(context), base_of(p), alignment + had,
                                     alignment + bytes, alignment);
      return base == nullptr ? no_memory() : user_part(base, bytes, alignment);
    } else {
      if (!Use::keeps_size && bytes <= had) return p;
      return move(context, p, had, bytes);
    }
  }

  // Deallocators may need the size that a block was asked for with, so a block that shrinks moves
  // too.
  static void* move(void* context, void* p, std::size_t had, std::size_t bytes) noexcept {
    void* const other = allocate(context, bytes);
    if (other == nullptr) return nullptr;
    __builtin_memcpy(other, p, had < bytes ? had : bytes);
    deallocate(context, p);
    return other;
  }
};

// The table of an allocator. The allocator must outlive the blocks.
template <class A>
tarn_malloc_table malloc_table(A& allocator) noexcept {
  static_assert(noexcept(allocator.try_allocate(std::size_t{}, std::size_t{})),
                "malloc_table() is for BlockAllocators (tarn/source/concepts.hpp)");
  return MallocTableOf<A>::table(&allocator);
}

}  // namespace tarn

#endif
#endif
