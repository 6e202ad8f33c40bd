// page_seize: takes a page from its owner, which is not asked.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/page.hpp"
#include "platform/base/check.hpp"

namespace tarn {

bool page_seize(Page& page) noexcept {
  TARN_ASSERT(page.kind_now() == SpanKind::page);
  Remote seen{page.remote.load(std::memory_order_relaxed)};
  for (;;) {
    TARN_ASSERT(seen.state() != RemoteState::dead);
    if (is_in_mail(seen.state())) return false;
    // Acquire: what the last thread that freed here did.
    if (page.remote.compare_exchange_weak(seen.word, Remote::empty(RemoteState::dead).word,
                                          std::memory_order_acq_rel, std::memory_order_relaxed)) {
      return true;
    }
  }
}

bool page_seize_empty(Page& page, bool received) noexcept {
  TARN_ASSERT(page.kind_now() == SpanKind::page);
  Remote seen{page.remote.load(std::memory_order_acquire)};
  const std::uint32_t countdown = page.countdown;  // Read once, after the remote word.
  const std::uint32_t live = countdown + static_cast<std::uint32_t>(std::int32_t{page.kept});
  if (countdown == 0 || live != seen.count()) return false;
  const RemoteState state = seen.state();
  if (state != RemoteState::open && state != RemoteState::listed &&
      !(received && is_in_mail(state))) {
    return false;
  }
  return page.remote.compare_exchange_strong(seen.word, Remote::empty(RemoteState::dead).word,
                                             std::memory_order_acq_rel, std::memory_order_relaxed);
}

}  // namespace tarn
