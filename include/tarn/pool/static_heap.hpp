// static_heap.hpp: heaps whose blocks lie in the object, of a few sizes known at compile time, in
// C++ (C++17). Header only; needs no other heap, no OS and no library. A heap is a StaticPool for
// each class:
//
//   static tarn::StaticHeap<tarn::Class<16, 24>, tarn::Class<48, 8>, tarn::Class<160, 2>> heap;
//   void* p = heap.try_allocate(40);     // from the class of 48
//   heap.deallocate(p);                  // found by its address
//
// What tarn/pool/static_pool.hpp says of time, locks, initialisation and misuse holds here, too.
// Finding the class adds a comparison or two for each class.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_STATIC_HEAP_HPP
#define TARN_STATIC_HEAP_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "static_pool.hpp"

namespace tarn {

// A class of `blocks` blocks of `bytes` bytes. By default they are aligned as a StaticPool's are.
template <std::size_t bytes, std::size_t blocks, std::size_t alignment = natural_alignment(bytes)>
struct Class {
  static constexpr std::size_t block_bytes = bytes;
  template <class Lock>
  using Pool = StaticPool<bytes, blocks, alignment, Lock>;
};

// What happens when the smallest class that fits is exhausted.
enum class Spill {
  none,    // The request fails, so no class can use up another's blocks. The default.
  larger,  // The next larger class that fits serves the request, if it has a block.
};

// The pools one after the other, smallest class first. All is inlined, since a call for each class
// would cost more than its comparisons.
template <class Lock, class... Classes>
class StaticClasses;

template <class Lock>
class StaticClasses<Lock> {
 public:
  static constexpr std::size_t least_bytes = static_cast<std::size_t>(-1);
  static constexpr std::size_t words = 0;

  void* take(std::size_t, std::size_t, bool) noexcept { return nullptr; }
  void give(const void* heap, void* p) noexcept {
    if (p != nullptr) tarn_static_report("invalid free", heap, p);
  }
  bool owns(const void*) const noexcept { return false; }
  bool is_live(const void*) const noexcept { return false; }
  std::size_t bytes_of(const void*) const noexcept { return 0; }
  bool check() const noexcept { return true; }
  template <class Visit>
  void for_each_pool(Visit&&) const {}
  template <class Visit>
  bool for_each(Visit&&) {
    return true;
  }
};

template <class Lock, class First, class... Larger>
class StaticClasses<Lock, First, Larger...> {
  using Pool = typename First::template Pool<Lock>;
  using Rest = StaticClasses<Lock, Larger...>;

 public:
  static constexpr std::size_t least_bytes = First::block_bytes;
  static constexpr std::size_t words = Pool::worst_case_words() > Rest::words
                                           ? Pool::worst_case_words()
                                           : Rest::words;
  static_assert(least_bytes < Rest::least_bytes,
                "the classes of a StaticHeap ascend by their bytes");

  __attribute__((always_inline)) void* take(std::size_t bytes, std::size_t alignment,
                                            bool spill) noexcept {
    if (bytes <= Pool::block_bytes && alignment <= Pool::alignment) {
      void* const p = first_.try_allocate();
      if (p != nullptr || !spill) return p;
    }
    return rest_.take(bytes, alignment, spill);
  }
  __attribute__((always_inline)) void give(const void* heap, void* p) noexcept {
    if (first_.owns(p)) {
      first_.deallocate(p);
    } else {
      rest_.give(heap, p);
    }
  }
  bool owns(const void* p) const noexcept { return first_.owns(p) || rest_.owns(p); }
  bool is_live(const void* p) const noexcept { return first_.is_live(p) || rest_.is_live(p); }
  std::size_t bytes_of(const void* p) const noexcept {
    return first_.owns(p) ? Pool::block_bytes : rest_.bytes_of(p);
  }
  bool check() const noexcept { return first_.check() && rest_.check(); }
  template <class Visit>
  void for_each_pool(Visit&& visit) const {
    visit(first_);
    rest_.for_each_pool(visit);
  }
  template <class Visit>
  bool for_each(Visit&& visit) {
    bool more = true;
    first_.for_each([&](void* p) {
      more = visit(p);
      return more;
    });
    return more && rest_.for_each(visit);
  }

 private:
  Pool first_;
  Rest rest_;
};

template <class Lock, Spill spill, class... Classes>
class BasicStaticHeap {
  static_assert(sizeof...(Classes) > 0, "a StaticHeap has at least one class");
  using Pools = StaticClasses<Lock, Classes...>;

 public:
  static constexpr std::size_t classes = sizeof...(Classes);
  static constexpr bool holds_no_addresses = true;  // As StaticPool.

  constexpr BasicStaticHeap() noexcept = default;
  BasicStaticHeap(const BasicStaticHeap&) = delete;
  BasicStaticHeap& operator=(const BasicStaticHeap&) = delete;

  // The size of the whole object; and StaticPool::worst_case_words of the class that has most,
  // times the number of classes that may be tried.
  static constexpr std::size_t footprint_bytes() noexcept { return sizeof(BasicStaticHeap); }
  static constexpr std::size_t worst_case_words() noexcept {
    return Pools::words * (spill == Spill::larger ? classes : 1);
  }

  // Takes a block of the smallest class of at least `bytes` bytes (0 is allowed) and with at least
  // the alignment, if one is given. Null when no class is large enough, or that class has no free
  // block (and, with Spill::larger, no larger one has); allocate() throws std::bad_alloc instead,
  // if there are exceptions. Each class that was tried in vain counts a failure.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = 1) noexcept {
    return pools_.take(bytes, alignment, spill == Spill::larger);
  }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 1) {
    return or_bad_alloc(try_allocate(bytes, alignment));
  }

  // Frees a block; null is ignored. Any other pointer that is no live block of this heap is misuse,
  // which is found before anything changes. The handler gets the heap, or the pool of the class in
  // whose memory p lies.
  void deallocate(void* p) noexcept { pools_.give(this, p); }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  // Makes a T, to be ended by destroy(). Null when there is no block. When the constructor throws,
  // the memory goes back.
  template <class T, class... Args>
  [[nodiscard]] T* try_create(Args&&... args) noexcept(
      std::is_nothrow_constructible_v<T, Args&&...>) {
    return construct_in<T>(
        try_allocate(sizeof(T), alignof(T)), [this](void* p) { deallocate(p); },
        std::forward<Args>(args)...);
  }
  template <class T>
  void destroy(T* object) noexcept {
    if (object != nullptr && pools_.is_live(object)) object->~T();
    deallocate(object);
  }

  // Whether p lies in the memory of a block, live or not; whether p is the start of a live block;
  // and the size of the class in whose blocks p lies, 0 for none. p: any pointer.
  bool owns(const void* p) const noexcept { return pools_.owns(p); }
  bool is_live(const void* p) const noexcept { return pools_.is_live(p); }
  std::size_t block_bytes_of(const void* p) const noexcept { return pools_.bytes_of(p); }

  // Calls visit(const StaticStats&) for each class, smallest first.
  template <class Visit>
  void for_each_class(Visit&& visit) const {
    pools_.for_each_pool([&](const auto& pool) { visit(pool.stats()); });
  }
  // As StaticPool::for_each, class by class.
  template <class Visit>
  void for_each(Visit&& visit) {
    pools_.for_each([&](void* p) {
      if constexpr (std::is_void_v<decltype(visit(p))>) {
        visit(p);
        return true;
      } else {
        return static_cast<bool>(visit(p));
      }
    });
  }

  // Checks every invariant, in all bits. No thread may use the heap meanwhile.
  bool check() const noexcept { return pools_.check(); }

 private:
  Pools pools_;
};

template <class... Classes>
using StaticHeap = BasicStaticHeap<NoLock, Spill::none, Classes...>;

}  // namespace tarn

#endif
#endif
