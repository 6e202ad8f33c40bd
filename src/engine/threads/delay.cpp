// delay: see delay.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/delay.hpp"

#include <new>

#include "engine/store/store.hpp"
#include "engine/threads/post.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/process.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

TARN_COLD Delay* make_delay(Thread& thread) noexcept {
  void* const memory = store.allocate_record(sizeof(Delay));
  if (memory == nullptr) return nullptr;
  auto* const delay = new (memory) Delay;
  delay->random.seed(os::process_secret());
  thread.delay.store(delay, std::memory_order_release);  // Pairs with Delay::for_each().
  return delay;
}

}  // namespace

Block* delay_exchange(Thread& thread, Block* block, std::size_t block_bytes) noexcept {
  TARN_ASSERT(&thread == current_thread && &thread != no_thread());
  Delay* delay = thread.delay.load(std::memory_order_relaxed);
  if (TARN_UNLIKELY(delay == nullptr)) {
    delay = make_delay(thread);
    if (delay == nullptr) return block;
  }
  const bool is_wide = block_bytes > Delay::narrow_bytes_max;
  const std::size_t drawn = delay->random.next();
  const std::size_t place = is_wide ? Delay::narrow + drawn % Delay::wide : drawn % Delay::narrow;
  std::atomic<Block*>& at = delay->blocks[place];
  Block* const out = at.load(std::memory_order_relaxed);
  at.store(block, std::memory_order_relaxed);
  return out;
}

void delay_empty(Thread& thread) noexcept {
  Delay* const delay = thread.delay.load(std::memory_order_acquire);
  if (delay == nullptr) return;
  delay->for_each_place([](std::atomic<Block*>& place, Block* block) noexcept {
    place.store(nullptr, std::memory_order_relaxed);
    auto* const page = static_cast<Page*>(page_map.span_of(block));
    const auto* const first = reinterpret_cast<const std::byte*>(block);
    if (TARN_UNLIKELY(first_changed(first, first + sizeof(Block), freed_byte) != nullptr)) {
      report_broken_list(page->block_bytes, block->next);
    }
    free_remote(*page, block, block, 1);
  });
  for (Delay::Shelf& shelf : delay->shelves) shelf.count = 0;
}

}  // namespace tarn
