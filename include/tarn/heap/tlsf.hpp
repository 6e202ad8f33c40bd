// tlsf.hpp: heaps of blocks of any size in memory that the program provides, in C++ (C++17). Each
// operation takes a bounded number of instructions. Header only; needs no other heap, no OS, and of
// the C library only memcpy.
//
//   static tarn::StaticTlsfHeap<4096> heap;          // 4,096 bytes for blocks inside, in .bss
//   void* p = heap.try_allocate(100);
//   heap.deallocate(p);
//
//   tarn::TlsfHeap large(memory, bytes);             // in a region; more may be added
//
// tarn/heap/tlsf.h says what each function promises and how misuse is found. docs/static_pools.md
// has the bounds, tarn/detail/tlsf_blocks.h says how it works.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_TLSF_HPP
#define TARN_TLSF_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>

#include "../detail/errors.hpp"
#include "../detail/lock.hpp"
#include "../detail/tlsf_bounds.h"

namespace tarn {

using TlsfStats = tarn_tlsf_stats;

// The region inside a static heap; other heaps have none.
template <std::size_t bytes>
struct TlsfStorage {
  static_assert(bytes >= 8 * sizeof(std::size_t), "a static TLSF heap has 8 words at least");
  alignas(2 * sizeof(std::size_t)) unsigned char data[bytes] = {};
};
template <>
struct TlsfStorage<0> {};

// region_bytes_max: the size of the largest region. The object has lists for blocks up to that,
// about 140 bytes for each power of two (70 with words of 32 bits). inside: the bytes of the
// object's own region; 0: it has none.
template <std::size_t region_bytes_max, class Lock, std::size_t inside>
class BasicTlsfHeap : private Lock {
  static_assert(region_bytes_max <= TARN_TLSF_BYTES_MAX, "regions of TARN_TLSF_BYTES_MAX at most");
  static_assert(!std::is_same_v<Lock, LockFree>, "a TLSF heap has no way without a lock");
  static constexpr std::size_t level_count = TARN_TLSF_LEVELS(region_bytes_max);

 public:
  constexpr BasicTlsfHeap() noexcept = default;
  // A heap with one region, as by add_region(). If the region is refused, the heap is empty.
  BasicTlsfHeap(void* memory, std::size_t bytes) noexcept { (void)add_region(memory, bytes); }
  BasicTlsfHeap(const BasicTlsfHeap&) = delete;
  BasicTlsfHeap& operator=(const BasicTlsfHeap&) = delete;
  TARN_WATCH_DESTRUCTOR(BasicTlsfHeap, &storage_, sizeof storage_)

  static constexpr std::size_t footprint_bytes() noexcept { return sizeof(BasicTlsfHeap); }

  // The most that a block for a request of `bytes` takes of a region, with its header.
  static constexpr std::size_t room_bytes(std::size_t bytes) noexcept {
    return tarn_tlsf_room(bytes);
  }
  // How large a region must be so that no request fails while the live blocks and the request take
  // at most `live_max` bytes of it: see tarn_tlsf_worst_case().
  static constexpr std::size_t worst_case_bytes(std::size_t live_max, std::size_t largest,
                                                std::size_t blocks_max = 0) noexcept {
    return tarn_tlsf_worst_case(live_max, largest, blocks_max);
  }

  [[nodiscard]] bool add_region(void* memory, std::size_t bytes) noexcept {
    const LockScope<Lock> scope(*this);
    get_ready();
    return tarn_tlsf_add(&heap_, levels_, level_count, memory, bytes) != 0;
  }

  // Null when no free block is large enough or the numbers make no sense; allocate() throws
  // std::bad_alloc instead, if there are exceptions.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment = 1) noexcept {
    const LockScope<Lock> scope(*this);
    get_ready();
    return tarn_tlsf_allocate(&heap_, levels_, level_count, bytes, alignment);
  }
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = 1) {
    return or_bad_alloc(try_allocate(bytes, alignment));
  }
  [[nodiscard]] void* try_reallocate(void* p, std::size_t bytes,
                                     std::size_t alignment = 1) noexcept {
    if (p == nullptr) return try_allocate(bytes, alignment);
    std::size_t had = 0;
    const char* wrong = nullptr;
    void* const other = resize_or_allocate(p, bytes, alignment, &had, &wrong);
    if (TARN_UNLIKELY(wrong != nullptr)) tarn_static_report(wrong, this, p);
    if (other == nullptr || other == p) return other;
    __builtin_memcpy(other, p, had < bytes ? had : bytes);
    deallocate(p);
    return other;
  }
  [[nodiscard]] void* reallocate(void* p, std::size_t bytes, std::size_t alignment = 1) {
    return or_bad_alloc(try_reallocate(p, bytes, alignment));
  }

  void deallocate(void* p) noexcept {
    if (p == nullptr) return;
    const char* const wrong = give(p);
    if (TARN_UNLIKELY(wrong != nullptr)) tarn_static_report(wrong, this, p);
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  bool owns(const void* p) const noexcept { return tarn_tlsf_owns(&heap_, p) != 0; }
  bool is_live(const void* p) const noexcept { return tarn_tlsf_is_live(&heap_, p) != 0; }
  // pre: p is a live block
  std::size_t block_bytes_of(const void* p) const noexcept { return tarn_tlsf_usable(p); }

  TlsfStats stats() noexcept {
    const LockScope<Lock> scope(*this);
    get_ready();
    return tarn_tlsf_stats_of(&heap_, levels_);
  }

  // Calls visit(void* p, std::size_t bytes) for each live block: region by region, and in each by
  // address. It may free the block that it is shown. If it returns false, the walk ends. No other
  // thread may use the heap meanwhile.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (void* p = tarn_tlsf_next(&heap_, nullptr); p != nullptr;) {
      void* const next = tarn_tlsf_next(&heap_, p);
      if constexpr (std::is_void_v<decltype(visit(p, std::size_t{}))>) {
        visit(p, tarn_tlsf_usable(p));
      } else if (!visit(p, tarn_tlsf_usable(p))) {
        return;
      }
      p = next;
    }
  }

  // Checks every invariant, in all blocks and lists. No thread may use the heap meanwhile.
  bool check() const noexcept { return tarn_tlsf_check(&heap_, levels_, level_count) != 0; }

 private:
  void get_ready() noexcept {
    if constexpr (inside != 0) {
      if (TARN_LIKELY(heap_.regions != nullptr)) return;
      tarn_tlsf_add(&heap_, levels_, level_count, storage_.data, sizeof storage_.data);
    }
  }
  void* resize_or_allocate(void* p, std::size_t bytes, std::size_t alignment, std::size_t* had,
                           const char** wrong) noexcept {
    const LockScope<Lock> scope(*this);
    *wrong = tarn_tlsf_wrong(&heap_, p);
    if (TARN_UNLIKELY(*wrong != nullptr)) return nullptr;
    *had = tarn_tlsf_usable(p);
    if (tarn_tlsf_resize(&heap_, levels_, level_count, p, bytes, alignment) != 0) return p;
    return tarn_tlsf_allocate(&heap_, levels_, level_count, bytes, alignment);
  }
  const char* give(void* p) noexcept {
    const LockScope<Lock> scope(*this);
    return tarn_tlsf_deallocate(&heap_, levels_, p);
  }

  tarn_tlsf heap_ = {};
  tarn_tlsf_level levels_[level_count] = {};
  TlsfStorage<inside> storage_ = {};
};

using TlsfHeap = BasicTlsfHeap<TARN_TLSF_BYTES_MAX, NoLock, 0>;

template <std::size_t bytes, class Lock = NoLock>
using StaticTlsfHeap = BasicTlsfHeap<bytes, Lock, bytes>;

}  // namespace tarn

#endif
#endif
