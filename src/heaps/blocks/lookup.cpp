// lookup: see lookup.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/lookup.hpp"

#include "engine/records/tombstones.hpp"
#include "engine/threads/orphans.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/passthrough.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/mixed_blocks.hpp"
#include "platform/base/check.hpp"
#include "platform/report/misuse.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

void report_in_heap(const Span* span, Misuse kind, const char* function, const void* p) noexcept {
  tombstones.report_if_known(function, p);  // Of a heap that had the memory before.
  const HeapRecord* const record = record_of(span, p);
  const std::uint64_t id = record->id.load(std::memory_order_relaxed);
  if (record == &main_record || id == 0) report_misuse(kind, function, p);
  report_misuse_in(kind, function, p, record->name, id);
}

// Where the page map has no root for an address there is no block either. (The hit path of free has
// no instruction left for that question.)
Span* span_of_other_block(const void* p, const char* function) noexcept {
  if (TARN_UNLIKELY(address_of(p) >> address_bits != 0)) {
    tombstones.report(Misuse::invalid_free, function, p);
  }
  Span* const span = find_span(p);
  switch (span->kind_now()) {
    case SpanKind::page:
      if (static_cast<Page*>(span)->is_block(p)) return span;
      if (is_hardened(*static_cast<Page*>(span))) {
        report_in_hardened(*static_cast<Page*>(span), p, {function, nullptr});
      }
      report_in_heap(span, Misuse::invalid_free, function, p);
    case SpanKind::large:
      if (span->base == p) return span;
      break;
    case SpanKind::mixed:
      if (mixed_bytes(static_cast<const Page*>(span), p) != 0) return span;
      report_in_heap(span,
                     mixed_is_free(static_cast<const Page*>(span), p) ? Misuse::double_free
                                                                      : Misuse::invalid_free,
                     function, p);
    case SpanKind::checked:
    case SpanKind::lone: return span;
    case SpanKind::dirty:
    case SpanKind::clean:
    case SpanKind::purging:
    case SpanKind::unmapping:
    case SpanKind::kept:
    case SpanKind::lost: tombstones.report(Misuse::double_free, function, p);
    case SpanKind::moving:
    case SpanKind::notes: break;
    case SpanKind::idle: {
      std::size_t bytes = 0;
      if (passthrough_record(p, &bytes) != nullptr) return span;
      break;
    }
  }
  tombstones.report(Misuse::invalid_free, function, p);
}

std::size_t usable_bytes(const void* p, const char* function, const void* site) noexcept {
  if (p == nullptr) return 0;
  return usable_bytes_in(span_of_block(p, function), p, {function, site});
}

std::size_t usable_bytes_in(Span* span, const void* p, const FreeCall& given) noexcept {
  auto* const page = static_cast<Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page:
      TARN_ASSERT(page->is_block(p));
      return is_hardened(*page) ? hardened_usable(*page, p, given) : page->block_bytes;
    case SpanKind::mixed: return mixed_bytes(page, p);
    case SpanKind::checked:
    case SpanKind::lone: return checks_bytes(page, p, given);
    case SpanKind::idle: {
      std::size_t bytes = 0;
      passthrough_record(p, &bytes);
      return bytes;
    }
    default:
      TARN_ASSERT(span->kind_now() == SpanKind::large);
      return page->record_now()->hardened ? hardened_usable(*page, p, given) : span->bytes();
  }
}

HeapRecord* record_of_passed(const void* p) noexcept {
  std::size_t bytes = 0;
  HeapRecord* const record = passthrough_record(p, &bytes);
  if (record == nullptr) report_misuse(Misuse::invalid_pointer, "realloc", p);
  return record;
}

bool is_known(const void* p) noexcept {
  if (address_of(p) >> address_bits != 0) return false;
  if (find_span(p)->kind_now() != SpanKind::idle) return true;
  std::size_t bytes = 0;
  return passthrough_record(p, &bytes) != nullptr;
}

tarn_heap heap_of(const void* p) noexcept {
  if (address_of(p) >> address_bits != 0) return {};
  Span* const span = find_span(p);
  auto* const page = static_cast<Page*>(span);
  switch (span->kind_now()) {
    case SpanKind::page: return page->is_block(p) ? handle_of(span, p) : tarn_heap{};
    case SpanKind::large: return span->base == p ? handle_of(span, p) : tarn_heap{};
    case SpanKind::mixed: return mixed_bytes(page, p) != 0 ? handle_of(span, p) : tarn_heap{};
    case SpanKind::checked:
    case SpanKind::lone: return checks_has(page, p) ? handle_of(span, p) : tarn_heap{};
    case SpanKind::idle: {
      std::size_t bytes = 0;
      HeapRecord* const record = passthrough_record(p, &bytes);
      if (record == nullptr) break;
      const tarn_heap heap = record->handle();
      return heap.id == 0 ? main_record.handle() : heap;
    }
    case SpanKind::moving:
    case SpanKind::notes:
    case SpanKind::clean:
    case SpanKind::dirty:
    case SpanKind::purging:
    case SpanKind::unmapping:
    case SpanKind::kept:
    case SpanKind::lost: break;
  }
  return {};
}

namespace {

// What another thread may be changing.
template <class T>
TARN_UNSANITIZED T* read_racing(T* const* place) noexcept {
  return __atomic_load_n(place, __ATOMIC_ACQUIRE);  // has_mark() comes after it.
}

TARN_UNSANITIZED bool has_mark(const ThreadCache& cache, const Block* block) noexcept {
  const auto* const mark = reinterpret_cast<const std::uint64_t*>(block) + 1;
  return __atomic_load_n(mark, __ATOMIC_RELAXED) == cache.freed_mark;
}

// Whether the lists that are looked at stay as they are meanwhile.
enum class Lists : bool { rest, change };

// True when the block is among the first `most` of the list. What is no block of the class ends it.
// A list that changes may lead through a block that is live by now, to whatever the program keeps
// there: such a block has lost its mark, and ends it, too.
bool has_block(const Block* list, std::size_t most, const Block* block, std::size_t size_class,
               Lists lists) noexcept {
  const ThreadCache& cache = current_thread->cache;
  for (const Block* b = list; b != nullptr && most != 0; --most) {
    if (b == block) return true;
    if (address_of(b) >> address_bits != 0) return false;
    const PageMap::Slice slice = page_map.slice_of(b);
    if (!is_mallocs(slice.tag()) || class_of_tag(slice.tag()) != size_class) return false;
    if (!static_cast<const Page*>(page_map.span_of(slice))->is_block(b)) return false;
    const Block* const next = read_racing(reinterpret_cast<const Block* const*>(b));
    // While the mark is there, the block has not been taken since.
    if (lists == Lists::change && !has_mark(cache, b)) return false;
    b = next;
  }
  return false;
}

bool is_on(const Page& page, const Block* block, Lists lists) noexcept {
  const std::size_t most = page.carved;
  // Acquire: pairs with the frees that built the list.
  const Remote seen{page.remote.load(std::memory_order_acquire)};
  const Block* const remote = seen.head() == 0 ? nullptr : page.block_at(decode_head(seen.head()));
  return has_block(read_racing(&page.free), most, block, page.size_class, lists) ||
         has_block(page.local_free, most, block, page.size_class, lists) ||
         has_block(remote, most, block, page.size_class, lists);
}

bool is_in_a_chain(const Thread& thread, const Page& page, const Block* block) noexcept {
  const Lists lists = &thread == current_thread ? Lists::rest : Lists::change;
  bool found = false;
  thread.gathered.for_each([&](const GatheredChain& chain) noexcept {
    if (chain.page != &page) return;
    found |= has_block(read_racing(&chain.first), chain.count, block, page.size_class, lists);
  });
  return found;
}

// Only the page's owner has blocks of it at hand, but for what others have gathered.
bool is_free(const Page& page, const Block* block) noexcept {
  const Thread* const owner = page.owner.load(std::memory_order_relaxed);
  const Lists lists = owner == current_thread ? Lists::rest : Lists::change;
  if (is_on(page, block, lists)) return true;
  const std::size_t size_class = page.size_class;
  if (owner != nullptr && has_block(owner->cache.lists[size_class].first,
                                    owner->cache.count(size_class), block, size_class, lists)) {
    return true;
  }
  for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
    if (is_in_a_chain(*t, page, block)) return true;
  }
  return false;
}

// A block that realloc has left where it is may be of any larger class, as one with an alignment.
bool may_have(std::size_t size_class, std::size_t bytes, Family family) noexcept {
  const std::size_t block_bytes = class_block_bytes[size_class];
  if (bytes > block_bytes) return false;
  if (family != Family::object && family != Family::array) return true;
  const std::size_t least = class_block_bytes[class_of(bytes)];
  return block_bytes <= least + least / larger_part;
}

}  // namespace

void require_live(void* p, const char* function) noexcept {
  const Page& page = *static_cast<const Page*>(page_map.span_of(p));
  if (!page.is_block(p)) report_in_heap(&page, Misuse::invalid_free, function, p);
  auto* const block = static_cast<FreedBlock*>(p);
  if (is_free(page, block)) report_in_heap(&page, Misuse::double_free, function, p);
  block->mark = 0;
}

void require_size(std::size_t size_class, const void* p, const FreeCall& given) noexcept {
  if (TARN_LIKELY(may_have(size_class, given.bytes, given.origin.family()))) return;
  if (settings[Option::check_sizes] == 0) return;
  report_wrong_size(given.function, p, given.bytes, class_block_bytes[size_class]);
}

void require_large_size(const Page& page, const void* p, const FreeCall& given) noexcept {
  const std::size_t bytes = page.requested_now();
  if (TARN_LIKELY(given.bytes == FreeCall::any_bytes || given.bytes == bytes)) return;
  if (settings[Option::check_sizes] == 0) return;
  report_wrong_size(given.function, p, given.bytes, bytes);
}

}  // namespace tarn
