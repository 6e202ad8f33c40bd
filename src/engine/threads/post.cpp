// post: see post.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/post.hpp"

#include "engine/store/store.hpp"
#include "engine/threads/orphan_care.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// Sequentially consistent with the push: either this thread sees that the owner has ended, or the
// one that ends it sees the mail.
void serve_if_ended(Thread& owner) noexcept {
  if (owner.state.load(std::memory_order_seq_cst) == ThreadState::orphan) orphan_serve(owner);
}

}  // namespace

void post(Page* page) noexcept {
  TARN_ASSERT(is_in_mail(Remote{page->remote.load(std::memory_order_relaxed)}.state()));
  // State mailed holds the owner still: nobody but the receiver moves the page on. The owner was
  // acquired with the remote word.
  Thread* const owner = thread_of(*page);
  TARN_ASSERT(owner != nullptr && owner != no_thread() && owner != &frozen_owner);
  owner->mail.push(*page, *page);
  store.purger.ring();  // The push comes before its load: a sleeper has looked for mail before.
  serve_if_ended(*owner);
}

void free_remote(Page& page, Block* first, Block* last, std::uint32_t count) noexcept {
  if (page_free_remote(&page, first, last, count) == RemoteFree::post) post(&page);
}

void return_mail(Thread& owner, Page* pages) noexcept {
  TARN_ASSERT(pages != nullptr);
  TARN_ASSERT_EVERY(16, mail_check(owner, pages));
  Page* last = pages;
  while (last->newer != nullptr) last = static_cast<Page*>(last->newer);
  owner.mail.push(*pages, *last);
  serve_if_ended(owner);
}

}  // namespace tarn
