// free: gives a block back to the heap that it came from. The hit path is inline.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/records/thread.hpp"
#include "engine/spans/page_map.hpp"
#include "heaps/heap/request.hpp"
#include "malloc/blocks/local_free.hpp"

namespace tarn {

// Frees any block; null is none. `site` is the return address of the function that the program
// called; where none is passed it is that of the callee, to which the compiler jumps.
void deallocate_slow(void* p, Said said, const void* site) noexcept;
// As above. The pointer is not null.
void deallocate_slow(void* p, const FreeCall& given) noexcept;

// True: p went past the cache to its page. False: its page is not the calling thread's; null
// has no page. pre: the page is that of p
TARN_INLINE bool deallocate_own(Page* page, void* p) noexcept {
  if (TARN_UNLIKELY(page->owner.load(std::memory_order_relaxed) != current_thread)) return false;
  if (deallocate_local(p, page)) deallocate_attention(page);
  return true;
}
TARN_INLINE void deallocate_in(Page* page, void* p) noexcept {
  if (TARN_LIKELY(deallocate_own(page, p))) return;
  deallocate_slow(p, Said(Family::any), __builtin_return_address(0));
}

// What a program says of the size of a block that it frees: nothing.
struct NoSize {
  static TARN_INLINE bool is_of(std::uint32_t) noexcept { return true; }
};
// So many bytes: true at once for the class of which blocks of that size are, if they are small.
// For others the slow path looks.
struct SaidSize {
  std::size_t bytes;
  TARN_INLINE bool is_of(std::uint32_t list) const noexcept {
    return (bytes + block_align - 1) / block_align * sizeof(CachedList) == list;
  }
};

// True: p was put into the cache, or went past it to its page. False: its slice's tag is not that
// of a page of malloc's own heap that the calling thread owns, as that of null; or p looks as if it
// were no live block, or one of another size.
template <class Size = NoSize>
TARN_INLINE bool deallocate_tagged(void* p, Size size = {}) noexcept {
  const PageMap::Slice slice = page_map.slice_of(p);
  ThreadCache& cache = current_thread->cache;
  const std::uint32_t list = cache.list_of(slice.tag());
  if (TARN_UNLIKELY(!ThreadCache::is_own(list) || cache.looks_free(p))) return false;
  if (TARN_UNLIKELY(!size.is_of(list))) return false;
  cache.mark_freed(p);
  if (TARN_LIKELY(cache_put(CachedListAt(cache, list), p))) return true;
  auto* const page = static_cast<Page*>(page_map.span_of(slice));
  if (deallocate_local(p, page)) deallocate_attention(page);
  return true;
}

// 25 instructions and 4 branches to the return. origin: the function's; with the alignment, if the
// program says one, which heaps that check their blocks compare.
TARN_INLINE void deallocate(void* p, Origin origin = Family::malloc) noexcept {
  if (TARN_LIKELY(deallocate_tagged(p))) return;
  deallocate_slow(p, Said(origin), __builtin_return_address(0));
}

// As above, with the size that the program asked for: it is compared.
TARN_INLINE void deallocate_sized(void* p, std::size_t bytes,
                                  Origin origin = Family::malloc) noexcept {
  if (TARN_LIKELY(deallocate_tagged(p, SaidSize{bytes}))) return;
  deallocate_slow(p, Said::of(origin, bytes), __builtin_return_address(0));
}

// As deallocate(), past the cache: the shortest way for blocks of other heaps than malloc's
// own.
TARN_INLINE void heap_deallocate(void* p) noexcept {
  deallocate_in(static_cast<Page*>(page_map.span_of(p)), p);
}
TARN_INLINE void heap_deallocate_sized(void* p, std::size_t bytes) noexcept {
  if (TARN_LIKELY(deallocate_own(static_cast<Page*>(page_map.span_of(p)), p))) return;
  deallocate_slow(p, Said::of(Family::any, bytes), __builtin_return_address(0));
}

}  // namespace tarn
