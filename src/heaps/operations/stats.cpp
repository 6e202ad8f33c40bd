// stats: what a heap says of itself.
//
// Requested bytes: blocks of one size and large blocks know theirs. Of the others only those are
// known that took the slow path; what these asked for on average stands for all of their class.
//
// SPDX-License-Identifier: MIT
#include "heaps/operations/stats.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "engine/records/limits.hpp"
#include "engine/records/live_bytes.hpp"
#include "engine/records/thread_heaps.hpp"
#include "engine/threads/delay.hpp"
#include "engine/threads/exclusive_pages.hpp"
#include "engine/threads/orphans.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/heap/handle.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

// How much of many ranges is in memory. Neighbours are asked for together: pages that were taken
// one after the other lie so, upwards or downwards.
class Residence {
 public:
  Residence(std::uint64_t& bytes, bool asks_os) noexcept : bytes_(bytes), asks_os_(asks_os) {}
  ~Residence() { ask(); }
  Residence(const Residence&) = delete;
  Residence& operator=(const Residence&) = delete;

  void add(const std::byte* start, std::size_t bytes) noexcept {
    if (start == end_) {
      end_ += bytes;
    } else if (start + bytes == start_) {
      start_ = start;
    } else {
      ask();
      start_ = start;
      end_ = start + bytes;
    }
  }

 private:
  void ask() noexcept {
    if (start_ != end_ && asks_os_) {
      bytes_ += os::vm_resident(start_, static_cast<std::size_t>(end_ - start_));
    }
  }

  std::uint64_t& bytes_;
  bool asks_os_;
  const std::byte* start_ = nullptr;
  const std::byte* end_ = nullptr;
};

// `live` blocks of a class whose slow-path requests have asked for `bytes` in all. Both are scaled
// down, so that no product overflows.
std::uint64_t estimate(std::uint64_t live, std::uint64_t samples, std::uint64_t bytes) noexcept {
  while (samples >= std::uint64_t{1} << 20) {
    samples >>= 1;
    bytes >>= 1;
  }
  return live * (bytes / samples) + live * (bytes % samples) / samples;
}

// What pages, blocks and samples add up to.
class Tally {
 public:
  Tally(HeapRecord& record, tarn_heap_stats& stats) noexcept
      : record_(record), stats_(stats), residence_(stats.resident_bytes, !is_region(record)) {
    // Classes that serve requests of several sizes.
    estimated_ = class_count + record.table_count.load(std::memory_order_relaxed);
    stats_.requested_is_exact = 1;
  }

  void page(const Page& page) noexcept {
    const std::uint32_t live = live_blocks_seen(page);
    ++stats_.pages;
    stats_.free_blocks += free_blocks_beside(page, live);
    add_blocks(live, std::uint64_t{live} * page.block_bytes);
    residence_.add(page.base, page.bytes());
    if (page.size_class < estimated_) {
      classes_[page.size_class].live += live;
    } else {
      stats_.requested_bytes += std::uint64_t{live} * page.block_bytes;
    }
  }

  void large(const Span& span) noexcept {
    ++stats_.large_blocks;
    add_blocks(1, span.bytes());
    residence_.add(span.base, span.bytes());
    stats_.requested_bytes += static_cast<const Page&>(span).requested_now();
  }

  void mixed(const MixedPage& mixed) noexcept {
    if (mixed.page == nullptr) return;
    const std::uint64_t live = mixed.live_blocks();
    const std::uint64_t bytes = mixed.live_bytes();
    ++stats_.pages;
    add_blocks(live, bytes);
    stats_.free_blocks += mixed.holes();
    residence_.add(mixed.page->base, std::size_t{mixed.slices_charged} << slice_shift);
    if (live == 0) return;
    const std::uint64_t slack = estimate(live, mixed.allocations, mixed.slack_bytes);
    stats_.requested_bytes += bytes - (slack < bytes ? slack : bytes);
    // Known of all that there ever were.
    if (mixed.slack_bytes != 0 && live != mixed.allocations) stats_.requested_is_exact = 0;
  }

  void checked(HeapRecord& record) noexcept {
    const Checks& checks = *record.checks;
    checks_fill_stats(record, &stats_);
    for (const Span* s = checks.spans.head(); s != nullptr; s = s->next_of_heap) {
      residence_.add(s->base, s->bytes());
    }
  }

  void samples(const ThreadHeap& thread_heap) noexcept {
    for (std::size_t c = 0; c < estimated_; ++c) {
      const Bin* const bin = thread_heap.find_bin(c);
      if (bin == nullptr) continue;
      classes_[c].samples += bin->counts.sampled.read();
      classes_[c].sample_bytes += bin->counts.sampled_bytes.read();
    }
  }

  // What a thread has at hand was counted with its page. After all pages.
  void at_hand(const Thread& thread) noexcept {
    for (std::size_t c = 0; c < class_count; ++c) {
      const std::uint64_t count =
          std::min<std::uint64_t>(blocks_at_hand(thread, c), classes_[c].live);
      classes_[c].live -= count;
      stats_.live_blocks -= count;
      stats_.live_bytes -= count * class_block_bytes[c];
      stats_.free_blocks += count;
    }
  }

  // Likewise, of a hardened heap: what a thread has freed and holds back.
  void held_back(const Thread& thread) noexcept {
    Delay::for_each(thread.delay, [this](const Page& page, const Block*) noexcept {
      if (page.heap_now() == nullptr || page.heap_now()->record != &record_) return;
      if (classes_[page.size_class].live == 0) return;
      --classes_[page.size_class].live;
      --stats_.live_blocks;
      stats_.live_bytes -= page.block_bytes;
      ++stats_.free_blocks;
    });
  }

  // After all pages and samples.
  void estimate_requested() noexcept {
    for (std::size_t c = 0; c < estimated_; ++c) {
      const OfClass& seen = classes_[c];
      if (seen.live == 0) continue;
      stats_.requested_is_exact = 0;
      stats_.requested_bytes += seen.samples == 0
                                    ? seen.live * block_bytes_of(record_, c)
                                    : estimate(seen.live, seen.samples, seen.sample_bytes);
    }
  }

 private:
  struct OfClass {
    std::uint64_t live = 0;
    std::uint64_t samples = 0;
    std::uint64_t sample_bytes = 0;
  };

  void add_blocks(std::uint64_t count, std::uint64_t bytes) noexcept {
    stats_.live_blocks += count;
    stats_.live_bytes += bytes;
  }

  HeapRecord& record_;
  tarn_heap_stats& stats_;
  std::size_t estimated_ = class_count;
  Residence residence_;
  std::array<OfClass, bin_count> classes_{};
};

// The peak is at least what is there now, and is kept so.
void fill_peak(HeapRecord& record, tarn_heap_stats& stats) noexcept {
  raise_live_peak(record, stats.live_bytes);
  raise_live_peak(record, stats.live_bytes_peak);  // Checked heaps know it.
  const std::int64_t peak = record.live_bytes_peak.load(std::memory_order_relaxed);
  stats.live_bytes_peak = static_cast<std::uint64_t>(peak);
}

void fill_ratio(tarn_heap_stats& stats) noexcept {
  if (stats.live_blocks == 0) return;
  stats.free_per_live =
      static_cast<double>(stats.free_blocks) / static_cast<double>(stats.live_blocks);
}

// Any thread; exact when it is alone.
void fill_main(tarn_heap_stats& stats) noexcept {
  {
    Tally tally(main_record, stats);
    store.for_each_span([&](const Span* span) noexcept {
      const auto* const page = static_cast<const Page*>(span);
      const SpanKind kind = span->kind_now();
      const bool large = kind == SpanKind::large || kind == SpanKind::moving;
      if (large && page->record_now() == &main_record) {
        tally.large(*span);
      } else if (kind == SpanKind::page && page->heap_now() != nullptr &&
                 page->heap_now()->record == &main_record) {
        tally.page(*page);
      } else {
        return;
      }
      stats.committed_bytes += span->bytes();
    });
    for (const Thread* t = orphans.first_known(); t != nullptr; t = t->next_known) {
      tally.samples(t->heap);
      tally.at_hand(*t);
    }
    tally.estimate_requested();
  }
  stats.committed_bytes_peak = stats.committed_bytes;
  fill_peak(main_record, stats);
}

// pre: held exclusively
void fill_closed(HeapRecord& record, tarn_heap_stats& stats) noexcept {
  {
    Tally tally(record, stats);
    for_each_intact_thread_heap(
        record, [&](const ThreadHeap& thread_heap) noexcept { tally.samples(thread_heap); });
    for_each_page(record, [&](const Page& page) noexcept {
      tally.page(page);
      return 0;
    });
    for (const Span* s = record.large.head(); s != nullptr; s = s->next_of_heap) tally.large(*s);
    tally.mixed(record.mixed);
    for (const Thread* t = orphans.first_known(); record.hardened && t != nullptr;
         t = t->next_known) {
      tally.held_back(*t);
    }
    tally.estimate_requested();
    if (record.checks != nullptr) tally.checked(record);
  }
  stats.committed_bytes = record.limits.committed.load(std::memory_order_relaxed);
  stats.committed_bytes_peak = committed_peak(record);
  fill_peak(record, stats);
}

}  // namespace

bool heap_stats(tarn_heap heap, tarn_heap_stats* stats) noexcept {
  if (stats == nullptr || (stats->bytes < sizeof *stats &&  // A later library's is longer.
                           !is_sized(*stats, "tarn_heap_get_stats", "TARN_HEAP_STATS"))) {
    errno = EINVAL;
    return false;
  }
  HeapRecord* const record = live_record(heap, "tarn_heap_get_stats");
  if (record == nullptr) return false;
  const std::size_t bytes = stats->bytes;
  *stats = {};
  stats->bytes = bytes;
  if (record == &main_record) {
    fill_main(*stats);
  } else {
    ExclusiveSection exclusive(*record);
    if (record->id.load(std::memory_order_relaxed) != heap.id) {
      live_record(heap, "tarn_heap_get_stats");
    }
    fill_closed(*record, *stats);
  }
  fill_ratio(*stats);
  return true;
}

}  // namespace tarn
