// hardened: see hardened.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/hardened/hardened.hpp"

#include <atomic>
#include <cstring>

#include "engine/records/record.hpp"
#include "engine/threads/delay.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "engine/threads/orphans.hpp"
#include "engine/threads/span_cache.hpp"
#include "heaps/heap/heap_large.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/faults.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/misuse.hpp"
#include "platform/settings/settings.hpp"
#include "platform/stack/stacks.hpp"

namespace tarn {

namespace {

// So much of what is unused behind a block's bytes is canary. A write further on that leaves the
// seal alone is not found.
constexpr std::uint32_t canary_most = 64;
constexpr std::uint32_t canary_of(std::uint32_t unused) noexcept {
  return unused < canary_most ? unused : canary_most;
}

static_assert(SealWord::origin_most == (1U << Origin::bits_count) - 1);

// A block of a page, or a large one, and what its seal says.
struct SealedBlock {
  Page& page;
  std::byte* start;
  std::byte* seal;
  SealWord says;

  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(seal - start) - says.unused();
  }
  std::byte* end() const noexcept { return start + bytes(); }
  Origin origin() const noexcept { return Origin::of_bits(says.origin()); }
  // Where its canary ends.
  std::byte* canary_end() const noexcept { return end() + canary_of(says.unused()); }
  bool is_large() const noexcept { return page.kind_now() == SpanKind::large; }
  // Nobody's: see page_seal().
  bool is_reserved() const noexcept {
    return !is_large() && page.offset_of(start) < page.reserved * page.block_bytes;
  }
  HeapRecord& record() const noexcept {
    return is_large() ? *page.record_now() : *page.heap_now()->record;
  }
};

SealedBlock block_at(const Page& page, const void* p) noexcept {
  auto* const start = static_cast<std::byte*>(const_cast<void*>(p));
  const bool is_large = page.kind_now() == SpanKind::large;
  std::byte* const seal = is_large ? start + page.requested_now() : seal_place(page, p);
  SealedBlock block{const_cast<Page&>(page), start, seal, seal_read(seal, p)};
  const bool is_whole =
      block.says.is_whole() && block.says.unused() <= static_cast<std::size_t>(seal - start);
  if (TARN_UNLIKELY(!is_whole)) {
    const bool is_gone = seal_is_gone(seal) && !is_large && page_has_no_lists(&page);
    block.says = {is_gone ? 0U : 1U};  // Free; or broken, of all that there is.
  }
  return block;
}

[[noreturn]] TARN_COLD void report(Misuse kind, const SealedBlock& block, const void* p,
                                   const FreeCall& given) noexcept {
  const HeapRecord& record = block.record();
  report_block_misuse({.kind = kind,
                       .function = given.function,
                       .p = p,
                       .start = block.start,
                       .bytes = block.bytes(),
                       .said_bytes = given.bytes,
                       .expected = expected_free(block.origin().family()),
                       .alignment = block.origin().alignment(),
                       .said_alignment = given.origin.alignment(),
                       .heap_name = record.name,
                       .heap_id = record.id.load(std::memory_order_relaxed),
                       .here = given.site});
}

// A broken seal of a block of a page, or of a large one. Who wrote from the block's end on broke
// its first byte, which is zero under the seal; where that is whole, or the block is nobody's,
// somebody wrote in front of the next one, down to the last byte that is known to have changed.
[[noreturn]] TARN_COLD void report_broken(const SealedBlock& block,
                                          const FreeCall& given) noexcept {
  const Page& page = block.page;
  const std::byte* const next = block.seal + seal_bytes;
  const std::size_t whole = seal_read(block.seal, block.start).whole_bytes();
  const bool has_next = !block.is_large() && page.offset_of(next) < page.carved * page.block_bytes;
  if (!has_next || (!block.is_reserved() && whole == 0)) {
    report(Misuse::overrun, block, block.seal, given);
  }
  report(Misuse::underrun, block_at(page, next), block.seal + whole, given);
}

// Reports what is not live, and what was written behind it.
SealedBlock live_block(const Page& page, const void* p, const FreeCall& given,
                       Misuse when_free) noexcept {
  const SealedBlock block = block_at(page, p);
  if (TARN_LIKELY(block.says.is_live())) {
    const std::byte* const changed = first_changed(block.end(), block.canary_end(), canary_byte);
    if (TARN_UNLIKELY(changed != nullptr)) report(Misuse::overrun, block, changed, given);
    return block;
  }
  if (!block.says.is_free()) report_broken(block, given);
  if (block.is_reserved()) {
    const HeapRecord& record = block.record();
    report_misuse_in(Misuse::invalid_free, given.function, p, record.name,
                     record.id.load(std::memory_order_relaxed));
  }
  report(when_free, block, p, given);
}

std::uint64_t word_at(const std::byte* p) noexcept {
  std::uint64_t word = 0;
  memcpy(&word, p, sizeof word);
  return word;
}

// Two words at once: every processor that this is compiled for can.
using WordPair = std::uint64_t __attribute__((vector_size(16)));
WordPair pair_at(const std::byte* p) noexcept {
  WordPair pair{};
  memcpy(&pair, p, sizeof pair);
  return pair;
}

// Both are aligned to 8. Without a way out on the way.
TARN_INLINE bool is_zero(const std::byte* from, const std::byte* to) noexcept {
  WordPair seen{};
  for (; to - from >= 64; from += 64) {
    seen |= (pair_at(from) | pair_at(from + 16)) | (pair_at(from + 32) | pair_at(from + 48));
  }
  for (; to - from >= 16; from += 16) seen |= pair_at(from);
  std::uint64_t rest = seen[0] | seen[1];
  if (from != to) rest |= word_at(from);
  return rest == 0;
}

// The first byte that is not zero; null when all are.
const std::byte* first_set(const std::byte* from, const std::byte* to) noexcept {
  return TARN_LIKELY(is_zero(from, to)) ? nullptr : first_changed(from, to, 0);
}

// Reports what has been written to a free block of a page, behind its first word: that may be a
// link.
void require_unchanged(const SealedBlock& block, const FreeCall& given) noexcept {
  const std::byte* const head_end = seal_head_end(block.page, block.start);
  const std::byte* changed = first_changed(
      static_cast<const std::byte*>(block.start) + sizeof(Block), head_end, freed_byte);
  const std::byte* const watched_end = seal_watched_end(block.page, block.start);
  const SealTail tail = seal_tail(block.page, block.start, block.says.unused());
  if (changed == nullptr) changed = first_set(head_end, watched_end);
  if (changed == nullptr) changed = first_set(tail.begin, tail.end);
  if (TARN_UNLIKELY(changed != nullptr)) report(Misuse::use_after_free, block, changed, given);
}

// Seals the block as a live one of so many bytes.
void seal_block(const SealedBlock& block, std::size_t bytes) noexcept {
  const auto unused =
      static_cast<std::uint32_t>(block.seal - block.start) - static_cast<std::uint32_t>(bytes);
  memset(block.start + bytes, canary_byte, canary_of(unused));
  seal_write(block.seal, block.start, SealWord::live(block.says.origin(), unused));
}

void require_call(const SealedBlock& block, const void* p, const FreeCall& given) noexcept {
  if (TARN_UNLIKELY(!Origin::families_go(block.origin(), given.origin))) {
    report(Misuse::mismatched_free, block, p, given);
  }
  if (TARN_UNLIKELY(!Origin::go_together(block.origin(), given.origin))) {
    report(Misuse::alignment_mismatch, block, p, given);
  }
  const bool is_size = given.bytes == FreeCall::any_bytes || given.bytes == block.bytes();
  if (TARN_UNLIKELY(!is_size) && settings[Option::check_sizes] != 0) {
    report(Misuse::size_mismatch, block, p, given);
  }
}

// The heap, once there is one.
std::atomic<const HeapRecord*> hardened_record{nullptr};

// What a thread does with a large block that another one, or it itself, has freed and holds back.
// In a signal handler; the span may just be leaving.
void explain_fault(const os::Fault& fault) noexcept {
  const Span* const span = page_map.span_around(fault.address, SpanKind::kept, kept_slices_most);
  if (span == nullptr) return;
  const auto& page = *static_cast<const Page*>(span);
  const HeapRecord& record = *hardened_record.load(std::memory_order_relaxed);
  if (page.record_now() != &record || page.kind_now() != SpanKind::kept) return;
  explain_block_fault({.kind = Misuse::use_after_free,
                       .function = os::name_of(fault.access),
                       .p = fault.address,
                       .start = page.base,
                       .bytes = page.requested_now(),
                       .heap_name = record.name,
                       .heap_id = record.id.load(std::memory_order_relaxed),
                       .here = stacks.at_stop({fault.pc, fault.sp, fault.fp})});
}

}  // namespace

void make_hardened(HeapRecord& record) noexcept {
  TARN_ASSERT(!record.is_serialised() && !record.has_table() && record.checks == nullptr);
  seal_secrets = {os::process_secret(), os::process_secret() | 1};
  record.hardened = true;
  record.young.store(false, std::memory_order_relaxed);  // Without a mixed page.
  hardened_record.store(&record, std::memory_order_relaxed);
  os::explain_faults(explain_fault);
}

void report_in_hardened(const Page& page, const void* p, const FreeCall& given) noexcept {
  const std::size_t i = page.offset_of(p) / page.block_bytes;
  if (i >= page.carved) return;
  const SealedBlock block = block_at(page, page.base + i * page.block_bytes);
  if (block.says.is_live()) report(Misuse::invalid_free, block, p, given);
}

Block* hardened_pop(Page& page) noexcept {
  if (TARN_UNLIKELY(!hardened_is_block(page, page.free))) {
    report_broken_list(page.block_bytes, page.free);
  }
  return page_pop(&page);
}

namespace {

constexpr std::uint64_t each_byte = 0x0101010101010101;
constexpr std::uint64_t canary_word = each_byte * canary_byte;
constexpr std::uint64_t freed_word = each_byte * freed_byte;

void set_word(std::byte* p, std::uint64_t word) noexcept { memcpy(p, &word, sizeof word); }

// The next two: of blocks of classes that are close, a canary has less than a word.
constexpr bool is_short(std::uint32_t unused) noexcept {
  return std::endian::native == std::endian::little && unused < sizeof(std::uint64_t);
}

TARN_INLINE bool canary_is_whole(const std::byte* seal, std::uint32_t unused) noexcept {
  if (unused == 0) return true;
  if (TARN_LIKELY(is_short(unused))) {
    return (word_at(seal - 8) ^ canary_word) >> (64 - 8 * unused) == 0;
  }
  const std::byte* const end = seal - unused;
  return first_changed(end, end + canary_of(unused), canary_byte) == nullptr;
}

// pre: what lies in front of the canary may become zero
TARN_INLINE void put_canary(std::byte* seal, std::uint32_t unused) noexcept {
  if (unused == 0) return;
  if (TARN_LIKELY(is_short(unused))) {
    return set_word(seal - 8, canary_word << (64 - 8 * unused));
  }
  memset(seal - unused, canary_byte, canary_of(unused));
}

TARN_INLINE bool may_have_tail(const Page& page) noexcept {
  return page.block_bytes > seal_watched_bytes + seal_bytes;
}

// Both are aligned to 8. Short ranges are not worth a call.
TARN_INLINE void put_zeros(std::byte* from, std::byte* to) noexcept {
  if (to - from > 128) {
    memset(from, 0, static_cast<std::size_t>(to - from));
    return;
  }
  for (; from != to; from += 8) set_word(from, 0);
}

[[noreturn]] TARN_COLD void report_taken(const Page& page, const void* p, From from,
                                         const void* site) noexcept {
  const FreeCall call{"malloc", site};
  const SealedBlock block = block_at(page, p);
  if (block.says.is_free() && from == From::shelf) {
    hardened_leave(page, static_cast<const Block*>(p), site);
  }
  if (block.says.is_free()) require_unchanged(block, call);
  report(Misuse::use_after_free, block, p,
         call);  // Its seal, or a list that leads to a smaller one.
}

}  // namespace

void hardened_begin(const Page& page, void* block, From from, std::size_t bytes, Origin origin,
                    const void* site) noexcept {
  auto* const p = static_cast<std::byte*>(block);
  const std::size_t block_bytes = page.block_bytes;
  std::byte* const seal = p + block_bytes - seal_bytes;
  const std::uint64_t number = seal_secrets.number_of(p);
  const SealWord says{word_at(seal) ^ number};
  bool is_whole = says.is_free() && hardened_bytes(bytes) <= block_bytes &&
                  (from == From::page || word_at(p) == freed_word);
  if (TARN_LIKELY(block_bytes > 16)) {
    is_whole =
        is_whole && word_at(p + 8) == freed_word && is_zero(p + 16, seal_watched_end(page, p));
    if (may_have_tail(page) && is_whole) {
      const SealTail tail = seal_tail(page, p, says.unused());
      is_whole = is_zero(tail.begin, tail.end);
    }
  }
  if (TARN_UNLIKELY(!is_whole)) report_taken(page, p, from, site);
  set_word(p, 0);  // The link.
  if (TARN_LIKELY(block_bytes > 16)) set_word(p + 8, 0);
  const auto unused = static_cast<std::uint32_t>(block_bytes - seal_bytes - bytes);
  put_canary(seal, unused);
  set_word(seal, SealWord::live(origin.bits(), unused).word ^ number);
}

void hardened_begin_large(Page& page, std::size_t bytes, Origin origin) noexcept {
  TARN_ASSERT(hardened_bytes(bytes) <= page.bytes());
  page.set_requested(bytes);
  seal_write(page.base + bytes, page.base, SealWord::live(origin.bits(), 0));
}

std::size_t hardened_seen_bytes(const Page& page, const void* p) noexcept {
  return block_at(page, p).bytes();
}

std::size_t hardened_usable(const Page& page, const void* p, const FreeCall& given) noexcept {
  const SealedBlock block = live_block(page, p, given, Misuse::invalid_pointer);
  require_call(block, p, given);
  return block.bytes();
}

namespace {

// What stays with the block of what it gives up. Where the span has kept much of it, that may never
// have been there: it is taken away.
void wipe_given_up(const Page& page, std::size_t bytes, std::size_t before) noexcept {
  const std::size_t end = before < page.bytes() ? before : page.bytes();
  if (end <= bytes) return;
  const std::size_t whole = align_up(bytes, slice_bytes);
  if (end > whole && os::vm_purge(page.base + whole, align_up(end, slice_bytes) - whole)) {
    memset(page.base + bytes, 0, whole - bytes);
  } else {
    memset(page.base + bytes, 0, end - bytes);
  }
}

// The seal goes before the span changes, and comes again at the new end.
void* resize_large(Page& page, const SealedBlock& block, std::size_t bytes,
                   bool may_move) noexcept {
  const std::size_t before = block.bytes();
  memset(block.seal, 0, seal_bytes);
  const bool done = heap_large_resize(&page, hardened_bytes(bytes), may_move);
  if (bytes < before) wipe_given_up(page, bytes, before);
  hardened_begin_large(page, done || bytes < before ? bytes : before, block.origin());
  return done || bytes < before ? page.base : nullptr;
}

}  // namespace

void* hardened_resize(Page& page, void* p, std::size_t bytes, bool may_move) noexcept {
  const SealedBlock block = block_at(page, p);
  TARN_ASSERT(block.says.is_live());
  if (bytes > request_bytes_max) return nullptr;
  if (page.kind_now() == SpanKind::large) return resize_large(page, block, bytes, may_move);
  if (hardened_bytes(bytes) > page.block_bytes) return nullptr;
  // What the block gives up, and its canary.
  std::byte* const from = block.start + (bytes < block.bytes() ? bytes : block.bytes());
  memset(from, 0, static_cast<std::size_t>(block.canary_end() - from));
  seal_block(block, bytes);
  return p;
}

namespace {

// Reports what is wrong with a block that a call ends, if anything is.
TARN_COLD void require_whole(Page& page, void* p, const FreeCall& given) noexcept {
  require_call(live_block(page, p, given, Misuse::double_free), p, given);
}

}  // namespace

void hardened_end(Page& page, void* block, Said said, const void* site) noexcept {
  auto* const p = static_cast<std::byte*>(block);
  std::byte* const seal = seal_place(page, p);
  const std::uint64_t number = seal_secrets.number_of(p);
  const SealWord says{word_at(seal) ^ number};
  const auto room = static_cast<std::size_t>(seal - p);
  const std::uint32_t unused = says.unused();
  const bool is_whole = says.is_live() && unused <= room && canary_is_whole(seal, unused) &&
                        Origin::go_together(Origin::of_bits(says.origin()), said.origin()) &&
                        (!said.has_bytes() || said.bytes() == room - unused);
  if (TARN_UNLIKELY(!is_whole)) require_whole(page, p, said.call(site));
  set_word(p, freed_word);
  if (TARN_LIKELY(room > 8)) {
    set_word(p + 8, freed_word);
    put_zeros(p + 16, seal_watched_end(page, p));
    if (may_have_tail(page)) {
      const SealTail tail = seal_tail(page, p, unused);
      put_zeros(tail.begin, tail.end);
    }
  }
  set_word(seal, says.as_free().word ^ number);
}

void hardened_end_large(Page& page, const FreeCall& given) noexcept {
  const SealedBlock block = live_block(page, page.base, given, Misuse::double_free);
  require_call(block, page.base, given);
  memset(block.seal, 0, seal_bytes);
}

namespace {

TARN_NOINLINE void leave_changed_or_wide(const Page& page, const std::byte* block,
                                         const void* site) noexcept {
  const FreeCall given{"free", site};
  if (TARN_UNLIKELY(word_at(block) != freed_word)) {
    const std::byte* const changed = first_changed(block, block + sizeof(Block), freed_byte);
    report(Misuse::use_after_free, block_at(page, block), changed, given);
  }
  const SealedBlock sealed = block_at(page, block);
  if (TARN_UNLIKELY(!sealed.says.is_free())) report_broken(sealed, given);
  const SealTail tail = seal_tail(page, block, sealed.says.unused());
  if (TARN_UNLIKELY(!is_zero(tail.begin, tail.end))) require_unchanged(sealed, given);
}

}  // namespace

void hardened_leave(const Page& page, const Block* block, const void* site) noexcept {
  const auto* const start = reinterpret_cast<const std::byte*>(block);
  const bool is_narrow = page.block_bytes <= Delay::narrow_bytes_max;
  if (TARN_LIKELY(word_at(start) == freed_word && is_narrow)) return;
  leave_changed_or_wide(page, start, site);
}

namespace {

void verify_page(const Page& page, const FreeCall& given) noexcept {
  if (page_has_no_lists(&page)) return;
  for (std::uint32_t i = 0; i < page.carved; ++i) {
    const std::byte* const p = page.base + std::size_t{i} * page.block_bytes;
    const SealedBlock block = block_at(page, p);
    if (block.is_reserved()) {
      if (!block.says.is_free()) report_broken(block, given);
    } else if (block.says.is_free()) {
      require_unchanged(block, given);
    } else {
      live_block(page, p, given, Misuse::use_after_free);
    }
  }
}

}  // namespace

void hardened_verify(HeapRecord& record, const char* function) noexcept {
  if (orphans.has_vanished() || !os::process_is_alone()) return;
  const FreeCall given{function, nullptr};
  if (current_thread != no_thread()) {
    Delay::for_each(current_thread->delay, [&](const Page& page, const Block* block) noexcept {
      hardened_leave(page, block, given.site);
    });
    span_cache_verify(*current_thread);
  }
  std::size_t bytes = 0;
  for_each_page(record, [&](const Page& page) noexcept {
    verify_page(page, given);
    bytes += page.bytes();
    return bytes > hardened_verify_bytes_most ? 1 : 0;
  });
  for (const Span* s = record.large.head(); s != nullptr; s = s->next_of_heap) {
    live_block(*static_cast<const Page*>(s), s->base, given, Misuse::use_after_free);
  }
}

}  // namespace tarn
