// fixed: blocks of one exact size in a heap.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/fixed.hpp"

#include <cerrno>

#include "engine/records/tombstones.hpp"
#include "heaps/blocks/allocate.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/heap/registry.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

// The class behind a handle; null with EINVAL for the zero value. Reports one whose heap has ended.
FixedClass* live_fixed(tarn_fixed handle) noexcept {
  auto* const fixed = static_cast<FixedClass*>(handle.record);
  if (fixed == nullptr) {
    errno = EINVAL;
    return nullptr;
  }
  if (fixed->id.load(std::memory_order_relaxed) == handle.id) {
    TARN_ASSERT(fixed->block_bytes >= block_bytes_min && fixed->block_bytes <= block_bytes_max);
    return fixed;
  }
  char name[TARN_HEAP_NAME_BYTES];
  tombstones.name_of(fixed->heap_id, name);
  report_ended_heap("tarn_fixed_allocate", name, fixed->heap_id);
}

}  // namespace

tarn_fixed heap_fixed(tarn_heap heap, std::size_t bytes, std::size_t alignment) noexcept {
  HeapRecord* const record = live_record(heap, "tarn_heap_fixed");
  if (record == nullptr) return {};
  if (record == &main_record || bytes > block_bytes_max || !is_power_of_two(alignment) ||
      alignment > slice_bytes) {
    errno = EINVAL;
    return {};
  }
  const std::size_t at_least = bytes < block_bytes_min ? block_bytes_min : bytes;
  const std::size_t block_bytes = align_up(at_least, alignment);
  if (block_bytes > block_bytes_max) {
    errno = EINVAL;
    return {};
  }
  FixedClass* const fixed = registry.make_fixed(*record, heap.id, block_bytes);
  if (fixed == nullptr) return {};
  TARN_ASSERT(fixed->heap == record && fixed->block_bytes == block_bytes);
  return {fixed, fixed->id.load(std::memory_order_relaxed)};
}

void* fixed_allocate_slow(tarn_fixed handle, const void* site) noexcept {
  current_thread->inside.store(false, std::memory_order_release);
  const FixedClass* const fixed = live_fixed(handle);
  if (fixed == nullptr) return nullptr;
  const std::size_t bytes = fixed->block_bytes;
  const std::size_t natural = bytes & (~bytes + 1);  // The alignment of multiples of its size.
  return heap_allocate_slow({fixed->heap, fixed->heap_id},
                            {.bytes = bytes,
                             .alignment = natural < slice_bytes ? natural : slice_bytes,
                             .function = "tarn_fixed_allocate",
                             .fixed = fixed,
                             .site = site});
}

void* fixed_allocate_inside(tarn_fixed handle, Page* page) noexcept {
  const std::size_t bytes = static_cast<const FixedClass*>(handle.record)->block_bytes;
  TARN_ASSERT(page == no_page() || page->block_bytes == bytes);
  void* const block = refill_inside(page, bytes);
  return TARN_LIKELY(block != nullptr) ? block : fixed_allocate_slow(handle, nullptr);
}

}  // namespace tarn
