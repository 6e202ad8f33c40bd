// life_delete: a heap ends and its blocks stay. Its pages remain with the threads that own
// them, in thread heaps that now count as malloc's but serve nobody; each page goes back when its
// last block does, and each thread heap with its last page. Large blocks change their record; a
// mixed page keeps its own.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/life.hpp"

#include <cerrno>

#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "heaps/heap/recovery.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// All but the mixed page, which stays charged.
void disown(HeapRecord& record) noexcept {
  TARN_ASSERT(exclusive_to_this_thread(record) && record.source.is_store());
  std::size_t charged = 0;
  std::int64_t live = 0;
  for_each_intact_thread_heap(record,
                              [](ThreadHeap& thread_heap) noexcept { publish_live(thread_heap); });
  for_each_page(record, [&](const Page& page) noexcept {
    charged += page.bytes();
    live += std::int64_t{page.live_seen} * page.block_bytes;
    return 0;
  });
  while (Span* const span = record.large.pop_front()) {
    charged += span->bytes();
    live += static_cast<std::int64_t>(span->bytes());
    static_cast<Page*>(span)->set_record(&main_record);
  }
  add_live(main_record, live);
  if (charged != 0) uncharge(record, charged);
  record.young.store(false, std::memory_order_relaxed);
}

// The empty mixed page, or null where there is none, and what it has counted: the record's next
// heap has one of its own.
Page* take_mixed_page_off(HeapRecord& record) noexcept {
  MixedPage& mixed = record.mixed;
  Page* const page = mixed.page;
  if (page != nullptr) uncharge(record, std::size_t{mixed.slices_charged} << slice_shift);
  mixed.clear();
  return page;
}

}  // namespace

bool heap_delete(tarn_heap heap) noexcept {
  HeapRecord* const record = heap_lock(heap, "tarn_heap_delete");
  if (record == nullptr) return false;
  if (record->walking || is_frozen(*record) || !record->source.is_store() || record->everlasting) {
    errno = record->everlasting  ? EINVAL
            : record->walking    ? EBUSY
            : is_frozen(*record) ? EPERM
                                 : ENOTSUP;
    leave_exclusive(*record);
    return false;
  }
  forget_exclusive_depth(*record);
  record->limits.set_floor(0);
  flush_thread_heaps_at_hand(*record);
  {
    const EditingLists editing_lists(*record);
    registry.end_id(*record, heap.id);
    disown(*record);
    thread_heaps.give_all(*record);
  }
  Page* const empty = record->mixed.empty() ? take_mixed_page_off(*record) : nullptr;
  bool over = record->mixed.page == nullptr;
  if (record->checks != nullptr) over = checks_disown(*record);
  tell_blocks_end(*record, true);  // Not before the blocks are malloc's: it needs no gate.
  leave_exclusive(*record);
  if (empty != nullptr) mixed_give(empty, {});
  if (!over) return true;
  TARN_ASSERT(record->large.empty() && record->mixed.page == nullptr);
  if (record->checks != nullptr) checks_end(*record);
  registry.give(*record);
  return true;
}

}  // namespace tarn
