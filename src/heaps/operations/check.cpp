// check: whether a heap is sound, what a pointer is to it, and its limits changed.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/check.hpp"

#include <cerrno>

#include "engine/threads/exclusive_pages.hpp"
#include "engine/threads/thread_heap.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/passthrough.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/operations/free_blocks.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

bool is_sound(const Page& page) noexcept {
  if (!page_check(&page)) return false;
  // A list that leads astray has fewer blocks than were counted when they were put there.
  return page.carved - page.reserved - FreeBlocks(page).listed() == live_blocks_seen(page);
}

bool is_sound(const MixedPage& mixed) noexcept {
  if (mixed.page == nullptr) return true;
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  for (std::size_t at = mixed.next_block(0); at != MixedPage::none;) {
    ++blocks;
    bytes += mixed.size_at(at);
    at = mixed.next_block(at + mixed.size_at(at));
  }
  return blocks == mixed.live_blocks() && bytes == mixed.live_bytes();
}

}  // namespace

bool heap_is_sound(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record));
  if (record.checks != nullptr) {
    checks_verify(record, "tarn_heap_check");
    return record.checks->spans.check() && record.checks->passed.check();
  }
  if (record.hardened) hardened_verify(record, "tarn_heap_check");
  bool sound = record.large.check() && is_sound(record.mixed);
  for_each_intact_thread_heap(record, [&](const ThreadHeap& thread_heap) noexcept {
    sound = sound && thread_heap_check(thread_heap);
  });
  return sound && for_each_page(record, [](const Page& page) noexcept {
                    return is_sound(page) ? 0 : 1;
                  }) == 0;
}

namespace {

int state_in_page(const Page& page, const void* p) noexcept {
  if (!page.is_block(p)) return TARN_HEAP_NOTHING;
  const std::size_t i = page.offset_of(p) / page.block_bytes;
  const FreeBlocks free(page);
  return i < free.carved() && !free.has(i) ? TARN_HEAP_LIVE : TARN_HEAP_FREE;
}

int state_in_mixed_page(const HeapRecord& record, const Page& page, const void* p) noexcept {
  const MixedPage& mixed = record.mixed;
  const std::size_t offset = page.offset_of(p);
  if (mixed.page != &page || offset % block_align != 0) return TARN_HEAP_NOTHING;
  const std::size_t around = mixed.block_around(offset);
  if (around == MixedPage::none) return TARN_HEAP_FREE;
  return around == offset ? TARN_HEAP_LIVE : TARN_HEAP_NOTHING;
}

int state_of_place(const Place& place, const void* p) noexcept {
  if (place.note == nullptr || place.start != p) return TARN_HEAP_NOTHING;
  return place.note->state() == NoteState::live ? TARN_HEAP_LIVE : TARN_HEAP_FREE;
}

// pre: held exclusively
int state_in(const HeapRecord& record, const void* p) noexcept {
  const Span* const span = find_span(p);
  const auto& page = *static_cast<const Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page:
      return record_of(span, p) == &record ? state_in_page(page, p) : TARN_HEAP_NOTHING;
    case SpanKind::large:
      if (span->base != p || record_of(span, p) != &record) break;
      return TARN_HEAP_LIVE;
    case SpanKind::mixed: return state_in_mixed_page(record, page, p);
    case SpanKind::checked:
    case SpanKind::lone:
      if (page.record_now() != &record) break;
      return state_of_place(place_around(&page, p), p);
    default: {
      std::size_t bytes = 0;
      if (passthrough_record(p, &bytes) == &record) return TARN_HEAP_LIVE;
    }
  }
  return TARN_HEAP_NOTHING;
}

}  // namespace

int heap_check(tarn_heap heap) noexcept {
  HeapRecord* const record = heap_lock(heap, "tarn_heap_check");
  if (record == nullptr) return -1;
  const bool sound = heap_is_sound(*record);
  leave_exclusive(*record);
  return sound ? 1 : 0;
}

int heap_look(tarn_heap heap, const void* p) noexcept {
  HeapRecord* const record = heap_lock(heap, "tarn_heap_look");
  if (record == nullptr) return -1;
  const bool is_address = address_of(p) >> address_bits == 0;
  const int state = is_address ? state_in(*record, p) : int{TARN_HEAP_NOTHING};
  leave_exclusive(*record);
  return state;
}

}  // namespace tarn
