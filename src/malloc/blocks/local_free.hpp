// local_free: gives a block back to a page that the calling thread owns, past its cache.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "engine/records/thread.hpp"

namespace tarn {

void deallocate_attention(Page* page) noexcept;  // The countdown reached zero.

// True: the countdown has reached zero, and deallocate_attention() is due. pre: the page is the
// calling thread's own, and p is a block of it
TARN_INLINE bool deallocate_local(void* p, Page* page) noexcept {
  auto* const block = static_cast<Block*>(p);
  block->next = page->local_free;
  page->local_free = block;
  // The last access: a thread that sees the page empty may give it to another heap
  // (retire_empty_pages). The processor keeps the order of stores as far as that is waited for; the
  // compiler would not.
  std::atomic_signal_fence(std::memory_order_release);
  return TARN_UNLIKELY(--page->countdown == 0);
}

}  // namespace tarn
