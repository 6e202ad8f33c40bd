// default_heap: see default_heap.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/default_heap.hpp"

#include "engine/records/thread_default.hpp"
#include "engine/threads/delay.hpp"
#include "engine/threads/thread_life.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/handle.hpp"
#include "malloc/process/process.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// A block and where it is from; null when there is none at hand, as when another thread holds the
// heap exclusively.
Block* take_at_hand(std::size_t size_class, std::size_t bytes, From* from) noexcept {
  Thread* const thread = current_thread;
  const tarn_heap heap = default_heap;
  const HeapRecord& record = *static_cast<const HeapRecord*>(heap.record);
  const HeapSlot& slot = thread->slots[heap.id % heap_slots];
  thread->inside.store(true, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Block* block = nullptr;
  if (TARN_LIKELY(slot.id.load(std::memory_order_relaxed) == slot_id(record, heap.id))) {
    Delay* const delay = thread->delay.load(std::memory_order_relaxed);
    if (TARN_LIKELY(delay != nullptr)) block = delay->take(size_class);
    *from = block != nullptr ? From::shelf : From::page;
    if (block == nullptr) {
      Page* const page = slot.current[size_class];
      if (TARN_UNLIKELY(page->free == nullptr)) {
        return static_cast<Block*>(refill_inside(page, bytes));
      }
      block = hardened_pop(*page);
    }
  }
  thread->inside.store(false, std::memory_order_release);
  return block;
}

}  // namespace

void* hardened_at_hand(std::size_t bytes, Family family, const void* site) noexcept {
  if (TARN_UNLIKELY(bytes > block_bytes_max - seal_bytes)) return nullptr;
  From from{};
  const std::size_t sealed_bytes = hardened_bytes(bytes);
  Block* const block = take_at_hand(class_of(sealed_bytes), sealed_bytes, &from);
  if (TARN_UNLIKELY(block == nullptr)) return nullptr;
  if (TARN_UNLIKELY(!process.remembers_families())) family = Family::any;
  const auto& page = *static_cast<const Page*>(page_map.span_of(block));
  hardened_begin(page, block, from, bytes, Origin(family, block_align), site);
  return block;
}

void* default_heap_allocate(const Request& request) noexcept {
  TARN_ASSERT(has_default_heap() && default_heap.id != 0 && is_power_of_two(request.alignment));
  Request wanted = request;
  if (!process.remembers_families()) wanted.family = Family::any;
  if (wanted.alignment > block_align || wanted.zero) {
    return heap_allocate_slow(default_heap, wanted);
  }
  return heap_allocate(default_heap, wanted.bytes, wanted.function, wanted.site, wanted.family);
}

tarn_heap heap_set_default(tarn_heap heap) noexcept {
  const tarn_heap before = has_other_default_heap() ? default_heap : main_record.handle();
  if (heap.record == nullptr || heap.record == &main_record) {
    serve_as_process();
    return before;
  }
  if (live_record(heap, "tarn_heap_set_default") == nullptr) return {};
  // A thread that starts afterwards would reset it.
  if (!thread_is_ending) process.start();
  if (current_thread == no_thread() && !thread_is_ending) thread_start();
  default_heap = heap;
  current_serving = &empty_view;
  return before;
}

}  // namespace tarn
