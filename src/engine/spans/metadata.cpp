// metadata: see metadata.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/metadata.hpp"

#include <new>

#include "engine/layout/geometry.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/vm.hpp"

namespace tarn {

namespace {
// Address space, not memory: what is not reached is never touched. A quarter MiB describes 2,048
// spans, 128 MiB of busy pages.
constexpr std::size_t region_bytes = 256 * 1024;
}  // namespace

void Metadata::begin_region(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(bytes > sizeof(Region) && address_of(start) % alignof(Region) == 0);
  TARN_ASSERT(cursor_ <= end_ && start != regions_);
  if (regions_ != nullptr) regions_->used_end = cursor_;
  std::byte* const end = static_cast<std::byte*>(start) + bytes;
  Region* const region = new (start) Region{regions_, end, nullptr};
  // A fork sees these in this order: see repair().
  TARN_FORK_FENCE();
  regions_ = region;
  TARN_FORK_FENCE();
  cursor_ = reinterpret_cast<std::byte*>(region + 1);
  TARN_FORK_FENCE();
  end_ = end;
  bytes_reserved_ += bytes;
  TARN_ASSERT(check());
}

void Metadata::repair() noexcept {
  if (regions_ == nullptr) return;
  auto* const first = reinterpret_cast<std::byte*>(regions_ + 1);
  if (cursor_ < first || cursor_ > regions_->end) cursor_ = first;  // Nothing is handed out yet.
  end_ = regions_->end;
}

// Makes room for so many bytes behind the cursor; false when the OS refuses.
bool Metadata::provide(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes != 0 && bytes % cache_line_bytes == 0);
  if (static_cast<std::size_t>(end_ - cursor_) >= bytes) return true;
  const std::size_t room = bytes + sizeof(Region);
  if (regions_ == nullptr && room <= first_region_bytes_) {
    begin_region(first_region_, first_region_bytes_);
    return true;
  }
  const std::size_t wanted = room > region_bytes ? align_up(room, slice_bytes) : region_bytes;
  void* const start = os::vm_reserve_sparse(wanted);
  if (start == nullptr) return false;
  os::vm_name(start, wanted, "tarn: metadata");
  begin_region(start, wanted);
  return true;
}

void* Metadata::allocate(std::size_t bytes) noexcept {
  const std::size_t size = align_up(bytes, cache_line_bytes);
  if (!provide(size)) return nullptr;
  std::byte* const record = cursor_;
  cursor_ += size;
  TARN_ASSERT(cursor_ <= end_ && address_of(record) % cache_line_bytes == 0);
  return record;
}

Metadata::Piece Metadata::allocate_piece(std::size_t grain) noexcept {
  TARN_ASSERT(is_power_of_two(grain) && grain >= slice_bytes);
  if (!provide(cache_line_bytes)) return {};
  const std::size_t whole = grain - (address_of(cursor_) & (grain - 1));
  const auto left = static_cast<std::size_t>(end_ - cursor_);
  const Piece piece{cursor_, cursor_ + (whole < left ? whole : left)};
  cursor_ = piece.end;
  TARN_ASSERT(piece.start < piece.end && piece.end <= end_);
  return piece;
}

#ifdef TARN_DEBUG
bool Metadata::check() const noexcept {
  if (regions_ == nullptr) return cursor_ == nullptr && end_ == nullptr && bytes_reserved_ == 0;
  const auto is_in = [](const Region* region, const std::byte* p) noexcept {
    return p >= reinterpret_cast<const std::byte*>(region + 1) && p <= region->end;
  };
  if (!is_in(regions_, cursor_) || end_ != regions_->end) return false;
  std::size_t reserved = 0;
  for (const Region* region = regions_; region != nullptr; region = region->before) {
    if (region != regions_ && !is_in(region, region->used_end)) return false;
    reserved += static_cast<std::size_t>(region->end - reinterpret_cast<const std::byte*>(region));
  }
  return reserved == bytes_reserved_;
}
#endif

}  // namespace tarn
