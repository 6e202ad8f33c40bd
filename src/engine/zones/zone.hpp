// zone: memory that one heap has to itself. Spans are cut from chunks that are provided from
// outside (heaps/heap/zone_chunks.cpp). A bit for each slice of a chunk says whether it is in use,
// so free memory needs no descriptors.
//
//   chunk:  | Chunk | Zone, in the first | bits | records, in a region | slices: spans, free ... |
//
// A region is a zone of one chunk with everything inside: descriptors, records and, where the page
// map has no room for its addresses, a table in place of the page map.
//
// Lock order: a record's lock, this one, the store's. Nothing is called under it but the OS.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/store/store.hpp"
#include "engine/zones/slice_bits.hpp"
#include "platform/os/thread.hpp"
#include "tarn/source/source.h"

namespace tarn {

struct ZoneTraits {
  bool region = false;     // One chunk for ever, with all that belongs to the zone.
  bool zeroed = false;     // A chunk reads as zero at first.
  bool purgeable = false;  // The contents of free slices may go to the OS.
  bool secret = false;     // All but the heads is locked in memory, not dumped, and wiped on fork.
  std::size_t chunk_bytes_min = 0;
  std::size_t chunk_bytes_max = 0;
  tarn_source source{};  // Called by heaps/heap/zone_chunks.cpp, never from here; none: the OS.
};

// A chunk as its provider knows it.
struct Piece {
  void* start = nullptr;
  std::size_t bytes = 0;
};

class Zone {
 public:
  // Makes a zone in its first chunk. Null when that is too small, or the page map cannot cover it.
  static Zone* begin(Piece piece, const ZoneTraits& traits) noexcept;

  // How large a chunk must be for a span of so many slices, whatever its alignment; 0: too large.
  static std::size_t chunk_bytes_for(std::size_t slices, std::size_t alignment) noexcept;

  // Adds a chunk; false when the page map cannot cover it.
  bool add(Piece piece) noexcept;

  // As Store::take(); null when no chunk has room, or a region no descriptor.
  Span* take(std::size_t slices, std::size_t alignment) noexcept;

  // pre: its entries are cleared (unmap)
  void give(Span* span) noexcept;

  // Gives a chain (by next) of spans in use, and clears their entries.
  void give_all(Span* chain) noexcept;

  // As Store::extend() and Store::shrink().
  bool extend(Span* span, std::size_t slices) noexcept;
  void shrink(Span* span, std::size_t slices) noexcept;

  // The way from addresses to the span: for all of its slices, or for the first and the last.
  void map(const Span* span, bool all) noexcept;
  void unmap(const std::byte* start, std::size_t slices, bool all) noexcept;
  Span* span_at(const void* p) const noexcept;  // pre: in the region, which has a table

  // Takes out an empty chunk that is not the first. False when there is none, or, unless `all`,
  // when the empty ones are not too many.
  bool take_out(Piece* piece, bool all) noexcept;
  bool has_surplus() const noexcept { return surplus_.load(std::memory_order_relaxed); }
  Piece first_piece() const noexcept { return first_->piece; }

  // Gives what is free in chunks that are in use to the OS, when it is much or `all` is wanted.
  void purge(bool all) noexcept;

  // For a region: a record that stays until the zone ends; null when there is no room.
  void* allocate_record(std::size_t bytes) noexcept;

  const ZoneTraits& traits() const noexcept { return traits_; }
  std::size_t chunk_bytes() noexcept;  // The bytes of all chunks.

  // Calls visit(start, bytes) for all memory in which blocks may lie. Holds the lock.
  template <class Visit>
  void for_each_range(Visit visit) noexcept {
    os::Locked locked(lock_);
    for (const Chunk* c = first_; c != nullptr; c = c->next) {
      visit(c->base + (c->head_slices << slice_shift), (c->bits.slices() - c->head_slices)
                                                           << slice_shift);
    }
  }

  // Calls visit(start, bytes) for all chunks, with their heads. Does not take the lock. pre: no
  // other thread changes the zone
  template <class Visit>
  void for_each_chunk(Visit visit) const noexcept {
    for (const Chunk* c = first_; c != nullptr; c = c->next) {
      visit(c->base, c->bits.slices() << slice_shift);
    }
  }
  bool is_locked() const noexcept { return lock_.is_held(); }

  // Calls visit(span) for every descriptor inside, idle ones too.
  template <class Visit>
  void for_each_span(Visit visit) noexcept {
    for (DescriptorBlock* b = descriptors_; b != nullptr; b = b->next) {
      for (std::size_t i = 0; i < block_descriptors_; ++i) {
        visit(reinterpret_cast<Span*>(b->bytes + i * descriptor_bytes));
      }
    }
  }

  // Takes out of the page map what vanished threads have left, before the end of the zone.
  void forget_lost() noexcept;

  // In the child of a fork. What a vanished thread held half-done is free again. A secret zone that
  // cannot be locked again gives no more spans.
  void recover_after_fork() noexcept;

  // True when the chunks' bits agree with what the zone counts, and the chunks with each other.
  bool check() noexcept {
    os::Locked locked(lock_);
    return check_locked();
  }

 private:
  friend class Regions;
  friend struct ZoneAccess;  // Of the tests.

  struct Chunk {
    Chunk* next = nullptr;
    std::byte* base = nullptr;
    std::size_t head_slices = 0;
    std::size_t touched = 0;  // Slices from here on were never in use.
    Piece piece{};
    SliceBits bits{};

    std::size_t index_of(const void* p) const noexcept {
      return static_cast<std::size_t>(static_cast<const std::byte*>(p) - base) >> slice_shift;
    }
    bool has(const void* p) const noexcept {
      return p >= base && p < base + (bits.slices() << slice_shift);
    }
    bool empty() const noexcept { return bits.free_slices() == bits.slices() - head_slices; }
  };
  static constexpr std::size_t block_descriptors_ = 7;
  struct alignas(cache_line_bytes) DescriptorBlock {
    DescriptorBlock* next;
    alignas(cache_line_bytes) std::byte bytes[block_descriptors_ * descriptor_bytes];
  };
  struct alignas(cache_line_bytes) RecordArea {  // At the start of slices that hold records.
    RecordArea* next;
    std::size_t slices;
  };

  static std::byte* first_slice_in(Piece piece) noexcept;
  static std::size_t slices_in(Piece piece) noexcept;
  static bool may_be_region(Piece piece) noexcept;
  static Chunk* lay_out(Piece piece, std::size_t own_bytes, std::byte** own) noexcept;
  Chunk* chunk_of(const void* p) const noexcept;
  bool prepare(const Chunk& chunk) noexcept;
  Span* take_locked(Span* span, std::size_t slices, std::size_t alignment) noexcept;
  Span* take_descriptor_locked() noexcept;
  void give_descriptor(Span* span) noexcept;
  void give_slices_locked(const std::byte* start, std::size_t slices) noexcept;
  void* allocate_record_locked(std::size_t bytes) noexcept;
  bool check_locked() const noexcept;
  bool is_dirty_locked() const noexcept;
  void note_surplus_locked() noexcept;
  bool begin_region() noexcept;
  void clear_bits() noexcept;
  void take_back_descriptors() noexcept;
  void mark_used(const Span* span) noexcept;
  bool is_in_use(const Span* span) const noexcept;
  const Span* span_of(const void* p) const noexcept {  // For assertions.
    return table_ != nullptr ? span_at(p) : page_map.span_of(p);
  }
  bool may_have_host() const noexcept;
  void restore_host(const std::byte* start, std::size_t slices) noexcept;

  os::Lock lock_;
  ZoneTraits traits_;
  // The first chunk, in which the zone itself lies, and then the others, the oldest first. A search
  // for room begins here, so that new chunks become empty.
  Chunk* first_ = nullptr;
  Chunk* last_ = nullptr;
  std::atomic<bool> surplus_{false};
  bool unlocked_ = false;         // A secret zone in the child of a fork, where it is not locked.
  std::size_t used_slices_ = 0;   // The slices of spans in use.
  std::size_t empty_slices_ = 0;  // The slices of chunks other than the first that have no span.
  std::size_t given_slices_ = 0;  // The slices that were given since the last purge.

  // Of a region.
  std::byte* records_ = nullptr;
  std::byte* records_end_ = nullptr;
  RecordArea* areas_ = nullptr;
  DescriptorBlock* descriptors_ = nullptr;
  Span* spare_ = nullptr;                // Idle descriptors, by next.
  std::atomic<Span*>* table_ = nullptr;  // Null where the page map has the addresses.
  Span* host_ = nullptr;                 // The span in whose block it lies, if that is tarn's.
  Zone* next_region_ = nullptr;
};

// All regions that are in use.
class Regions {
 public:
  // False when it overlaps one that is.
  bool add(Zone& zone) noexcept;
  bool has_room_for(Piece piece) noexcept;
  void remove(Zone& zone) noexcept;  // pre: it was added

  // The span in a region that the page map does not cover; null when there is none.
  Span* find(const void* p) noexcept {
    return with_table_.load(std::memory_order_relaxed) == 0 ? nullptr : search(p);
  }
  void recover_after_fork() noexcept { lock_.recover_after_fork(); }

 private:
  Span* search(const void* p) noexcept;
  bool has_room_locked(Piece piece) const noexcept;

  os::Lock lock_;
  Zone* head_ = nullptr;
  std::atomic<std::uint32_t> with_table_{0};
};

extern Regions regions;

}  // namespace tarn
