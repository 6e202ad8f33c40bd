// seal: the last word of each block of a page of a hardened heap. It says what the block is, and
// only the process that wrote it can have written it (docs/design/hardened.md).
//
//   live | what was asked for ........................ | unused: canary ... | seal |
//   free | link  | freed | 0 ......... | as it was | 0 ..... | as it was | seal |
//          8 bytes 8       up to         what is     the tail: the last of
//                          seal_watched_ in between  what was asked for
//                          bytes
//
// The first 8 bytes are freed_byte, as the next 8 are, while the block is on no list.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "engine/pages/page.hpp"
#include "platform/base/bits.hpp"

namespace tarn {

inline constexpr std::size_t seal_bytes = sizeof(std::uint64_t);

// So many bytes of a block are zeroed when it is freed, and looked at when it is taken again.
inline constexpr std::size_t seal_watched_bytes = 1024;

// Likewise of the last ones that were asked for, as far as they are on the seal's OS page: another
// one may never have been touched.
inline constexpr std::size_t seal_tail_bytes = 64;

// Pages of so many blocks or more keep the first one back, so that what is written in front of the
// second is found, too. Little of it is ever touched.
inline constexpr std::uint32_t seal_reserving_capacity = 4;

// Of what seals are made. Written once, before the first of them.
struct SealSecrets {
  std::uint64_t added = 0;
  std::uint64_t factor = 0;  // Odd.

  // Of each address another number, from which neither secret can be had: the two halves of a
  // product folded into one.
  std::uint64_t number_of(const void* p) const noexcept {
    __extension__ using Product = unsigned __int128;
    const Product product = Product{address_of(p) ^ added} * factor;
    return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
  }
};
extern SealSecrets seal_secrets;

// What a seal says: | 0 | unused 24 | origin 7 | live 1 | 0 in the 8 lowest, which an overrun by
// one byte hits |. Of a block that is live, or was: the bytes between its last one and the seal,
// and what the caller gave (heaps/heap/request.hpp).
struct SealWord {
  static constexpr unsigned live_shift = 8;
  static constexpr unsigned origin_shift = live_shift + 1;
  static constexpr unsigned unused_shift = origin_shift + 7;
  static constexpr unsigned bits = unused_shift + 24;
  static constexpr std::uint64_t live_bit = std::uint64_t{1} << live_shift;
  static constexpr std::uint64_t first_byte = live_bit - 1;
  // What is 0 of each seal that is whole.
  static constexpr std::uint64_t zeros = ~std::uint64_t{0} << bits | first_byte;
  static constexpr std::uint32_t unused_most = (1U << (bits - unused_shift)) - 1;
  static constexpr unsigned origin_most = (1U << (unused_shift - origin_shift)) - 1;

  std::uint64_t word;

  constexpr bool is_whole() const noexcept { return (word & zeros) == 0; }
  // The next two at once, by one comparison.
  constexpr bool is_live() const noexcept { return (word & (zeros | live_bit)) == live_bit; }
  constexpr bool is_free() const noexcept { return (word & (zeros | live_bit)) == 0; }
  // Of a seal that is not whole: its bytes in front of the first one that is known to have changed.
  constexpr unsigned whole_bytes() const noexcept {
    return static_cast<unsigned>(std::countr_zero(word & zeros)) / 8;
  }
  constexpr std::uint8_t origin() const noexcept {
    return static_cast<std::uint8_t>(word >> origin_shift & origin_most);
  }
  constexpr std::uint32_t unused() const noexcept {
    return static_cast<std::uint32_t>(word >> unused_shift) & unused_most;
  }
  static constexpr SealWord live(std::uint8_t origin, std::uint32_t unused) noexcept {
    return {std::uint64_t{unused} << unused_shift | std::uint64_t{origin} << origin_shift |
            live_bit};
  }
  // What is left of a live block's.
  constexpr SealWord as_free() const noexcept { return {word - live_bit}; }
};

// The next three are for any place: of a page's block it is the last eight bytes, of a large block
// what follows the bytes that were asked for. A seal is of the block at p, and of no other.
inline SealWord seal_read(const void* place, const void* p) noexcept {
  std::uint64_t seal = 0;
  __builtin_memcpy(&seal, place, sizeof seal);
  return {seal ^ seal_secrets.number_of(p)};
}
// Nothing lies there: its page's memory has gone, with all blocks free. No seal looks so, but for
// one in 2^64.
inline bool seal_is_gone(const void* place) noexcept {
  std::uint64_t seal = 0;
  __builtin_memcpy(&seal, place, sizeof seal);
  return seal == 0;
}
inline void seal_write(void* place, const void* p, SealWord says) noexcept {
  const std::uint64_t seal = says.word ^ seal_secrets.number_of(p);
  __builtin_memcpy(place, &seal, sizeof seal);
}

// The next three: p is a block of the page.
inline std::byte* seal_place(const Page& page, const void* p) noexcept {
  return static_cast<std::byte*>(const_cast<void*>(p)) + page.block_bytes - seal_bytes;
}

// Where a free block's first bytes end. They are no address, nor zero: what goes from block to
// block goes astray there, and is stopped.
inline std::byte* seal_head_end(const Page& page, const void* p) noexcept {
  std::byte* const end = static_cast<std::byte*>(const_cast<void*>(p)) + 2 * sizeof(Block);
  return end < seal_place(page, p) ? end : seal_place(page, p);
}

// Where what is zero of a free block ends, but for its tail.
inline std::byte* seal_watched_end(const Page& page, const void* p) noexcept {
  std::byte* const end = static_cast<std::byte*>(const_cast<void*>(p)) + seal_watched_bytes;
  return end < seal_place(page, p) ? end : seal_place(page, p);
}
struct SealTail {  // Both are aligned to 8.
  std::byte* begin;
  std::byte* end;
};
// pre: unused, of the block's seal, is no more than there is in front of that
inline SealTail seal_tail(const Page& page, const void* p, std::uint32_t unused) noexcept {
  std::byte* const seal = seal_place(page, p);
  std::byte* const with_seal = seal - address_of(seal) % slice_bytes;
  std::byte* const watched_end = seal_watched_end(page, p);
  std::byte* const least = watched_end < with_seal ? with_seal : watched_end;
  std::byte* const end = seal - unused / 8 * 8;
  if (end <= least) return {least, least};
  return {end - least < std::ptrdiff_t{seal_tail_bytes} ? least : end - seal_tail_bytes, end};
}

// Makes the blocks that page_carve() has just made, so many, as freed ones are, and puts them in an
// order that nobody can foresee. Returns how many are on page->free: one less, or none, where the
// page's first one is reserved. pre: they are on page->free, side by side
std::uint32_t page_seal(Page& page, std::uint32_t count) noexcept;

}  // namespace tarn
