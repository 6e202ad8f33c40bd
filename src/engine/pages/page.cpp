// page: see page.hpp. Orders: a remote free releases what its thread did with the block; the
// owner's collecting exchange acquires it. The owner's page_list releases what it wrote to the
// page, above all `owner` and `heap`; a remote free that posts has acquired it.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/page.hpp"

#include <initializer_list>
#include <new>

#include "engine/layout/page_plan.hpp"
#include "platform/base/check.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

// A carve makes an OS page of blocks, so that memory which is not reached is not touched. What was
// used before is resident, for the most part: there the next carves make more, for fewer refills.
constexpr std::size_t carve_bytes = slice_bytes;
constexpr std::size_t carve_bytes_next = page_slices_full * slice_bytes;

// A full page sleeps until this part of it is free again, so that a thread does not return to a
// page for a single block. Pages of few small blocks wait for more: there the visit is what costs.
constexpr std::uint32_t threshold_part = 8;
constexpr std::uint32_t small_threshold_part = 4;
constexpr std::uint32_t small_threshold_most = 8;

static_assert(page_blocks_most() <= remote_count_max && page_blocks_max == remote_count_max);

// Owner: makes a page whose contents are gone one of which nothing is carved.
void renew(Page* page) noexcept {
  TARN_ASSERT(page->kept >= 0);
  page->free = page->local_free = nullptr;
  page->countdown = 0;
  page->kept = 0;
  page->reserved = 0;  // Before `carved`: there are no more than were made.
  page->carved = 0;
  page->zeroed = true;
}

// The blocks that the owner has found in the word and taken out of it.
Collected received(Page* page, Remote seen) noexcept {
  if (TARN_UNLIKELY(seen.state() == RemoteState::purged)) {
    renew(page);
    return {};
  }
  if (seen.count() == 0) return {};
  TARN_ASSERT(seen.count() <= page->capacity);
  TARN_ASSERT(page->is_block(page->block_at(decode_head(seen.head()))));
  return {page->block_at(decode_head(seen.head())), seen.count()};
}

}  // namespace

Page* page_take(std::size_t size_class, std::size_t block_bytes, PageLength length,
                SpanSource source) noexcept {
  TARN_ASSERT(length.least != 0 && length.least <= length.most);
  TARN_ASSERT(block_bytes <= length.least * slice_bytes);
  static_assert(page_slices_longest <= small_slices_most, "no page would begin a huge page");
  const Fit fit = block_bytes <= wide_bytes_min ? Fit::small : Fit::warm;
  Span* const span = source.take_page(length.least, length.most, fit);
  if (span == nullptr) return nullptr;
  auto* const page = static_cast<Page*>(span);
  page->free = page->local_free = nullptr;
  TARN_ASSERT(span->slices >= length.least && block_bytes >= block_bytes_min);
  page->countdown = 0;
  page->kept = 0;
  page->block_bytes = static_cast<std::uint32_t>(block_bytes);
  page->capacity = static_cast<std::uint32_t>(span->bytes() / page->block_bytes);
  TARN_ASSERT(page->capacity != 0 && page->capacity <= remote_count_max);
  page->carved = 0;
  page->reserved = 0;
  page->live_seen = 0;
  page->size_class = static_cast<SizeClass>(size_class);
  page->queued = false;
  page->set_heap(nullptr);  // A large block may have left its record there.
  page->set_kind(SpanKind::page);
  page->remote.store(Remote::empty(RemoteState::open).word, std::memory_order_relaxed);
  source.map(page, true);
  TARN_ASSERT(page_check(page));
  return page;
}

void page_give(Page* page, SpanSource source) noexcept {
  TARN_ASSERT(page->live() == 0 && !page->queued && page->kind_now() == SpanKind::page);
  TARN_ASSERT(Remote{page->remote.load(std::memory_order_relaxed)}.state() == RemoteState::dead);
  page->owner.store(nullptr, std::memory_order_relaxed);
  page->set_heap(nullptr);
  page->set_kind(SpanKind::large);  // In use by nobody else until the store has it.
  source.unmap(page, true);
  source.give(page);
}

std::uint32_t page_carve(Page* page) noexcept {
  TARN_ASSERT(page->free == nullptr && page->carved < page->capacity);
  TARN_ASSERT(page->kind_now() == SpanKind::page && page->block_bytes >= block_bytes_min);
  const std::size_t size = page->block_bytes;
  const bool is_first = page->zeroed || page->carved == 0;
  const std::size_t bytes = is_first ? carve_bytes : carve_bytes_next;
  std::size_t count = size >= bytes ? 1 : bytes / size;
  const std::size_t rest = page->capacity - page->carved;
  if (count > rest) count = rest;

  std::byte* const first = page->base + page->carved * size;
  std::byte* const last = first + (count - 1) * size;
  for (std::byte* block = first; block != last; block += size) {
    reinterpret_cast<Block*>(block)->next = reinterpret_cast<Block*>(block + size);
  }
  reinterpret_cast<Block*>(last)->next = nullptr;
  page->free = reinterpret_cast<Block*>(first);
  page->carved += static_cast<std::uint32_t>(count);
  TARN_ASSERT(page->carved <= page->capacity);
  return static_cast<std::uint32_t>(count);
}

std::uint64_t page_untaken(const Page* page) noexcept {
  std::uint64_t count = 0;
  for (const Block* b = page->free; b != nullptr; b = b->next) ++count;
  return count;
}

Collected page_collect(Page* page, RemoteState state) noexcept {
  TARN_ASSERT(state == RemoteState::open || state == RemoteState::listed);
  // Acquire: pairs with page_free_remote. Release: publishes what the owner wrote to the next
  // thread that posts.
  const Remote seen{page->remote.exchange(Remote::empty(state).word, std::memory_order_acq_rel)};
  TARN_ASSERT(seen.state() != RemoteState::dead && seen.state() != RemoteState::purging);
  return received(page, seen);
}

namespace {

// The state after the owner has taken the blocks, when it wants `state` for a page that is not in
// the mail.
RemoteState emptied_state(RemoteState seen, RemoteState state) noexcept {
  if (TARN_LIKELY(!is_in_mail(seen))) return state;
  return seen == RemoteState::mailed_open ? seen : RemoteState::mailed;
}

}  // namespace

Collected page_collect_unless_mailed(Page* page, RemoteState state) noexcept {
  TARN_ASSERT(state == RemoteState::open || state == RemoteState::listed);
  Remote seen{page->remote.load(std::memory_order_relaxed)};
  for (;;) {
    TARN_ASSERT(seen.state() != RemoteState::dead);
    if (TARN_UNLIKELY(seen.state() == RemoteState::purging)) return {};
    const Remote emptied = Remote::empty(emptied_state(seen.state(), state));
    if (page->remote.compare_exchange_weak(seen.word, emptied.word, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
      return received(page, seen);
    }
  }
}

bool page_list(Page* page, std::uint32_t threshold) noexcept {
  TARN_ASSERT(threshold != 0 && threshold <= remote_count_max);
  Remote seen{page->remote.load(std::memory_order_relaxed)};
  const RemoteState state = seen.state();
  TARN_ASSERT(state != RemoteState::dead);
  if (TARN_UNLIKELY(state == RemoteState::purging)) return true;
  if (seen.count() != 0 || state == RemoteState::purged) return false;
  if (state == RemoteState::mailed) return true;
  const Remote listed = state == RemoteState::mailed_open
                            ? Remote::empty(RemoteState::mailed)
                            : Remote::make(RemoteState::listed, threshold, 0, 0);
  return page->remote.compare_exchange_strong(seen.word, listed.word, std::memory_order_acq_rel,
                                              std::memory_order_relaxed);
}

std::uint32_t page_threshold(const Page* page) noexcept {
  TARN_ASSERT(page->capacity != 0);
  std::uint32_t part = page->capacity / threshold_part;
  if (page->block_bytes <= linear_bytes_max && part < small_threshold_most) {
    part = page->capacity / small_threshold_part;
    if (part > small_threshold_most) part = small_threshold_most;
  }
  TARN_ASSERT(part <= page->capacity);
  return part == 0 ? 1 : part;
}

void page_settle(Page* page, bool received) noexcept {
  TARN_ASSERT(page->kept != -1);
  page_count_all(page);
  std::uint32_t threshold = 0;
  do {
    page_attach(page, received ? page_collect(page, RemoteState::open)
                               : page_collect_unless_mailed(page, RemoteState::open));
    const std::uint32_t live = page->live();
    const std::uint32_t full = page_threshold(page);
    threshold = live != 0 && live < full ? live : full;
  } while (!page_list(page, threshold));
  TARN_ASSERT(page->kept == 0);
}

bool page_open(Page* page) noexcept {
  Remote seen{page->remote.load(std::memory_order_relaxed)};
  for (;;) {
    TARN_ASSERT(seen.state() != RemoteState::dead);
    if (is_in_mail(seen.state())) return false;
    const Remote opened = Remote::make(RemoteState::open, 0, seen.count(), seen.head());
    if (page->remote.compare_exchange_weak(seen.word, opened.word, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
      return true;
    }
  }
}

bool page_use(Page* page) noexcept {
  Remote seen{page->remote.load(std::memory_order_relaxed)};
  for (;;) {
    const RemoteState state = seen.state();
    TARN_ASSERT(state != RemoteState::dead);
    if (TARN_UNLIKELY(state == RemoteState::purging)) return false;
    const bool purged = state == RemoteState::purged;
    const RemoteState used = is_in_mail(state) ? RemoteState::mailed_open : RemoteState::open;
    const Remote word =
        purged ? Remote::empty(used) : Remote::make(used, 0, seen.count(), seen.head());
    // Acquire: pairs with page_end_purge. Release: publishes what the owner wrote to a thread that
    // purges later.
    if (page->remote.compare_exchange_weak(seen.word, word.word, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
      if (TARN_UNLIKELY(purged)) renew(page);
      return true;
    }
  }
}

bool page_kill(Page* page) noexcept {
  Remote seen{page->remote.load(std::memory_order_relaxed)};
  if (seen.state() != RemoteState::listed || seen.count() != 0) return false;
  TARN_ASSERT(page->live() == 0);
  return page->remote.compare_exchange_strong(seen.word, Remote::empty(RemoteState::dead).word,
                                              std::memory_order_acq_rel, std::memory_order_relaxed);
}

RemoteFree page_free_remote(Page* page, Block* first, Block* last, std::uint32_t added) noexcept {
  TARN_ASSERT(added != 0 && (added != 1 || first == last));
  const std::size_t offset = page->offset_of(first);
  Remote seen{page->remote.load(std::memory_order_acquire)};
  for (;;) {
    if (TARN_UNLIKELY(seen.state() == RemoteState::dead)) return RemoteFree::dead;
    if (TARN_UNLIKELY(seen.state() == RemoteState::purged)) return RemoteFree::dead;
    TARN_ASSERT(page->is_block(first) && page->is_block(last));
    last->next = seen.count() == 0 ? nullptr : page->block_at(decode_head(seen.head()));
    const std::uint32_t count = seen.count() + added;
    TARN_ASSERT(count <= page->capacity);
    const bool posts = seen.state() == RemoteState::listed && count >= seen.threshold();
    const Remote pushed = Remote::make(posts ? RemoteState::mailed : seen.state(), seen.threshold(),
                                       count, encode_head(offset));
    // Release: pairs with the owner's collecting exchange. Acquire: pairs with page_list.
    if (page->remote.compare_exchange_weak(seen.word, pushed.word, std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
      return posts ? RemoteFree::post : RemoteFree::done;
    }
  }
}

Block* page_list_end(const Page& page, Block* first, std::uint32_t count) noexcept {
  TARN_ASSERT(count != 0 && page.is_block(first));
  Block* last = first;
  while (--count != 0) {
    Block* const next = last->next;
    if (TARN_UNLIKELY(!page.is_block(next))) report_broken_list(page.block_bytes, next);
    last = next;
  }
  if (TARN_UNLIKELY(last->next != nullptr)) report_broken_list(page.block_bytes, last->next);
  return last;
}

void page_attach(Page* page, Collected collected) noexcept {
  if (collected.count == 0) return;
  TARN_ASSERT(page->is_block(collected.head) && page->countdown >= collected.count);
  page->countdown -= collected.count;
  if (page->local_free != nullptr) {
    page_list_end(*page, collected.head, collected.count)->next = page->local_free;
  }
  page->local_free = collected.head;
}

bool page_check(const Page* page) noexcept {
  if (page_has_no_lists(page)) return page->carved <= page->capacity;
  std::uint32_t listed = 0;
  for (const Block* list : std::initializer_list<const Block*>{page->free, page->local_free}) {
    for (const Block* b = list; b != nullptr; b = b->next) {
      if (!page->is_block(b) || ++listed > page->carved) return false;
    }
  }
  if (page->carved > page->capacity) return false;
  // A purge that began meanwhile took what the lists led through.
  return page->reserved + page->live() + listed == page->carved || page_has_no_lists(page);
}

}  // namespace tarn
