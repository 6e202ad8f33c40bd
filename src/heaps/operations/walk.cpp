// walk: every page and block of an exclusively held heap.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/walk.hpp"

#include <cerrno>

#include "engine/records/gate.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/registry.hpp"
#include "heaps/operations/free_blocks.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

class Walk {
 public:
  Walk(unsigned flags, tarn_heap_visit visit, void* context) noexcept
      : with_free_((flags & TARN_HEAP_WALK_FREE) != 0), visit_(visit), context_(context) {}

  int page(const Page& page) noexcept {
    const FreeBlocks free(page);
    const std::size_t bytes = page.block_bytes;
    if (int stop =
            show(TARN_HEAP_PAGE, page.base, page.bytes(), bytes, free.carved() - free.count())) {
      return stop;
    }
    for (std::size_t i = 0; i < free.carved(); ++i) {
      if (free.has(i) && !with_free_) continue;
      const int kind = free.has(i) ? TARN_HEAP_FREE_BLOCK : TARN_HEAP_BLOCK;
      std::byte* const start = page.base + i * bytes;
      const std::size_t usable = is_hardened(page) ? hardened_seen_bytes(page, start) : bytes;
      if (int stop = show(kind, start, usable, 0, 0)) return stop;
    }
    return 0;
  }

  int mixed(const MixedPage& mixed) noexcept {
    const Page* const page = mixed.page;
    if (page == nullptr) return 0;
    if (int stop = show(TARN_HEAP_PAGE, page->base, page->bytes(), 0, mixed.live_blocks())) {
      return stop;
    }
    for (std::size_t at = mixed.next_block(0); at != MixedPage::none;) {
      const std::size_t bytes = mixed.size_at(at);
      if (int stop = show(TARN_HEAP_BLOCK, page->base + at, bytes, 0, 0)) return stop;
      if (mixed.page != page) return 0;  // The visitor freed the last block.
      at = mixed.next_block(at + block_align);
    }
    return 0;
  }

  int checked(const Page& page) noexcept {
    if (int stop = show(TARN_HEAP_PAGE, page.base, page.bytes(), 0, page.live_seen)) return stop;
    const std::size_t carved = page.carved;  // What the visitor allocates comes later, or not.
    for (std::size_t i = 0; i < carved; ++i) {
      if (int stop = place(place_number(&page, i), TARN_HEAP_BLOCK)) return stop;
    }
    return 0;
  }

  int lone(const Page& page) noexcept { return place(lone_place(&page), TARN_HEAP_LARGE_BLOCK); }

  int passed(const LoneNote& note) noexcept {
    return show(TARN_HEAP_LARGE_BLOCK, note.start, note.requested(), 0, 0);
  }

  int large(const Span& span) noexcept {
    const auto& page = static_cast<const Page&>(span);
    const bool hardened = page.record_now()->hardened;
    const std::size_t bytes = hardened ? hardened_seen_bytes(page, span.base) : span.bytes();
    return show(TARN_HEAP_LARGE_BLOCK, span.base, bytes, 0, 0);
  }

 private:
  int place(const Place& place, int kind) noexcept {
    const NoteState state = place.note->state();
    const std::size_t bytes = place.note->requested();
    if (state == NoteState::live) return show(kind, place.start, bytes, 0, 0);
    const bool is_free = state == NoteState::kept_back || state == NoteState::freed;
    return is_free && with_free_ ? show(TARN_HEAP_FREE_BLOCK, place.start, bytes, 0, 0) : 0;
  }

  int show(int kind, std::byte* start, std::size_t bytes, std::size_t block_bytes,
           std::uint64_t live) noexcept {
    const tarn_heap_item item{kind, start, bytes, block_bytes, live};
    return visit_(&item, context_);
  }

  bool with_free_;
  tarn_heap_visit visit_;
  void* context_;
};

int walk_checked(HeapRecord& record, Walk& walk) noexcept {
  checks_verify(record, "tarn_heap_walk");
  for (const Span* s = record.checks->spans.head(); s != nullptr;) {
    const auto& page = *static_cast<const Page*>(s);
    s = s->next_of_heap;
    const bool alone = page.kind_now() == SpanKind::lone;
    if (int stop = alone ? walk.lone(page) : walk.checked(page)) return stop;
  }
  for (const LoneNote* n = record.checks->passed.head(); n != nullptr;) {
    const LoneNote& note = *n;
    n = n->newer;
    if (int stop = walk.passed(note)) return stop;
  }
  return 0;
}

int walk_all(HeapRecord& record, Walk& walk) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record) && record.walking);
  if (record.checks != nullptr) return walk_checked(record, walk);
  if (int stop = walk.mixed(record.mixed)) return stop;
  const auto visit = [&](const Page& page) noexcept { return walk.page(page); };
  if (const int stop = for_each_page(record, visit)) return stop;
  for (const Span* s = record.large.head(); s != nullptr;) {
    const Span& span = *s;
    s = s->next_of_heap;
    if (int stop = walk.large(span)) return stop;
  }
  return 0;
}

}  // namespace

bool heap_unlock(tarn_heap heap) noexcept {
  auto* const record = static_cast<HeapRecord*>(heap.record);
  if (record == nullptr || record == &main_record ||
      record->id.load(std::memory_order_relaxed) != heap.id) {
    errno = EINVAL;
    return false;
  }
  if (!exclusive_to_this_thread(*record)) {
    errno = EPERM;
    return false;
  }
  leave_exclusive(*record);
  return true;
}

int heap_walk(tarn_heap heap, unsigned flags, tarn_heap_visit visit, void* context) noexcept {
  HeapRecord* const record = heap_lock(heap, "tarn_heap_walk");
  if (record == nullptr) return -1;
  const bool was_walking = record->walking;
  record->walking = true;
  Walk walk(flags, visit, context);
  const int stop = walk_all(*record, walk);
  record->walking = was_walking;
  if (record->checks != nullptr) checks_finish_walk(*record);
  leave_exclusive(*record);
  return stop;
}

tarn_heap heap_next(tarn_heap heap) noexcept {
  if (heap.record == nullptr) return main_record.handle();
  return registry.next_after(heap.record == &main_record ? tarn_heap{} : heap, nullptr);
}

}  // namespace tarn
