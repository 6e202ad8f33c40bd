// gathered: the frees of other threads' blocks that a thread has not given to their pages yet
// (engine/threads/gathering.hpp).
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/pages/page.hpp"
#include "platform/base/watched.hpp"

namespace tarn {

// Blocks of one page. Any thread reads the page and the count.
struct alignas(cache_line_bytes) GatheredChain {
  Watched<Page*> page = nullptr;  // Null: none, or on their way to it.
  Block* first = nullptr;         // Linked to `last`, whose link is null. Null: none.
  Block* last = nullptr;
  // What says whether a pointer is a block of the page, without a line of its descriptor.
  const std::byte* base = nullptr;
  std::uint64_t inverse = 0;  // Of the class's blocks.
  std::uint32_t end = 0;      // Of the blocks, from the base.
  Watched<std::uint32_t> count;
  std::uint16_t most = 0;  // How long the chain may get.
  SizeClass size_class = 0;

  // pre: p is in the page
  TARN_INLINE bool has_block(const void* p) const noexcept {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(p) - base);
    return offset < end && is_multiple_by(offset, inverse);
  }
  // pre: it has a page, and the block is of it
  TARN_INLINE void push(Block* block) noexcept {
    block->next = first;
    TARN_FORK_FENCE();
    first = block;
    TARN_FORK_FENCE();
    ++count;
  }
  std::size_t bytes_most() const noexcept { return most * class_block_bytes[size_class]; }
};

struct Gathered {
  static constexpr std::size_t places = 128;
  using Chains = std::array<GatheredChain, places>;

  // Made when the thread frees another one's block for the first time, and never freed.
  std::atomic<Chains*> chains{nullptr};
  std::array<std::uint64_t, places / 64> used{};  // A bit for each place that has a chain.
  bool refused = false;                           // There was no memory for chains; until upkeep.
  std::uint32_t gives = 0;                        // Of full chains.
  std::uint32_t turn = 0;                         // Of those that are given before they are full.
  std::size_t bytes_most = 0;                     // What all of the chains may come to hold.

  static std::size_t place_of(const Page* page) noexcept {
    return address_of(page) / descriptor_bytes % places;
  }
  void set_used(std::size_t place, bool is_used) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << place % 64;
    used[place / 64] = is_used ? used[place / 64] | bit : used[place / 64] & ~bit;
  }

  // Calls visit(chain) for each that has blocks. Any thread.
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for_each_place([&](const GatheredChain& chain) noexcept {
      if (chain.page != nullptr) visit(chain);
    });
  }

  // Calls visit(block) for the first of each chain that is becoming one or is on its way to its
  // page, which may have it by now. pre: the thread does nothing meanwhile
  template <class Visit>
  void for_each_on_its_way(Visit visit) const noexcept {
    for_each_place([&](const GatheredChain& chain) noexcept {
      const Block* const first = chain.first;
      if (chain.page == nullptr && first != nullptr) visit(first);
    });
  }

  // The number of blocks of the class. Any thread; of another moment than what else it reads.
  std::size_t count(std::size_t size_class) const noexcept {
    std::size_t blocks = 0;
    for_each([&](const GatheredChain& chain) noexcept {
      if (chain.size_class == size_class) blocks += chain.count;
    });
    return blocks;
  }

  // In the child of a fork: the thread may have vanished before it counted a block, or a chain.
  void recount() noexcept;

 private:
  template <class Visit>
  void for_each_place(Visit visit) const noexcept {
    const Chains* const all = chains.load(std::memory_order_acquire);
    if (all == nullptr) return;
    for (const GatheredChain& chain : *all) visit(chain);
  }
};

}  // namespace tarn
