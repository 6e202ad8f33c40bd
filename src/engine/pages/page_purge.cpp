// page_purge: a thread other than the owner gives back the memory of a page whose blocks are all
// free, in place. docs/design/pages.md has the protocol, and tests/unit/engine/pages/model explores
// it. That thread writes nothing of the page but the remote word, so a fork finds nothing
// half-done.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/page.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// True when others have freed every block that the owner counts as live. Acquire: pairs with
// page_count_all(), so that the sum is never too small. The owner may free blocks meanwhile: then
// it is too large, or right. pre: the page is not current
bool is_free(const Page* page, Remote seen) noexcept {
  const std::int32_t kept = page->kept.acquire();
  const std::uint32_t countdown = page->countdown;
  return kept >= 0 && countdown + static_cast<std::uint32_t>(kept) == seen.count();
}

Remote with_state(Remote word, RemoteState state) noexcept {
  return Remote::make(state, word.threshold(), word.count(), word.head());
}

// Back to mailed, with what others free meanwhile.
void give_up(Page* page) noexcept {
  Remote seen{page->remote.load(std::memory_order_relaxed)};
  TARN_ASSERT(seen.state() == RemoteState::purging);
  while (!page->remote.compare_exchange_weak(seen.word, with_state(seen, RemoteState::mailed).word,
                                             std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
  }
}

}  // namespace

bool page_begin_purge(Page* page) noexcept {
  Remote seen{page->remote.load(std::memory_order_acquire)};
  if (seen.state() != RemoteState::mailed || !is_free(page, seen)) return false;
  // Acquire: pairs with page_list() and with the frees.
  if (!page->remote.compare_exchange_strong(seen.word, with_state(seen, RemoteState::purging).word,
                                            std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return false;
  }
  // Once more: the page may have been its owner's current one in between, and the word the same
  // afterwards. From the swap on it is not.
  if (is_free(page, seen)) return true;
  give_up(page);
  return false;
}

void page_end_purge(Page* page) noexcept {
  const Remote seen{page->remote.load(std::memory_order_relaxed)};
  TARN_ASSERT(seen.state() == RemoteState::purging);
  // Release: pairs with the thread that takes the page out of this state.
  page->remote.store(Remote::make(RemoteState::purged, 0, seen.count(), 0).word,
                     std::memory_order_release);
}

void page_repair_purge(Page* page) noexcept {
  const Remote seen{page->remote.load(std::memory_order_relaxed)};
  if (seen.state() != RemoteState::purging) return;
  if (is_free(page, seen)) return page_end_purge(page);
  give_up(page);
}

bool page_has_no_lists(const Page* page) noexcept {
  const Remote seen{page->remote.load(std::memory_order_acquire)};
  return seen.state() == RemoteState::purged ||
         (seen.state() == RemoteState::purging && is_free(page, seen));
}

}  // namespace tarn
