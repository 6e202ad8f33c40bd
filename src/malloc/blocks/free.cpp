// free: see free.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/free.hpp"

#include "engine/records/thread_heaps.hpp"
#include "engine/threads/gathering.hpp"
#include "engine/threads/post.hpp"
#include "engine/threads/thread_heap.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/heap_large.hpp"
#include "heaps/heap/large.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "malloc/blocks/hardened_free.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

// Of a serialised heap. pre: p is the start of a block
void free_locked(Page* page, void* p) noexcept {
  TARN_ASSERT(page->is_block(p));
  ThreadHeap& thread_heap = *page->heap;
  HeapRecord* record = nullptr;
  {
    // A heap that was deleted meanwhile is under malloc's lock.
    const LockedPastGate locked([&]() -> HeapRecord* { return thread_heap.record; });
    report_if_frozen(locked.record());
    TARN_ASSERT(thread_heap.thread == &locked_owner);
    if (locked.record().secret) wipe(p, page->block_bytes);
    auto* const block = static_cast<Block*>(p);
    block->next = page->local_free;
    page->local_free = block;
    if (--page->countdown == 0) page_attention(*page);
    if (&locked.record() != &main_record || !thread_heap.pages.empty()) record = &locked.record();
  }
  if (record == nullptr) return thread_heaps.give(thread_heap);  // The last page of it has gone.
  tend_zone(*record);
}

// False where the slow path has to look (require_size).
bool said_fits(Said said, SliceTag tag) noexcept {
  return !said.has_bytes() || SaidSize{said.bytes()}.is_of(tag & tag_class_mask);
}

// Of pages that the calling thread does not own, what no chain takes, and what looks free.
TARN_NOINLINE void deallocate_elsewhere(void* p, Said said, const void* site) noexcept {
  if (p == nullptr) return;
  const PageMap::Slice slice = page_map.slice_of(p);
  const SliceTag tag = slice.tag();
  Thread* const thread = current_thread;
  if (is_mallocs(tag)) {
    require_live_if_suspect(tag, p, said.call(site).function);
    if (said.has_bytes()) require_size(class_of_tag(tag), p, said.call(site));
    if (deallocate_tagged(p)) return;  // What looked wrong is not.
    auto* const page = static_cast<Page*>(page_map.span_of(slice));
    const std::size_t size_class = class_of_tag(tag);
    if (page->is_block_of(p, size_class)) {
      thread->cache.mark_freed(p);
      if (thread != no_thread() && gather(*thread, page, static_cast<Block*>(p), size_class))
        return;
    }
  }
  deallocate_slow(p, said.call(site));
}

}  // namespace

void deallocate_slow(void* p, Said said, const void* site) noexcept {
  const PageMap::Slice slice = page_map.slice_of(p);
  auto* const page = static_cast<Page*>(page_map.span_of(slice));
  Thread* const thread = current_thread;
  const SliceTag tag = slice.tag();
  if (tag == 0) {
    // Another heap's page, perhaps the thread's own; or malloc's, between the starts of its blocks.
    const bool is_between = page->block_bytes > slice_bytes && page->heap_now() == &thread->heap;
    if (TARN_LIKELY(!is_between) && deallocate_own(page, p)) return;
    if (is_hardened(*page) && hardened_is_block(*page, p)) {
      return hardened_free(*page, p, said, site);
    }
  } else if (!thread->cache.looks_free(p) && said_fits(said, tag) &&
             gather_more(*thread, page, p)) {
    return;  // Its owner's line was left alone.
  }
  deallocate_elsewhere(p, said, site);
}

void deallocate_slow(void* p, const FreeCall& given) noexcept {
  Span* const span = span_of_block(p, given.function);
  const SpanKind kind = span->kind_now();
  auto* const page = static_cast<Page*>(span);
  if (kind == SpanKind::large) {
    if (TARN_UNLIKELY(page->record_now()->hardened)) hardened_end_large(*page, given);
    if (page->record_now() != &main_record) return heap_large_free(span);
    require_large_size(*page, p, given);
    return large_free(span);
  }
  if (kind == SpanKind::mixed) return mixed_free(page, p);
  if (is_checked(kind)) return checks_free(page, p, given);
  if (kind == SpanKind::idle) {
    if (checks_free_passed(p, given)) return;
    report_misuse(Misuse::invalid_free, given.function, p);  // By another thread meanwhile.
  }
  TARN_ASSERT(kind == SpanKind::page);
  const Thread* const owner = page->owner.load(std::memory_order_relaxed);
  if (owner == &hardened_owner) {
    return hardened_free(*page, p, Said(given), given.site);
  }
  if (owner == current_thread) return deallocate_in(page, p);
  if (owner == &locked_owner) return free_locked(page, p);
  if (TARN_UNLIKELY(owner == &frozen_owner)) report_if_frozen(*record_of(page, p));
  switch (page_free_remote(page, static_cast<Block*>(p))) {
    case RemoteFree::done: return;
    case RemoteFree::post: return post(page);
    case RemoteFree::dead: report_in_heap(page, Misuse::double_free, given.function, p);
  }
}

}  // namespace tarn
