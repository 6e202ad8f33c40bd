// idle_purge: see idle_purge.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/upkeep/idle_purge.hpp"

#include "engine/records/record.hpp"
#include "engine/store/store.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/post.hpp"
#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

constinit IdlePurge idle_purge;
constinit std::atomic<const KeptBlocks*> kept_blocks{nullptr};

namespace {

// What the first round purges; the owner cannot reach it meanwhile. Each further round purges twice
// as much as the one before: it walks past all pages that are in front.
constexpr std::size_t round_bytes_first = std::size_t{16} << 20;

// The most that a look gives back unless it is to purge at once: some milliseconds of the OS.
constexpr std::size_t step_bytes = std::size_t{64} << 20;

// Mail to which nothing new has come may still have pages that became empty. It is looked at every
// so many times.
constexpr std::uint32_t looks_passed = 8;

// Pages that are neighbours and are being purged, linked by `newer`. The one that was added last is
// the lowest or the highest.
struct Run {
  Page* pages = nullptr;
  std::byte* start = nullptr;
  std::byte* end = nullptr;

  // False when the page is no neighbour.
  bool add(Page* page) noexcept {
    TARN_ASSERT(Remote{page->remote.load(std::memory_order_relaxed)}.state() ==
                RemoteState::purging);
    if (pages == nullptr) {
      start = page->base;
      end = page->end();
    } else if (page->base == end) {
      end = page->end();
    } else if (page->end() == start) {
      start = page->base;
    } else {
      return false;
    }
    page->newer = pages;
    pages = page;
    return true;
  }
};

// Returns how many bytes have gone.
std::size_t purge_run(Thread& owner, const Run& run) noexcept {
  TARN_ASSERT(run.pages != nullptr && run.start < run.end);
  const auto bytes = static_cast<std::size_t>(run.end - run.start);
  TARN_ASSERT(bytes % slice_bytes == 0);
  const bool purged = os::vm_purge(run.start, bytes);
  // Where the OS refuses, only the lists have gone.
  for (Page* page = run.pages; page != nullptr; page = static_cast<Page*>(page->newer)) {
    page_end_purge(page);
  }
  return_mail(owner, run.pages);
  if (!purged) return 0;
  store.count_purged(bytes);
  return bytes;
}

// A chain of pages that are being purged.
std::size_t purge_chain(Thread& owner, Page* chain) noexcept {
  std::size_t given = 0;
  Run run;
  while (chain != nullptr) {
    Page* const page = chain;
    chain = static_cast<Page*>(page->newer);
    if (run.add(page)) continue;
    given += purge_run(owner, run);
    run = {};
    run.add(page);
  }
  return run.pages == nullptr ? given : given + purge_run(owner, run);
}

// Only pages of heaps that serve malloc are purged: another heap's memory may not be the OS's, and
// that heap may be held exclusively, walked or frozen. (What walks a hardened heap sees in a page
// that goes meanwhile blocks without a seal, so free ones.) A page in the mail stays its heap's,
// unless that becomes malloc's.
bool may_be_purged(const Page& page) noexcept {
  const HeapRecord& record = *page.heap_now()->record;
  return &record == &main_record || record.hardened;
}

// Takes pages out of the chain, for which a purge has begun, until they have `wanted` bytes. False
// when all of the chain has been looked at.
bool take_free_pages(Page** chain, Page** taken, std::size_t wanted) noexcept {
  TARN_ASSERT(wanted != 0 && *taken == nullptr);
  std::size_t bytes = 0;
  Page* before = nullptr;
  for (Page* page = *chain; page != nullptr;) {
    auto* const next = static_cast<Page*>(page->newer);
    if (may_be_purged(*page) && page_begin_purge(page)) {
      if (before == nullptr) {
        *chain = next;
      } else {
        before->newer = next;
      }
      TARN_ASSERT(page->heap_now()->thread != current_thread);
      page->newer = *taken;
      *taken = page;
      bytes += page->bytes();
      if (bytes >= wanted) return true;
    } else {
      before = page;
    }
    page = next;
  }
  return false;
}

// True when the owner has not looked at its mail since the last look of others at it.
bool is_due(Thread& owner) noexcept {
  TARN_ASSERT(&owner != current_thread);
  MailLook& look = owner.mail_look;
  const Page* const first = owner.mail.first();
  if (first == nullptr) return false;
  const std::uint64_t reads = owner.mail.reads();
  if (reads != look.reads) {
    look = {reads, nullptr, 0};
    return false;
  }
  if (first != look.first) return true;
  look.passed = (look.passed + 1) % looks_passed;
  return look.passed == 0;
}

}  // namespace

std::size_t IdlePurge::serve(Thread& owner, std::size_t most_bytes) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && served_ == nullptr);
  std::size_t given = 0;
  owner.mail_look.first = nullptr;
  std::size_t round = round_bytes_first;
  for (bool has_more = true; has_more && given < most_bytes; round *= 2) {
    served_ = &owner;
    TARN_FORK_FENCE();
    Page* mail = owner.mail.take();
    TARN_ASSERT_EVERY(16, mail_check(owner, mail));
    Page* taken = nullptr;
    const std::size_t rest = most_bytes - given;
    has_more = take_free_pages(&mail, &taken, rest < round ? rest : round);
    if (mail != nullptr) return_mail(owner, mail);
    given += purge_chain(owner, taken);
    TARN_FORK_FENCE();
    served_ = nullptr;
    // A page that was posted a moment ago may be taken for one that was looked at: it is passed
    // over a few times.
    if (!has_more) owner.mail_look.first = owner.mail.first();
  }
  return given;
}

std::size_t IdlePurge::purge_locked(bool at_once) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  const std::size_t most = at_once ? SIZE_MAX : step_bytes;
  std::size_t given = 0;
  for (Thread* t = orphans.first_known(); t != nullptr && given < most; t = t->next_known) {
    // The thread that posts to an orphan has its mail read. Nothing is certain about a lost thread.
    if (t == current_thread || t->state.load(std::memory_order_relaxed) != ThreadState::live) {
      continue;
    }
    const bool wanted = at_once ? !t->mail.is_empty() : is_due(*t);
    if (wanted) given += serve(*t, most - given);
  }
  return given;
}

bool IdlePurge::is_there() noexcept {
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    if (t->state.load(std::memory_order_relaxed) == ThreadState::live && t->mail.has_mail()) {
      return true;
    }
  }
  return false;
}

std::size_t IdlePurge::purge(bool at_once) noexcept {
  TARN_ASSERT(!orphans.lock().held_by_this_thread() && !store.lock().held_by_this_thread());
  if (lock_.held_by_this_thread()) return 0;  // In a signal handler.
  if (at_once) {
    lock_.lock();
  } else if (!lock_.try_lock()) {
    return 0;
  }
  const std::size_t given = purge_locked(at_once);
  lock_.unlock();
  return given;
}

}  // namespace tarn
