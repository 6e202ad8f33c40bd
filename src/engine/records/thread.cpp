// thread: what hot paths read before a thread has a record: pages and owners that are nobody's.
//
// SPDX-License-Identifier: MIT
#include "engine/records/thread.hpp"

#include "engine/records/record.hpp"
#include "platform/os/process.hpp"

namespace tarn {

constinit const Page empty_page{};

namespace {
constexpr std::array<Page*, class_count> no_pages() noexcept {
  std::array<Page*, class_count> pages{};
  pages.fill(const_cast<Page*>(&empty_page));
  return pages;
}
}  // namespace

// Nothing asks this one for pages: a pointer in each place would be work at each start.
constinit Serving empty_view{{}, {.current = {}, .record = &main_record}};
constinit Thread empty_thread{{{}, {.current = no_pages(), .record = &main_record}}};
constinit Nobody locked_nobody;
constinit Nobody frozen_nobody;
constinit Nobody lost_nobody;
constinit Nobody hardened_nobody;

__thread Thread* current_thread = &empty_thread;
__thread Serving* current_serving = &empty_thread;

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

constinit std::atomic<bool> is_child_of_fork{false};

#ifdef TARN_DEBUG
bool mail_check(const Thread& thread, const Page* first) noexcept {
  constexpr int pages_max = 64;
  const Span* span = first;
  for (int i = 0; span != nullptr && i < pages_max; span = span->newer, ++i) {
    const auto* const page = static_cast<const Page*>(span);
    const Remote seen{page->remote.load(std::memory_order_relaxed)};
    if (page->kind_now() != SpanKind::page || !is_in_mail(seen.state())) return false;
    if (page->heap_now() == nullptr || page->heap_now()->thread != &thread) return false;
  }
  return true;
}

namespace {
constinit std::atomic<std::uint64_t> first_process{0};  // The first one that asked.
}  // namespace

bool counts_may_be_off() noexcept {
  if (is_child_of_fork.load(std::memory_order_relaxed)) return true;
  const std::uint64_t now = os::process_id();
  std::uint64_t known = 0;
  return !first_process.compare_exchange_strong(known, now, std::memory_order_relaxed) &&
         known != now;
}
#endif

}  // namespace tarn
