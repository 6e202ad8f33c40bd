// page_map: see page_map.hpp.
//
// SPDX-License-Identifier: MIT
#include "source/page_map.hpp"

#include "base/check.hpp"
#include "os/vm.hpp"

namespace tarn {

constinit PageMap page_map;

bool PageMap::cover(const std::byte* start, std::size_t bytes) noexcept {
  const std::uintptr_t first = address_of(start) >> leaf_shift;
  const std::uintptr_t last = (address_of(start) + bytes - 1) >> leaf_shift;
  if (last >= root_entries) return false;  // The OS gave an address that no hint asked for.
  for (std::uintptr_t i = first; i <= last; ++i) {
    if (root_[i].load() != 0) continue;
    void* leaf = first_leaf_;
    if (first_leaf_used_) {
      leaf = os::vm_reserve(leaf_entries * sizeof(Entry));
      if (leaf == nullptr) return false;
      os::vm_name(leaf, leaf_entries * sizeof(Entry), "tarn: page map");
    }
    first_leaf_used_ = true;
    const std::uint64_t offset =
        address_of(leaf) - reinterpret_cast<std::uintptr_t>(&empty_leaf_[0]);
    root_[i].store(offset);
  }
  return true;
}

void PageMap::set(const std::byte* start, std::size_t slices, const Span* span) noexcept {
  const std::uint64_t value = distance(span);
  std::uintptr_t address = address_of(start);
  for (std::size_t i = 0; i < slices; ++i, address += slice_bytes) {
    TARN_ASSERT(root_[address >> leaf_shift].load() != 0);
    entry_of(address)->store(value);
  }
}

void PageMap::clear(const std::byte* start, std::size_t slices) noexcept {
  std::uintptr_t address = address_of(start);
  for (std::size_t i = 0; i < slices; ++i, address += slice_bytes) {
    entry_of(address)->store(0);
  }
}

void PageMap::set_ends(const Span* span) noexcept {
  set(span->base, 1, span);
  if (span->slices > 1) set(span->end() - slice_bytes, 1, span);
}

void PageMap::clear_ends(const std::byte* start, std::size_t slices) noexcept {
  clear(start, 1);
  if (slices > 1) clear(start + (slices - 1) * slice_bytes, 1);
}

}  // namespace tarn
