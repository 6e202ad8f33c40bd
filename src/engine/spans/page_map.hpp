// page_map: finds the descriptor of any address's span, and the tag of any address's slice, in two
// loads and without a branch.
//
//   root (bss, 256 KiB)                        leaf (10 MiB reserved for 4 GiB of addresses in use)
//   +------------------------+                 +---------+--------------------------------+
//   | leaf - empty_leaf, or 0| --------------> | tag ... | descriptor - foreign, or 0 ... |
//   +------------------------+                 +---------+--------------------------------+
//
// Both hold distances, so zero memory is a valid map: unknown addresses lead to empty_leaf, unknown
// slices to the foreign span, which no thread owns. Entries are written by the thread that holds
// the span, or under the store's lock for free spans, and read without order: a pointer that
// reaches another thread brings its entry along. Tags change while blocks are live
// (docs/design/thread_cache.md).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "engine/spans/span.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"

namespace tarn {

// Says whose page a slice is, and of which class (engine/records/thread_cache.hpp). 0: nothing.
using SliceTag = std::uint16_t;
// Of a region in a block of the page, whatever becomes of the page meanwhile: as 0 to all threads.
inline constexpr SliceTag hosted_tag = 0xffff;

class PageMap {
 public:
  // A distance, read and written without order. Plain zero is its initial value, so that compilers
  // put half a million of them into bss without evaluating a constructor for each.
  struct Entry {
    std::uint64_t distance;
    std::uint64_t load() const noexcept { return __atomic_load_n(&distance, __ATOMIC_RELAXED); }
    void store(std::uint64_t d) noexcept { __atomic_store_n(&distance, d, __ATOMIC_RELAXED); }
  };

  // A slice of the address space: its tag and its span are found from one look at the root.
  struct Leaf;
  struct Slice {
    const Leaf* leaf;
    std::uint32_t index;
    TARN_INLINE SliceTag tag() const noexcept;
  };
  // pre, also of the next ones: address < 2^address_bits
  TARN_INLINE Slice slice_of(const void* p) const noexcept {
    return {leaf_of(address_of(p)), index_of(address_of(p))};
  }
  TARN_INLINE Span* span_of(Slice slice) const noexcept;
  TARN_INLINE Span* span_of(const void* p) const noexcept { return span_of(slice_of(p)); }
  TARN_INLINE SliceTag tag_of(const void* p) const noexcept { return slice_of(p).tag(); }

  // The span of the kind, of so many slices at most, in which p lies, whatever p is; null when
  // there is none. For spans to which the map leads from their ends alone: what it says in between
  // may be of former ones. Linear in the slices.
  const Span* span_around(const void* p, SpanKind kind, std::size_t slices_most) const noexcept;

  const Span* foreign() const noexcept { return reinterpret_cast<const Span*>(&foreign_); }

  // Makes the leaves for a range; false when the OS has no memory for one. pre: the store's lock is
  // held
  bool cover(const std::byte* start, std::size_t bytes) noexcept;

  // As above, from static memory alone; false, with nothing done, when that does not suffice.
  bool cover_from_static(const std::byte* start, std::size_t bytes) noexcept;

  // Leaves for a range whose address is not known yet. Any thread.
  struct Reserve {
    Leaf* leaves = nullptr;
    std::size_t count = 0;
  };
  // Enough for any range of `bytes`; none when out of memory.
  static Reserve reserve_leaves(std::size_t bytes) noexcept;
  static void release(Reserve reserve) noexcept;

  // As the first of these, with leaves that it takes out of the reserve. Does not fail. pre: the
  // reserve was made for `bytes` or more
  void cover(const std::byte* start, std::size_t bytes, Reserve& reserve) noexcept;

  // Makes the entries lead to the span. pre, here and for the next four: the range was covered
  void set(const std::byte* start, std::size_t slices, const Span* span) noexcept;
  // Makes the entries lead to the foreign span.
  void clear(const std::byte* start, std::size_t slices) noexcept;
  // Like clear(), but the entries of a long range are dropped and not written, since they may be
  // swapped out.
  void forget(const std::byte* start, std::size_t slices) noexcept;

  // Likewise, for the first and the last slice alone.
  void set_ends(const Span* span) noexcept {
    TARN_ASSERT(span->slices != 0);
    entry_of(address_of(span->base))->store(distance(span));
    entry_of(address_of(span->end()) - slice_bytes)->store(distance(span));
  }
  void clear_ends(const std::byte* start, std::size_t slices) noexcept {
    TARN_ASSERT(slices != 0);
    entry_of(address_of(start))->store(0);
    entry_of(address_of(start) + (slices - 1) * slice_bytes)->store(0);
  }

  // pre, also of retag(): the range was covered
  void tag(const std::byte* start, std::size_t slices, SliceTag tag) noexcept;
  // For a page with live blocks: leaves alone what is tagged as hosted, or is so meanwhile.
  void retag(const std::byte* start, std::size_t slices, SliceTag tag) noexcept;

  // The next two are for assertions, in debug builds alone.
  //
  // True when nothing has been written to what is never written: the empty leaf, the foreign span.
  bool check() const noexcept;
  // True when no address of the range leads to a span or has a tag. Of a long range only some are
  // looked at.
  bool is_clear(const std::byte* start, std::size_t slices) const noexcept;

  // Calls visit(start, bytes) for the leaves that the OS gave.
  template <class Visit>
  void for_each_leaf(Visit visit) const noexcept {
    for (const Entry& root : root_) {
      if (root.load() == 0) continue;
      const auto* const leaf = reinterpret_cast<const std::byte*>(
          reinterpret_cast<std::uintptr_t>(&empty_leaf_) + root.load());
      const auto* const own = reinterpret_cast<const std::byte*>(this);
      if (leaf >= own && leaf < own + sizeof *this) continue;
      visit(leaf, sizeof(Leaf));
    }
  }

  struct Leaf {
    SliceTag tags[leaf_entries];  // In front: hits read these, and so without adding an offset.
    Entry entries[leaf_entries];
  };

 private:
  friend struct PageMapAccess;  // Of the tests.

  // The index within the leaf. The compiler takes the low half of the register.
  static TARN_INLINE std::uint32_t index_of(std::uintptr_t address) noexcept {
    static_assert(leaf_shift == 32 && leaf_entries << slice_shift == std::size_t{1} << 32);
    return static_cast<std::uint32_t>(address) >> slice_shift;
  }
  TARN_INLINE const Leaf* leaf_of(std::uintptr_t address) const noexcept {
    const std::uint64_t leaf = root_[address >> leaf_shift].load();
    auto* found =
        reinterpret_cast<const Leaf*>(reinterpret_cast<std::uintptr_t>(&empty_leaf_) + leaf);
    // Keeps the sum as it stands: gcc would scale the index by hand, an instruction more.
    __asm__("" : "+r"(found));
    return found;
  }
  // As leaf_of(), to write there. pre: the address is covered, so it is not the empty leaf
  Leaf* leaf_at(std::uintptr_t address) noexcept {
    const std::uint64_t leaf = root_[address >> leaf_shift].load();
    TARN_ASSERT(leaf != 0);
    return reinterpret_cast<Leaf*>(reinterpret_cast<std::uintptr_t>(&empty_leaf_) + leaf);
  }
  Entry* entry_of(std::uintptr_t address) noexcept {
    return &leaf_at(address)->entries[index_of(address)];
  }
  template <class Visit>
  void for_each_part(const std::byte* start, std::size_t slices, Visit visit) noexcept;
  void set_all(const std::byte* start, std::size_t slices, std::uint64_t value) noexcept;
  void set_leaf(std::size_t index, const Leaf* leaf) noexcept;
  std::uint64_t distance(const Span* span) const noexcept {
    return reinterpret_cast<std::uintptr_t>(span) - reinterpret_cast<std::uintptr_t>(&foreign_);
  }

  struct alignas(descriptor_bytes) Foreign {
    std::byte zeros[descriptor_bytes] = {};  // A span of kind idle whose page nobody owns.
  };

  // What is written lies together: a page each costs every process a fault. Addresses of mappings
  // have the last entries of the root.
  Entry root_[root_entries] = {};
  bool first_leaf_used_ = false;
  std::size_t leaves_used_ = 0;
  Leaf first_leaf_ = {};  // For the first 4 GiB in use: saves a mapping.
  static constexpr std::size_t static_leaves_ = 2;
  Leaf leaves_[static_leaves_] = {};
  Leaf empty_leaf_ = {};  // Never written.
  Foreign foreign_ = {};  // Never written.
};

inline SliceTag PageMap::Slice::tag() const noexcept {
  return __atomic_load_n(&leaf->tags[index], __ATOMIC_RELAXED);
}

inline Span* PageMap::span_of(Slice slice) const noexcept {
  const std::uint64_t entry = slice.leaf->entries[slice.index].load();
  return reinterpret_cast<Span*>(reinterpret_cast<std::uintptr_t>(&foreign_) + entry);
}

extern PageMap page_map;

}  // namespace tarn
