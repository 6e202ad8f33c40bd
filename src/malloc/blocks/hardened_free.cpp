// hardened_free: see hardened_free.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/hardened_free.hpp"

#include "engine/threads/delay.hpp"
#include "engine/threads/post.hpp"
#include "heaps/hardened/hardened.hpp"
#include "malloc/blocks/local_free.hpp"

namespace tarn {

namespace {

// To its page. Of what it was when its thread held it back only the first word is looked at here.
void give(Block* block, const void* site) noexcept {
  auto* const page = static_cast<Page*>(page_map.span_of(block));
  Delay* const delay = current_thread->delay.load(std::memory_order_relaxed);
  if (TARN_LIKELY(delay != nullptr) && delay->put(page->size_class, block)) return;
  hardened_leave(*page, block, site);
  if (TARN_LIKELY(is_hardened(*page) && page->heap_now()->thread == current_thread)) {
    if (deallocate_local(block, page)) deallocate_attention(page);
  } else {
    free_remote(*page, block, block, 1);
  }
}

}  // namespace

void hardened_free(Page& page, void* p, Said said, const void* site) noexcept {
  hardened_end(page, p, said, site);
  auto* out = static_cast<Block*>(p);
  if (TARN_LIKELY(current_thread != no_thread())) {
    out = delay_exchange(*current_thread, out, page.block_bytes);
    if (out == nullptr) return;
  }
  give(out, site);
}

}  // namespace tarn
