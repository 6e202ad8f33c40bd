// seal: see seal.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/pages/seal.hpp"

#include <array>
#include <cstring>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/fill.hpp"
#include "platform/base/random.hpp"

namespace tarn {

constinit SealSecrets seal_secrets;

namespace {

// What is zero of a free block. In a function of its own, since fresh pages need it not.
TARN_NOINLINE void wipe_watched(const Page& page, std::byte* p) noexcept {
  std::byte* const head_end = seal_head_end(page, p);
  const SealTail tail = seal_tail(page, p, 0);
  memset(head_end, 0, static_cast<std::size_t>(seal_watched_end(page, p) - head_end));
  memset(tail.begin, 0, static_cast<std::size_t>(tail.end - tail.begin));
}

}  // namespace

std::uint32_t page_seal(Page& page, std::uint32_t count) noexcept {
  constexpr std::size_t window = 256;  // Blocks that change places with each other.
  std::array<std::uint8_t, window> order;
  auto* first = reinterpret_cast<std::byte*>(page.free);
  TARN_ASSERT(first != nullptr && count != 0);
  const std::size_t size = page.block_bytes;
  const bool zeroed = page.zeroed;
  page.free = nullptr;
  if (page.carved == count && page.capacity >= seal_reserving_capacity) {
    page.reserved = 1;
    seal_write(seal_place(page, first), first, SealWord{0});
    first += size;
    if (--count == 0) return 0;
  }
  Random random;
  random.seed(seal_secrets.number_of(first));
  Block* last = nullptr;
  for (std::size_t left = count; left != 0;) {
    const std::size_t blocks = left < window ? left : window;
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t j = static_cast<std::size_t>(random.below(i + 1));
      order[i] = order[j];
      order[j] = static_cast<std::uint8_t>(i);
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      std::byte* const p = first + order[i] * size;
      memset(p, freed_byte, static_cast<std::size_t>(seal_head_end(page, p) - p));
      if (!zeroed) wipe_watched(page, p);
      seal_write(seal_place(page, p), p, SealWord{0});
      auto* const block = reinterpret_cast<Block*>(p);
      if (last == nullptr) {
        page.free = block;
      } else {
        last->next = block;
      }
      last = block;
    }
    first += blocks * size;
    left -= blocks;
  }
  last->next = nullptr;
  return count;
}

}  // namespace tarn
