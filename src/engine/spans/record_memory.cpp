// record_memory: see record_memory.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/record_memory.hpp"

#include "engine/layout/geometry.hpp"
#include "platform/base/bits.hpp"

namespace tarn {

__thread std::uint8_t thread_group = 0;

void* Records::allocate(std::size_t bytes) noexcept {
  const std::size_t size = align_up(bytes, cache_line_bytes);
  if (size > piece_bytes / 4) return memory_.allocate(size);
  Metadata::Piece& piece = pieces_[thread_group];
  while (piece.bytes() < size) {  // A piece may be shorter than its grain.
    const Metadata::Piece next = memory_.allocate_piece(piece_bytes);
    if (next.start == nullptr) return nullptr;
    if (next.start != piece.end) piece.start = next.start;
    piece.end = next.end;
  }
  std::byte* const record = piece.start;
  piece.start += size;
  return record;
}

void Records::repair() noexcept {
  memory_.repair();
  pieces_ = {};
}

}  // namespace tarn
