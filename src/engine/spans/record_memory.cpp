// record_memory: see record_memory.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/record_memory.hpp"

#include "engine/layout/geometry.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"

namespace tarn {

__thread std::uint8_t thread_group = 0;

void* Records::allocate(std::size_t bytes) noexcept {
  TARN_ASSERT(bytes != 0 && thread_group < thread_groups);
  const std::size_t size = align_up(bytes, cache_line_bytes);
  if (size > piece_bytes) return memory_.allocate(size);
  Metadata::Piece& piece = pieces_[thread_group];
  while (piece.bytes() < size) {  // A piece may be shorter than its grain.
    const Metadata::Piece next = memory_.allocate_piece(piece_bytes);
    if (next.start == nullptr) return nullptr;
    if (next.start != piece.end) piece.start = next.start;
    piece.end = next.end;
    TARN_ASSERT_EVERY(64, check());
  }
  std::byte* const record = piece.start;
  piece.start += size;
  TARN_ASSERT(piece.start <= piece.end && address_of(record) % cache_line_bytes == 0);
  return record;
}

void Records::repair() noexcept {
  memory_.repair();
  pieces_ = {};
}

#ifdef TARN_DEBUG
bool Records::check() const noexcept {
  if (!memory_.check()) return false;
  for (const Metadata::Piece& piece : pieces_) {
    if ((piece.start == nullptr) != (piece.end == nullptr) || piece.start > piece.end) return false;
    for (const std::byte* p = piece.start; p != piece.end; ++p) {
      if (*p != std::byte{0}) return false;
    }
  }
  return true;
}
#endif

}  // namespace tarn
