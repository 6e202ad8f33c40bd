// mailbox: pages of which other threads have freed blocks, on their way to the owner.
//
//   first -> page -> page -> ...        linked by `newer`; any thread pushes, the owner takes all
//
// A thread that frees pushes the page, and then looks whether its owner has ended. A thread that
// ends says so first, and then takes its mail. Both are sequentially consistent, so one of the two
// sees the other, and no page is left behind (docs/design/pages.md; its model is
// tests/unit/engine/pages/model).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/pages/page.hpp"
#include "platform/base/counter.hpp"

namespace tarn {

class Mailbox {
 public:
  // Puts pages that are linked by `newer`, from the first to the last, in front of what is there.
  // Any thread. O(1).
  void push(Page& first, Page& last) noexcept {
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

  // A hint: a page that another thread is pushing may be missed.
  Page* first() const noexcept { return first_.load(std::memory_order_relaxed); }
  bool is_empty() const noexcept { return first() == nullptr; }

  // For an owner that is about to sleep: sees every page that was pushed before the owner said so.
  bool has_mail() const noexcept { return first_.load(std::memory_order_seq_cst) != nullptr; }

  // How often the owner has read its mail.
  void count_read() noexcept { reads_.add(1); }
  std::uint64_t reads() const noexcept { return reads_.read(); }

 private:
  std::atomic<Page*> first_{nullptr};
  Counter reads_;
};

}  // namespace tarn
