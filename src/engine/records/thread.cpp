// thread: what hot paths read before a thread has a record: pages and owners that are nobody's.
//
// SPDX-License-Identifier: MIT
#include "engine/records/thread.hpp"

#include "engine/records/record.hpp"

namespace tarn {

constinit const Page empty_page{};

namespace {
constexpr std::array<Page*, class_count> no_pages() noexcept {
  std::array<Page*, class_count> pages{};
  pages.fill(const_cast<Page*>(&empty_page));
  return pages;
}
}  // namespace

constinit Thread empty_thread{.heap = {.current = no_pages(), .record = &main_record}};
constinit ThreadHeap empty_view{.current = no_pages(), .record = &main_record};
constinit Thread locked_owner{.heap = {.current = no_pages(), .record = &main_record}};
constinit Thread frozen_owner{.heap = {.current = no_pages(), .record = &main_record}};
constinit Thread lost_owner{.heap = {.current = no_pages(), .record = &main_record},
                            .state = ThreadState::lost};

__thread Thread* current_thread = &empty_thread;
__thread ThreadHeap* current_heap = &empty_thread.heap;

__thread bool thread_is_ending = false;

bool serves_nothing(const ThreadHeap& heap) noexcept {
  for (const Page* const page : heap.current) {
    if (page != no_page()) return false;
  }
  for (std::size_t c = 0; c < bin_count; ++c) {
    const Bin* const bin = heap.find_bin(c);
    if (bin != nullptr && (bin->current != no_page() || bin->entries.end != 0)) return false;
  }
  return true;
}

}  // namespace tarn
