// mixed_blocks: see mixed_blocks.hpp. MixedPage keeps the places; here are its span, its charge,
// and the locking.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/mixed_blocks.hpp"

#include "engine/records/gate.hpp"
#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "heaps/heap/registry.hpp"
#include "heaps/heap/zone_chunks.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

// After so many allocations a heap is worth pages of its own for each class that it comes to.
constexpr std::uint32_t mixed_allocations_max = 1024;

// Lock held. Makes sure of `slices` of the mixed page's span.
Attempt extend_mixed_page(HeapRecord& record, std::uint8_t slices) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && slices <= MixedPage::slices);
  MixedPage& mixed = record.mixed;
  if (mixed.slices_charged >= slices) return {Outcome::done, nullptr, nullptr};
  const std::size_t bytes = (std::size_t{slices} - mixed.slices_charged) << slice_shift;
  if (HeapRecord* const refused_by = charge(record, bytes)) {
    return {Outcome::refused, nullptr, refused_by};
  }
  if (mixed.page == nullptr) {
    Span* const span = record.source.take(MixedPage::slices, 1);
    if (span == nullptr) {
      cancel_charge(record, bytes);
      return {Outcome::out_of_memory, nullptr, nullptr};
    }
    auto* const page = static_cast<Page*>(span);
    page->owner.store(nullptr, std::memory_order_relaxed);
    page->record = &record;
    page->set_kind(SpanKind::mixed);
    record.source.map(page, true);
    mixed.page = page;
  }
  mixed.slices_charged = slices;
  return {Outcome::done, nullptr, nullptr};
}

// Lock held. The place at `offset` becomes a block.
Attempt hand_over(HeapRecord& record, std::size_t offset, std::size_t size_class,
                  const Request& request) noexcept {
  MixedPage& mixed = record.mixed;
  const std::size_t size = MixedPage::size_for(request.bytes);
  const Attempt reached =
      extend_mixed_page(record, static_cast<std::uint8_t>(slices_for(offset + size)));
  if (reached.outcome != Outcome::done) {
    mixed.cancel(offset, request.bytes);
    return reached;
  }
  TARN_ASSERT(mixed.page != nullptr && mixed.size_at(offset) == size);
  mixed.count(size_class, request.bytes);
  add_live(record, static_cast<std::int64_t>(size));
  thread_heaps.count_without_thread_heap(request.bytes);
  return {Outcome::done, mixed.page->base + offset, nullptr};
}

}  // namespace

bool mixed_has_room(HeapRecord& record, std::size_t size_class, const Request& request,
                    Attempt& attempt) noexcept {
  if (request.bytes > MixedPage::bytes_max) return false;
  os::Locked locked(record.lock);
  MixedPage& mixed = record.mixed;
  if (mixed.page == nullptr || keeps_off(record)) return false;
  const std::size_t offset = mixed.take(request.bytes, request.alignment);
  if (offset == MixedPage::none) return false;
  attempt = hand_over(record, offset, size_class, request);
  return attempt.outcome == Outcome::done;
}

Attempt mixed_allocate(HeapRecord& record, std::size_t size_class,
                       const Request& request) noexcept {
  TARN_ASSERT(record.lock.held_by_this_thread() && is_in_mixed_page(record, size_class));
  MixedPage& mixed = record.mixed;
  if (request.bytes > MixedPage::bytes_max || mixed.allocations >= mixed_allocations_max) {
    record.young.store(false, std::memory_order_relaxed);
    return {Outcome::again, nullptr, nullptr};
  }
  if (mixed.page == nullptr) {
    const Attempt made = extend_mixed_page(record, 1);
    if (made.outcome == Outcome::out_of_memory) {  // For a page there may be memory.
      record.young.store(false, std::memory_order_relaxed);
      return {Outcome::again, nullptr, nullptr};
    }
    if (made.outcome != Outcome::done) return made;
  }
  const std::size_t offset = mixed.take(request.bytes, request.alignment);
  if (offset == MixedPage::none) {
    mixed.leave(size_class);
    return {Outcome::again, nullptr, nullptr};
  }
  return hand_over(record, offset, size_class, request);
}

namespace {

// Takes the empty mixed page off the heap. pre: the record's lock is held
void take_off(HeapRecord& record) noexcept {
  MixedPage& mixed = record.mixed;
  TARN_ASSERT(record.lock.held_by_this_thread() && mixed.page != nullptr && mixed.empty());
  uncharge(record, std::size_t{mixed.slices_charged} << slice_shift);
  mixed.page = nullptr;
  mixed.slices_charged = 0;
}

}  // namespace

void mixed_retire(HeapRecord& record) noexcept {
  Page* page = nullptr;
  {
    os::Locked locked(record.lock);
    const MixedPage& mixed = record.mixed;
    if (mixed.page == nullptr || !mixed.empty()) return;
    if (empty_stays(record, std::size_t{mixed.slices_charged} << slice_shift)) return;
    page = mixed.page;
    take_off(record);
  }
  mixed_give(page, record.source);
}

// The bits say whether a block begins there; only blocks that are given back leave them.
void mixed_free(Page* page, void* p) noexcept {
  HeapRecord& record = *page->record;
  const std::size_t offset = page->offset_of(p);
  TARN_ASSERT(page->kind_now() == SpanKind::mixed && offset < page->bytes());
  bool deleted = false;
  {
    const LockedPastGate locked([&] { return &record; });
    report_if_frozen(record);
    MixedPage& mixed = record.mixed;
    const std::size_t size = mixed.page == page ? mixed.size_at(offset) : 0;
    if (size == 0) report_misuse(Misuse::double_free, "free", p);
    if (record.secret) wipe(p, size);
    mixed.give(offset);
    add_live(record, -static_cast<std::int64_t>(size));
    // A heap that has nothing else keeps it.
    const bool is_all = record.young.load(std::memory_order_relaxed) &&
                        record.first_thread_heap.load(std::memory_order_relaxed) == nullptr;
    if (is_all || !mixed.empty()) return;
    // Read here: the thread that deletes the heap looks for the mixed page in an exclusive section.
    deleted = record.id.load(std::memory_order_relaxed) == 0;
    if (!deleted && empty_stays(record, std::size_t{mixed.slices_charged} << slice_shift)) return;
    take_off(record);
    if (deleted) mixed.clear();  // Of what it has counted, too.
  }
  mixed_give(page, record.source);
  if (deleted) return registry.give(record);  // Its last memory.
  tend_zone(record);
}

bool mixed_resize(Page* page, void* p, std::size_t bytes) noexcept {
  HeapRecord& record = *page->record;
  TARN_ASSERT(page->kind_now() == SpanKind::mixed);
  const std::size_t offset = page->offset_of(p);
  os::Locked locked(record.lock);
  MixedPage& mixed = record.mixed;
  if (bytes > MixedPage::bytes_max || keeps_off(record)) return false;
  const std::size_t end = offset + (bytes == 0 ? 1 : bytes);
  const std::size_t reached = slices_for(end);
  if (reached > mixed.slices_charged) return false;  // Rare enough to be moved.
  const std::size_t before = mixed.size_at(offset);
  if (!mixed.resize(offset, bytes)) return false;
  const std::size_t after = mixed.size_at(offset);
  if (record.secret && after < before) wipe(page->base + offset + after, before - after);
  add_live(record, static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before));
  return true;
}

void mixed_give(Page* page, SpanSource source) noexcept {
  TARN_ASSERT(page->kind_now() == SpanKind::mixed);
  source.unmap(page, true);
  page->set_record(nullptr);
  page->set_kind(SpanKind::large);  // In use by nobody until the store has it.
  source.give(page);
}

std::size_t mixed_bytes(const Page* page, const void* p) noexcept {
  HeapRecord& record = *page->record;
  os::LockedUnlessHeld locked(record.lock);
  if (record.mixed.page != page) return 0;
  return record.mixed.size_at(page->offset_of(p));
}

bool mixed_is_free(const Page* page, const void* p) noexcept {
  HeapRecord& record = *page->record;
  os::LockedUnlessHeld locked(record.lock);
  const std::size_t offset = page->offset_of(p);
  if (record.mixed.page != page || offset % block_align != 0) return false;
  return record.mixed.block_around(offset) == MixedPage::none;
}

}  // namespace tarn
