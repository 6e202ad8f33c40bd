// life_clear: a heap ends, or begins anew, and its blocks are gone. Its memory goes back as a
// chain of spans; no block is touched.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/life.hpp"

#include <cerrno>

#include "engine/records/limits.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/records/tombstones.hpp"
#include "engine/records/totals.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/recovery.hpp"
#include "heaps/heap/registry.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "heaps/operations/check.hpp"
#include "heaps/operations/freeze.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"

namespace tarn {

namespace {

// What a destroyed heap leaves stays warm up to here: a heap per request is made and ended often.
constexpr std::size_t warm_bytes = std::size_t{1} << 20;

void wipe_all(const Span* chain) noexcept {
  for (const Span* s = chain; s != nullptr; s = s->next) wipe(s->base, s->bytes());
}

// pre: held exclusively. All memory of the heap, dead, as a chain, no longer charged.
Span* take_all(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record) && record.editing_lists);
  if (record.checks != nullptr) return checks_take_all(record);
  Span* chain = nullptr;
  for_each_intact_thread_heap(
      record, [&](ThreadHeap& thread_heap) noexcept { chain = take_apart(thread_heap, chain); });
  while (Span* const span = record.large.pop_front()) {
    totals.add_large(-static_cast<std::int64_t>(span->bytes()));
    static_cast<Page*>(span)->set_record(nullptr);  // The child of a fork finds large ones anew.
    span->next = chain;
    chain = span;
  }
  std::size_t charged = std::size_t{record.mixed.slices_charged} << slice_shift;
  for (const Span* s = chain; s != nullptr; s = s->next) charged += s->bytes();
  if (charged != 0) uncharge(record, charged);
  Page* const mixed = record.mixed.page;
  record.mixed.clear();
  if (mixed != nullptr) {
    mixed->set_record(nullptr);
    mixed->set_kind(SpanKind::large);  // In use by nobody until the store has it.
    mixed->next = chain;
    chain = mixed;
  }
  record.live_bytes.store(0, std::memory_order_relaxed);
  TARN_ASSERT(record.large.empty() && record.mixed.page == nullptr);
  record.young.store(!record.has_table(), std::memory_order_relaxed);
  return chain;
}

// For reports of blocks that are freed after their heap.
void remember_extent(std::uint64_t id, const Span* chain) noexcept {
  Extent extent;
  for (const Span* s = chain; s != nullptr; s = s->next) extent.add(s->base, s->bytes());
  tombstones.set_extent(id, extent);
}

}  // namespace

bool heap_clear(tarn_heap heap, bool ends, const char* function) noexcept {
  HeapRecord* const record = live_record(heap, function);
  if (record == nullptr || record == &main_record || record->everlasting) {
    errno = EINVAL;
    return false;
  }
  Span* chain = nullptr;
  SpanSource source;
  {
    ExclusiveSection exclusive(*record);
    if (record->walking || (is_frozen(*record) && !ends)) {
      errno = record->walking ? EBUSY : EPERM;
      return false;
    }
    if (record->id.load(std::memory_order_relaxed) != heap.id) live_record(heap, function);
    if (is_frozen(*record) && !thaw(*record)) return false;
    if (record->checks != nullptr) checks_verify(*record, function);
    if (ends && !registry.end_id(*record, heap.id)) live_record(heap, function);
    if (ends) forget_exclusive_depth(*record);
    // No thread frees meanwhile: a block that lives on has no heap.
    TARN_ASSERT_EVERY(16,
                      record->checks != nullptr || counts_may_be_off() || heap_is_sound(*record));
    tell_blocks_end(*record, false);
    {
      const EditingLists editing_lists(*record);
      chain = take_all(*record);
      if (ends) thread_heaps.give_all(*record);
    }
    if (ends && chain != nullptr) remember_extent(heap.id, chain);
    source = record->source;
    if (!source.is_store()) {  // Before somebody asks it for room that it has.
      if (record->secret && !ends) wipe_all(chain);
      source.zone()->give_all(chain);
      chain = nullptr;
      if (ends) record->source = {};
    }
  }
  if (ends) {
    if (record->checks != nullptr) checks_end(*record);
    registry.give(*record);
  }
  if (chain != nullptr) store.give_all(chain, warm_bytes);
  if (source.is_store()) return true;
  if (ends) {
    end_zone(source);
  } else {
    trim_zone(*record, heap.id, false);  // It may end meanwhile.
  }
  return true;
}

}  // namespace tarn
