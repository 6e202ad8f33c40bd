// store: where spans come from and go back to. It reserves address space from the OS in chunks,
// cuts spans from it, joins free neighbours, hands out warm memory first, and gives memory back to
// the OS late and in bulk.
//
//   reserved = in use (pages, large) + dirty + purging + clean
//
//   take:  dirty, smallest fit -> clean, smallest fit, for which dirty memory is purged where the
//          process would grow else -> a new chunk -> free memory given back, and once more
//   give:  joined with dirty neighbours, put at the young end of the purge order
//   purge: old end of the order -> madvise outside the lock -> joined with clean neighbours: what
//          has been free for long, and at once what is more than is likely to be wanted again
//
// Lock order: orphans (heap) before store. Nothing is called under the store's lock but the OS.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/spans/descriptors.hpp"
#include "engine/spans/page_map.hpp"
#include "engine/spans/record_memory.hpp"
#include "engine/store/span_bins.hpp"
#include "platform/base/list.hpp"
#include "platform/os/sleeper.hpp"
#include "platform/os/thread.hpp"

namespace tarn {

// 16 TiB less a chunk: a span counts its slices in 32 bits.
inline constexpr std::size_t span_slices_max =
    UINT32_MAX - ((std::size_t{64} << 20) >> slice_shift);

struct StoreTotals {
  std::uint64_t reserved_bytes = 0;
  std::uint64_t committed_bytes = 0;  // In use, dirty or purging.
  std::uint64_t committed_bytes_peak = 0;
  std::uint64_t map_calls = 0;
  std::uint64_t purge_calls = 0;
  std::uint64_t purged_bytes = 0;
};

// Which free span is to be taken.
enum class Fit : std::uint8_t {
  warm,   // The smallest dirty span that fits, else the smallest clean one.
  small,  // As warm, for a page of small blocks: it is used from its start on.
  zero,   // For a block that is to read as zero: a clean span first, unless twice as much is dirty.
  roomy,  // A dirty span with room behind it, for a block that grows; else none.
  roomy_cold,  // Like roomy, or a clean span.
};

// A longer span is a long one for windows (store_huge.cpp) even if it is taken as `small`.
inline constexpr std::size_t small_slices_most = (std::size_t{256} << 10) >> slice_shift;

// Slices that were purged before their time, and whether that was right: what is taken clean soon
// afterwards could have been warm. The store's lock guards the object.
class EarlyPurges {
 public:
  void note_purged(std::size_t slices, std::uint64_t now_ms, std::uint64_t delay_ms) noexcept;
  void note_again(std::size_t slices, std::uint64_t now_ms, std::uint64_t delay_ms,
                  std::size_t dirty) noexcept;
  void note_taken_clean(std::size_t slices, std::uint64_t delay_ms) noexcept;
  void note_grown_old(std::size_t slices) noexcept;

  // How many slices more should have stayed.
  std::size_t missed() const noexcept { return missed_; }

 private:
  // Whether the last purge is so old that what it took would have gone by now.
  bool is_over(std::uint64_t now_ms, std::uint64_t delay_ms) const noexcept {
    return now_ms > purged_ms_ + delay_ms;
  }

  std::size_t purged_ = 0;
  std::uint64_t purged_ms_ = 0;  // The time of the last purge.
  std::size_t in_a_row_ = 0;     // What was purged without a pause in between.
  std::size_t dirty_first_ = 0;  // How much was dirty when that began.
  std::size_t missed_ = 0;
};

class Store {
 public:
  // A span of exactly `slices`, aligned to `alignment` slices (a power of two, 1: any); null when
  // out of memory, or when nothing fits as wanted. The caller sets its kind and its entries in the
  // page map.
  Span* take(std::size_t slices, std::size_t alignment, Fit fit = Fit::warm) noexcept {
    return take_between(slices, slices, alignment, fit);
  }

  // A span of `most` slices; or of fewer, but at least `least`, where that is what lies free and is
  // dirty: such a span would serve nobody else, and clean memory costs page faults.
  Span* take_page(std::size_t least, std::size_t most, Fit fit = Fit::warm) noexcept {
    return take_between(least, most, 1, fit);
  }

  // pre: the span's interior entries in the page map are cleared.
  void give(Span* span) noexcept;

  // Takes back a chain (by next) of spans in use, after joining those that are neighbours. The
  // spans beyond `warm_bytes` lose their contents at once; returns how many bytes that was. No
  // span's memory is touched, nor, for long runs, the page map.
  std::size_t give_all(Span* chain, std::size_t warm_bytes) noexcept;

  // Grows a span in use over its right neighbour; false when that is not free, or too small.
  bool extend(Span* span, std::size_t slices) noexcept;

  // Like extend(), but the OS makes the span longer, and moves its contents by page tables. The
  // address may change, and there are `spare` more slices, free, behind the span. False when the OS
  // cannot, and, for a spare that is not 0, when there is so much clean space that some of it
  // should be used.
  bool remap(Span* span, std::size_t slices, std::size_t spare) noexcept;

  // Gives the tail of a span in use back; false when there is no descriptor for it.
  bool shrink(Span* span, std::size_t slices) noexcept;

  // Gives back what has been free for `delay_ms` by `now_ms`, down to `keep_bytes`. Returns bytes.
  std::size_t purge(std::uint64_t now_ms, std::uint64_t delay_ms, std::size_t keep_bytes) noexcept;

  // Purges a part of what is due by the delay and the rest that are configured. The part is such
  // that no caller waits long for the OS, and that all of it goes within a second or two while
  // there are callers. Two loads when nothing is due.
  void purge_when_due(std::uint64_t now_ms) noexcept {
    // Relaxed: a hint; the purge looks again under the lock.
    if (TARN_UNLIKELY(now_ms >= purge_due_ms_.load(std::memory_order_relaxed))) purge_step(now_ms);
  }

  // The thread that purges for programs that do not call, if there is one: it is woken when memory
  // becomes free.
  os::Sleeper purger;

  // The time at which there will be something to purge, as things are; UINT64_MAX: not before the
  // next give.
  std::uint64_t purge_due_ms() noexcept;

  // The time from which nothing will have been given for a long while, so that what is to stay warm
  // serves nobody; UINT64_MAX: nothing is dirty.
  std::uint64_t rest_due_ms() noexcept;

  // Purges at least `wanted` bytes at once, whatever their age, if there are as many.
  std::size_t purge_some(std::uint64_t now_ms, std::size_t wanted) noexcept;

  // The most slices that were in use, dirty or being purged at a time: a hint.
  std::size_t committed_slices_peak() const noexcept {
    return committed_slices_peak_.load(std::memory_order_relaxed);
  }

  // A record for another room, never freed; null when out of memory.
  void* allocate_record(std::size_t bytes) noexcept;

  // A descriptor for a span that lies elsewhere, in use; null when out of memory.
  Span* lend_descriptor() noexcept;
  void return_descriptor(Span* span) noexcept;

  // Has the page map cover memory from elsewhere; false when that cannot be.
  bool cover(const std::byte* start, std::size_t bytes) noexcept;
  bool cover_from_static(const std::byte* start, std::size_t bytes) noexcept;
  void count_elsewhere(std::ptrdiff_t delta_bytes) noexcept {
    elsewhere_bytes_.fetch_add(delta_bytes, std::memory_order_relaxed);
  }

  void configure(std::uint64_t purge_delay_ms, std::size_t purge_keep_bytes) noexcept;
  StoreTotals totals() noexcept;
  void count_purged(std::size_t bytes) noexcept;  // Counts what was purged of spans in use.
  void count_map_call() noexcept { map_calls_.fetch_add(1, std::memory_order_relaxed); }

  // In the child of a fork. What a vanished thread was purging is dirty again; what one held
  // half-changed stays reserved, unused.
  void recover_after_fork() noexcept;

  // Calls visit(span) for every descriptor there is, idle ones too, under the lock. This and
  // totals() may be called where a signal has interrupted the store: at exit() in a handler, say.
  template <class Visit>
  void for_each_span(Visit visit) noexcept {
    os::LockedUnlessHeld locked(lock_);
    descriptors_.for_each(visit);
  }

  // Calls visit(start, bytes) for the memory of descriptors and records. Holds the lock.
  template <class Visit>
  void for_each_record_region(Visit visit) noexcept {
    os::LockedUnlessHeld locked(lock_);
    descriptors_.for_each_region(visit);
    records_.for_each_region(visit);
  }

  // For a thread that has to see the lists of several rooms at rest.
  os::Lock& lock() noexcept { return lock_; }

  // True when the lists, the page map and the counts agree:
  //
  //   in use + dirty + purging + clean == reserved
  bool check() noexcept {
    os::Locked locked(lock_);
    return check_locked();
  }

 private:
  friend struct StoreAccess;  // Of the tests.

  // A chunk is a quarter of what is reserved already, within these bounds: few mappings for a large
  // heap, little address space for a small one. It consists of whole huge pages: Linux places it at
  // the start of one then.
  static constexpr std::size_t chunk_slices_min = (std::size_t{4} << 20) >> slice_shift;
  static constexpr std::size_t chunk_slices_max = (std::size_t{64} << 20) >> slice_shift;

  // What a purge takes: the oldest spans; or of the long ones the shortest, with whole windows.
  struct Purge {
    std::uint64_t now_ms;
    std::uint64_t delay_ms;   // Only spans that have been free for so long.
    std::size_t keep_slices;  // So many dirty slices stay.
    std::size_t most_slices;  // No more than so many, but for the rest of a window.
    bool only_long = false;
  };

  // Windows side by side that are to be huge pages; or none.
  struct Windows {
    std::byte* start = nullptr;
    std::size_t bytes = 0;
  };

  // A span, and the windows that it begins to use.
  struct Taken {
    Span* span = nullptr;
    Windows windows;
  };
  Span* take_between(std::size_t least, std::size_t most, std::size_t alignment, Fit fit) noexcept;
  std::size_t page_slices_locked(std::size_t least, std::size_t most) const noexcept;
  Taken take_locked(std::size_t slices, std::size_t alignment, Fit fit,
                    std::size_t* excess) noexcept;
  bool asks_for_huge_locked(std::byte* chunk, std::size_t slices) noexcept;
  void choose_pages_locked(std::byte* chunk, std::size_t slices) noexcept;
  void warm_locked(Span* clean, std::size_t slices) noexcept;
  Windows window_locked(const Span* taken, const std::byte* clean_end) noexcept;
  Windows windows_of_long_locked(const Span* taken) noexcept;
  Windows windows_locked(const Span* taken, Fit fit, const std::byte* clean_end) noexcept;
  static void fill(Windows windows) noexcept;
  static Span* find_locked(const SpanBins& bins, std::size_t slices,
                           std::size_t alignment) noexcept;
  Span* find_clean_locked(std::size_t slices, std::size_t alignment, Fit fit) noexcept;
  Span* find_dirty_locked(std::size_t slices, std::size_t alignment, Fit fit) noexcept;
  std::size_t excess_locked(std::size_t slices) const noexcept;
  void make_room(std::size_t slices) noexcept;
  std::size_t bound_locked() const noexcept;
  void put_rest_locked(Span* span, std::size_t slices) noexcept;
  Span* cut_locked(Span* span, std::size_t slices, std::size_t alignment) noexcept;
  void begin_growth_locked(Span* chunk) noexcept;
  bool grow_locked(std::size_t slices) noexcept;
  bool grow_or_release_locked(std::size_t slices) noexcept;
  bool free_will_do_locked(std::size_t bytes) noexcept;
  bool release_clean_locked() noexcept;
  void clean_dirty_locked() noexcept;
  bool release_free_locked() noexcept;
  void insert_locked(Span* span, SpanKind kind) noexcept;
  void insert_free_locked(Span* span, SpanKind kind) noexcept;
  void remove_locked(Span* span) noexcept;
  void change_locked(const Span* span) noexcept;
  void settle_locked() noexcept;
  Span* join_locked(Span* span, SpanKind kind) noexcept;
  bool extend_locked(Span* span, std::size_t slices, std::size_t* excess) noexcept;
  bool release_for(std::size_t bytes) noexcept;
  Span* begin_remap(Span* span, bool has_spare) noexcept;
  Span* make_span_locked(std::byte* base, std::size_t slices) noexcept;
  std::size_t spare_locked(const Span* span, std::size_t keep_slices) const noexcept;
  std::size_t with_whole_window_locked(const Span* span, std::size_t slices) const noexcept;
  Span* collect_locked(Purge& purge) noexcept;
  Span* cut_for_purge_locked(Span* span, std::size_t slices) noexcept;
  void begin_purge_locked(Span* span) noexcept;
  void end_purge_locked(Span* span) noexcept;
  bool drop(Span* span, std::uint64_t now_ms) noexcept;
  bool unmap(Span* span) noexcept;
  std::size_t purge(Purge purge) noexcept;
  bool may_grow_together_locked(std::size_t surplus) const noexcept;
  Purge surplus_locked(std::uint64_t now_ms, std::size_t given) const noexcept;
  std::size_t warm_part_locked() const noexcept;
  std::size_t warm_enough_locked() const noexcept;
  void purge_surplus(const Purge& surplus) noexcept;
  void note_taken_clean_locked(std::size_t slices) noexcept;
  void purge_step(std::uint64_t now_ms) noexcept;
  std::uint64_t due_locked(std::uint64_t now_ms) const noexcept;
  bool check_locked() const noexcept;
  void repair_purging() noexcept;
  void repair_lists() noexcept;
  void repair_span(Span* span) noexcept;
  bool is_changing(const Span* span) const noexcept;
  void repair_change(Span* whole) noexcept;
  static Span* join_chain(Span* chain) noexcept;
  void note_committed_locked() noexcept;
  std::size_t in_use_locked() const noexcept {
    return reserved_slices_ - clean_.slices() - dirty_.slices() - purging_slices_;
  }

  os::Lock lock_;
  SpanBins dirty_;
  SpanBins clean_;
  List<Span, &Span::newer, &Span::older> by_age_;   // Dirty spans, the oldest first.
  List<Span, &Span::newer, &Span::older> purging_;  // Spans that threads are purging, unmapping.
  Descriptors descriptors_;
  Records records_;

  // The free memory whose descriptors are being changed under the lock, or that is being taken. For
  // the child of a fork it is nobody's, whatever state the descriptors are in. Null: none.
  std::byte* change_start_ = nullptr;
  std::byte* change_end_ = nullptr;

  std::size_t reserved_slices_ = 0;
  std::size_t grown_slices_ = 0;  // What they are after a change that adds a chunk; else 0.
  std::atomic<std::size_t> committed_slices_peak_{0};
  std::size_t in_use_slices_peak_ = 0;
  std::size_t purging_slices_ = 0;
  EarlyPurges surplus_;         // Purges of more than is likely to be wanted again.
  EarlyPurges room_;            // Purges that had to make room for clean memory.
  bool purge_refused_ = false;  // The OS refused the last purge: of locked memory, perhaps.
  // How the OS gives huge pages: not at all, or for the asking; or by itself.
  enum class HugePages : std::uint8_t { unknown, asked, unasked };
  HugePages huge_pages_ = HugePages::unknown;
  const std::byte* long_base_ = nullptr;  // The last long span of clean memory; it may have gone.
  std::size_t long_slices_ = 0;
  std::atomic<std::ptrdiff_t> elsewhere_bytes_{0};  // What zones have from the OS.
  std::atomic<std::uint64_t> map_calls_{0};
  std::uint64_t purge_calls_ = 0;
  std::uint64_t purged_slices_ = 0;
  std::atomic<std::uint64_t> purge_due_ms_{0};  // No look at the purge order before this time.
};

extern Store store;

// What was configured. It lies apart from the store, all of which is zero at first and so takes no
// room in the file, and no memory before it is used.
struct PurgePolicy {
  std::atomic<std::uint64_t> delay_ms{500};
  std::atomic<std::size_t> keep_slices{256};
  // From this size on the store grows by huge pages; 0: never.
  std::atomic<std::size_t> huge_from_slices{(std::size_t{8} << 20) >> slice_shift};
};
extern PurgePolicy policy;

}  // namespace tarn
