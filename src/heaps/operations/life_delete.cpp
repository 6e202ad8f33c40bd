// life_delete: a heap ends and its blocks stay. Its pages remain with the threads that own
// them, in shares that now count as malloc's but serve nobody; each page goes back when its last
// block does, and each share with its last page. Large blocks change their record; a nursery keeps
// its own.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/life.hpp"

#include <cerrno>

#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/shares.hpp"
#include "engine/threads/closed_share.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "heaps/heap/recovery.hpp"
#include "heaps/heap/registry.hpp"

namespace tarn {

namespace {

// All but the nursery, which stays charged.
void disown(HeapRecord& record) noexcept {
  std::size_t charged = 0;
  std::int64_t live = 0;
  for_each_sound_share(record, [](ThreadHeap& share) noexcept { publish_live(share); });
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

// The empty nursery, or null where there is none, and what it has counted: the record's next heap
// has one of its own.
Page* take_nursery_off(HeapRecord& record) noexcept {
  Nursery& nursery = record.nursery;
  Page* const page = nursery.page;
  if (page != nullptr) uncharge(record, std::size_t{nursery.slices_charged} << slice_shift);
  nursery.clear();
  return page;
}

}  // namespace

bool heap_delete(tarn_heap heap) noexcept {
  HeapRecord* const record = heap_lock(heap, "tarn_heap_delete");
  if (record == nullptr) return false;
  if (record->walking || is_frozen(*record) || record->zone != nullptr) {
    errno = record->walking ? EBUSY : is_frozen(*record) ? EPERM : ENOTSUP;
    open_heap(*record);
    return false;
  }
  unnest_closings(*record);
  record->limits.set_floor(0);
  put_down_shares_at_hand(*record);
  {
    const Losing losing(*record);
    registry.end_id(*record, heap.id);
    disown(*record);
    shares.give_all(*record);
  }
  Page* const empty = record->nursery.empty() ? take_nursery_off(*record) : nullptr;
  bool over = record->nursery.page == nullptr;
  if (record->checks != nullptr) over = checks_disown(*record);
  tell_blocks_end(*record, true);  // Not before the blocks are malloc's: it needs no gate.
  open_heap(*record);
  if (empty != nullptr) nursery_give(empty, nullptr);
  if (!over) return true;
  checks_end(*record);
  registry.give(*record);
  return true;
}

}  // namespace tarn
