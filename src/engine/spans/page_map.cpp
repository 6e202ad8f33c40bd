// page_map: see page_map.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/page_map.hpp"

#include "platform/base/check.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

constinit PageMap page_map;

namespace {
constexpr std::size_t leaf_bytes = sizeof(PageMap::Leaf);

// Entries worth a call of the OS: those of 8 MiB.
constexpr std::size_t forget_bytes_min = 4 * slice_bytes;

std::size_t first_index(const std::byte* start) noexcept { return address_of(start) >> leaf_shift; }
std::size_t last_index(const std::byte* start, std::size_t bytes) noexcept {
  return (address_of(start) + bytes - 1) >> leaf_shift;
}
}  // namespace

void PageMap::set_leaf(std::size_t index, const Leaf* leaf) noexcept {
  TARN_ASSERT(index < root_entries && root_[index].load() == 0);
  TARN_ASSERT(leaf != nullptr && leaf != &empty_leaf_);
  root_[index].store(address_of(leaf) - address_of(&empty_leaf_));
}

bool PageMap::cover(const std::byte* start, std::size_t bytes) noexcept {
  TARN_ASSERT(bytes != 0 && address_of(start) % slice_bytes == 0);
  const std::size_t last = last_index(start, bytes);
  if (last >= root_entries) return false;  // The OS gave an address that no hint asked for.
  for (std::size_t i = first_index(start); i <= last; ++i) {
    if (root_[i].load() != 0) continue;
    void* leaf = &first_leaf_;
    if (first_leaf_used_) {
      leaf = os::vm_reserve_sparse(leaf_bytes);
      if (leaf == nullptr) return false;
      os::vm_name(leaf, leaf_bytes, "tarn: page map");
    }
    first_leaf_used_ = true;
    TARN_FORK_FENCE();
    set_leaf(i, static_cast<const Leaf*>(leaf));
  }
  return true;
}

bool PageMap::cover_from_static(const std::byte* start, std::size_t bytes) noexcept {
  TARN_ASSERT(bytes != 0 && address_of(start) % slice_bytes == 0);
  const std::size_t first = first_index(start);
  const std::size_t last = last_index(start, bytes);
  if (last >= root_entries) return false;
  std::size_t missing = 0;
  for (std::size_t i = first; i <= last; ++i) missing += root_[i].load() == 0 ? 1 : 0;
  if (missing > static_leaves_ - leaves_used_) return false;
  for (std::size_t i = first; i <= last; ++i) {
    if (root_[i].load() == 0) set_leaf(i, &leaves_[leaves_used_++]);
  }
  TARN_ASSERT(leaves_used_ <= static_leaves_);
  return true;
}

PageMap::Reserve PageMap::reserve_leaves(std::size_t bytes) noexcept {
  const std::size_t count = (bytes >> leaf_shift) + 2;
  void* const leaves = os::vm_reserve_sparse(count * leaf_bytes);
  if (leaves == nullptr) return {};
  os::vm_name(leaves, count * leaf_bytes, "tarn: page map");
  return {static_cast<Leaf*>(leaves), count};
}

void PageMap::release(Reserve reserve) noexcept {
  if (reserve.count != 0) os::vm_release(reserve.leaves, reserve.count * leaf_bytes);
}

void PageMap::cover(const std::byte* start, std::size_t bytes, Reserve& reserve) noexcept {
  const std::size_t last = last_index(start, bytes);
  for (std::size_t i = first_index(start); i <= last; ++i) {
    if (root_[i].load() != 0) continue;
    TARN_CHECK(reserve.count != 0 && i < root_entries);
    TARN_ASSERT(reserve.leaves != nullptr);
    set_leaf(i, reserve.leaves++);
    --reserve.count;
  }
}

// Calls visit(leaf, first, end) with the indices of the range in each leaf.
template <class Visit>
void PageMap::for_each_part(const std::byte* start, std::size_t slices, Visit visit) noexcept {
  TARN_ASSERT(address_of(start) % slice_bytes == 0);
  for (std::uintptr_t address = address_of(start); slices != 0;) {
    const std::size_t first = index_of(address);
    const std::size_t in_leaf = leaf_entries - first;
    const std::size_t count = slices < in_leaf ? slices : in_leaf;
    visit(*leaf_at(address), first, first + count);
    slices -= count;
    address += count << slice_shift;
  }
}

void PageMap::set_all(const std::byte* start, std::size_t slices, std::uint64_t value) noexcept {
  for_each_part(start, slices, [&](Leaf& leaf, std::size_t i, std::size_t end) noexcept {
    for (; i != end; ++i) leaf.entries[i].store(value);
  });
}

void PageMap::set(const std::byte* start, std::size_t slices, const Span* span) noexcept {
  TARN_ASSERT(slices != 0);
  TARN_ASSERT(span != foreign() && address_of(span) % cache_line_bytes == 0);
  set_all(start, slices, distance(span));
}

void PageMap::clear(const std::byte* start, std::size_t slices) noexcept {
  set_all(start, slices, 0);
}

void PageMap::tag(const std::byte* start, std::size_t slices, SliceTag tag) noexcept {
  for_each_part(start, slices, [&](Leaf& leaf, std::size_t i, std::size_t end) noexcept {
    for (; i != end; ++i) __atomic_store_n(&leaf.tags[i], tag, __ATOMIC_RELAXED);
  });
}

void PageMap::retag(const std::byte* start, std::size_t slices, SliceTag tag) noexcept {
  for_each_part(start, slices, [&](Leaf& leaf, std::size_t i, std::size_t end) noexcept {
    for (; i != end; ++i) {
      SliceTag seen = __atomic_load_n(&leaf.tags[i], __ATOMIC_RELAXED);
      while (seen != hosted_tag &&
             !__atomic_compare_exchange_n(&leaf.tags[i], &seen, tag, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED)) {
      }
    }
  });
}

void PageMap::forget(const std::byte* start, std::size_t slices) noexcept {
  for_each_part(start, slices, [&](Leaf& leaf, std::size_t i, std::size_t end) noexcept {
    const std::uintptr_t first = address_of(&leaf.entries[i]);
    const std::uintptr_t whole = align_up(first, slice_bytes);
    const std::uintptr_t whole_end = align_down(address_of(&leaf.entries[end]), slice_bytes);
    std::size_t cleared = i;  // Up to here, and from `rest` on, entries are written.
    std::size_t rest = i;
    if (whole + forget_bytes_min <= whole_end &&
        os::vm_purge(reinterpret_cast<void*>(whole), whole_end - whole)) {
      cleared += (whole - first) / sizeof(Entry);
      rest += (whole_end - first) / sizeof(Entry);
    }
    for (; i != cleared; ++i) leaf.entries[i].store(0);
    for (; rest != end; ++rest) leaf.entries[rest].store(0);
  });
  TARN_ASSERT(is_clear(start, slices));
}

#ifdef TARN_DEBUG
bool PageMap::check() const noexcept {
  for (const Entry& entry : empty_leaf_.entries) {
    if (entry.load() != 0) return false;
  }
  for (const SliceTag tag : empty_leaf_.tags) {
    if (tag != 0) return false;
  }
  for (const std::byte byte : foreign_.zeros) {
    if (byte != std::byte{0}) return false;
  }
  return leaves_used_ <= static_leaves_;
}

bool PageMap::is_clear(const std::byte* start, std::size_t slices) const noexcept {
  constexpr std::size_t looks_max = 32;
  const std::size_t step = slices <= looks_max ? 1 : slices / looks_max;
  const auto is_clear_at = [&](std::size_t i) noexcept {
    const std::byte* const p = start + (i << slice_shift);
    return span_of(p) == foreign() && tag_of(p) == 0;
  };
  for (std::size_t i = 0; i < slices; i += step) {
    if (!is_clear_at(i)) return false;
  }
  return slices == 0 || is_clear_at(slices - 1);
}
#endif

const Span* PageMap::span_around(const void* p, SpanKind kind,
                                 std::size_t slices_most) const noexcept {
  if (address_of(p) >> address_bits != 0) return nullptr;
  const auto* at = static_cast<const std::byte*>(p);
  for (std::size_t n = 0; n != slices_most && address_of(at) >= slice_bytes; ++n) {
    const Span* const span = span_of(at);
    if (span->kind_now() == kind && span->base <= p && p < span->end()) return span;
    at -= slice_bytes;
  }
  return nullptr;
}

}  // namespace tarn
