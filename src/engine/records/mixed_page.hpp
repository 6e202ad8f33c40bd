// mixed_page: one span of 16 KiB for the first blocks of each class of a heap, whatever their
// sizes, so that ten blocks of ten sizes cost one OS page and not ten. Two bits for each 16 bytes
// of it are kept apart from the blocks:
//
//   used   1 1 1 0 0 1 1 0 ...     part of a block
//   first  1 0 0 0 0 1 0 0 ...     where a block begins
//
// The first fit is taken, so blocks lie densely and further OS pages are reached late. A class
// leaves when it has had some blocks, or when one does not fit. The record's lock guards the
// object.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "engine/layout/size_class.hpp"
#include "engine/pages/page.hpp"
#include "platform/base/check.hpp"

namespace tarn {

class MixedPage {
 public:
  static constexpr std::size_t slices = 4;
  static constexpr std::size_t grains = slices * slice_bytes / block_align;
  static constexpr std::size_t bytes_max = 1024;  // Larger blocks have pages from the start.

  // The most that a class gets here. With more it would fill a page of its own.
  static constexpr std::size_t class_allocations_max = 32;
  static constexpr std::size_t class_bytes_max = slice_bytes;

  bool has_left(std::size_t size_class) const noexcept {
    TARN_ASSERT(size_class < bin_count);
    return left_to_[size_class] == 0;
  }
  void leave(std::size_t size_class) noexcept {
    TARN_ASSERT(size_class < bin_count);
    left_to_[size_class] = 0;
  }

  // A block of `bytes` has been taken for the class.
  void count(std::size_t size_class, std::size_t bytes) noexcept;

  // What a block of `bytes` takes up.
  static constexpr std::size_t size_for(std::size_t bytes) noexcept {
    return bytes == 0 ? block_align : (bytes + block_align - 1) / block_align * block_align;
  }

  // Takes room for `bytes`. Returns its offset from the base, or `none`. pre: alignment is a power
  // of two of at most slice_bytes
  static constexpr std::size_t none = SIZE_MAX;
  std::size_t take(std::size_t bytes, std::size_t alignment) noexcept;

  // The size of the block that begins at the offset, 0 when none does.
  std::size_t size_at(std::size_t offset) const noexcept;

  // pre: size_at(offset) != 0. Frees the block.
  void give(std::size_t offset) noexcept;

  // Undoes take(): the block at the offset was just taken for `bytes`.
  void cancel(std::size_t offset, std::size_t bytes) noexcept;

  // Makes the block at the offset `bytes` long in place; false when another one is in the way.
  bool resize(std::size_t offset, std::size_t bytes) noexcept;

  void clear() noexcept;
  bool empty() const noexcept;
  std::uint64_t live_blocks() const noexcept;
  std::uint64_t live_bytes() const noexcept;
  std::uint64_t holes() const noexcept;  // Free runs in front of a block.

  // The offset of the block that this byte is part of; `none` when there is none.
  std::size_t block_around(std::size_t offset) const noexcept;

  // Offset of the first block at or after this one; `none` at the end.
  std::size_t next_block(std::size_t offset) const noexcept;

  // For assertions, in debug builds alone: true when each used byte is part of a block, and each
  // block of used bytes.
  bool check() const noexcept;

  Page* page = nullptr;           // The span; null before the first block and after the last.
  std::uint32_t allocations = 0;  // The number of blocks ever allocated here.
  std::uint32_t slack_bytes = 0;  // The bytes that these blocks got beyond what was asked for.
  std::uint8_t slices_charged = 0;

 private:
  friend struct MixedPageAccess;  // Of the tests.

  static constexpr std::size_t words_ = grains / 64;
  using Bits = std::array<std::uint64_t, words_>;

  static std::size_t find(const Bits& bits, std::size_t from, bool value) noexcept;
  static void fill(Bits& bits, std::size_t from, std::size_t to, bool value) noexcept;
  bool bit(const Bits& bits, std::size_t i) const noexcept {
    return (bits[i / 64] >> (i % 64) & 1) != 0;
  }
  std::size_t end_of(std::size_t first) const noexcept;

  // The blocks, of class_allocations_max, that each class may still have here.
  using Quotas = std::array<std::uint8_t, bin_count>;
  static constexpr Quotas make_full_quotas() noexcept {
    Quotas full{};
    full.fill(class_allocations_max);
    return full;
  }

  Bits used_{};
  Bits first_{};
  Quotas left_to_ = make_full_quotas();
};

}  // namespace tarn
