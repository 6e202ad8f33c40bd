// local_free: see local_free.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/local_free.hpp"

#include "engine/records/gate.hpp"
#include "engine/threads/cache_care.hpp"
#include "engine/threads/thread_heap.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "platform/base/check.hpp"

namespace tarn {

void deallocate_attention(Page* page) noexcept {
  TARN_ASSERT(page->countdown == 0 && page->heap->thread == current_thread);
  HeapRecord& record = *page->heap->record;
  for (;;) {
    {
      Busy busy(*current_thread);
      if (TARN_LIKELY(&record == &main_record)) {
        if (page->kept == 0 && is_mallocs(*page->heap)) {
          cache_note_emptied(*current_thread, page->size_class, page->capacity);
        }
        return page_attention(*page);
      }
      if (!exclusive_to_another(record)) {
        page_attention(*page);
        break;
      }
    }
    wait_at_gate(record);
  }
  tend_zone(record);
}

}  // namespace tarn
