// mailbox: pages of which other threads have freed blocks, on their way to the owner.
//
//   first -> page -> page -> ...        linked by `newer`; any thread pushes, the owner takes all
//
// A thread that frees pushes the page, and then looks whether its owner has ended. A thread that
// ends says so first, and then takes its mail. Both are sequentially consistent, so one of the two
// sees the other, and no page is left behind (docs/design/pages.md;
// tests/unit/engine/pages/model explores it).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/pages/page.hpp"
#include "platform/base/check.hpp"
#include "platform/base/counter.hpp"

namespace tarn {

class Mailbox {
 public:
  // Puts pages that are linked by `newer`, from the first to the last, in front of what is there.
  // None of them is in a mailbox. Any thread. O(1).
  void push(Page& first, Page& last) noexcept {
    TARN_ASSERT(leads_to(first, last));
    Page* after = first_.load(std::memory_order_relaxed);
    do {
      last.newer = after;
      // Release: pairs with take().
    } while (!first_.compare_exchange_weak(after, &first, std::memory_order_seq_cst,
                                           std::memory_order_relaxed));
  }

  // All that is there, the newest first, linked by `newer`; null when there is nothing. Acquire:
  // pairs with push().
  Page* take() noexcept { return first_.exchange(nullptr, std::memory_order_seq_cst); }

  // The first page, as a hint: one that another thread is pushing may be missed.
  Page* first() const noexcept { return first_.load(std::memory_order_relaxed); }
  bool is_empty() const noexcept { return first() == nullptr; }

  // For an owner that is about to sleep: sees every page that was pushed before the owner said that
  // it would.
  bool has_mail() const noexcept { return first_.load(std::memory_order_seq_cst) != nullptr; }

  // The next two: how often the owner has read its mail.
  void count_read() noexcept { reads_.add(1); }
  std::uint64_t reads() const noexcept { return reads_.read(); }

 private:
  // For assertions: false when a short chain does not end with `last`, or goes on to itself.
  static bool leads_to(const Page& first, const Page& last) noexcept {
    constexpr int steps_max = 16;
    const Span* page = &first;
    for (int i = 0; i < steps_max && page != &last; ++i) {
      page = page->newer;
      if (page == nullptr || page == &first) return false;
    }
    return true;
  }

  std::atomic<Page*> first_{nullptr};
  Counter reads_;
};

}  // namespace tarn
