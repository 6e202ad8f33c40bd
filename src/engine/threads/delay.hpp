// delay: blocks of hardened heaps that a thread has freed and that are not used again yet. To their
// pages they are live. A block leaves when another one is put in its place, which is drawn at
// random, so nobody can foresee which block a malloc gives next. It goes to the shelf of its class,
// while it is in the processor's cache, or to its page.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "engine/records/thread.hpp"
#include "platform/base/random.hpp"

namespace tarn {

struct Delay {
  static constexpr std::size_t narrow = 64;  // Places for blocks of up to so many bytes:
  static constexpr std::size_t narrow_bytes_max = 4096;
  static constexpr std::size_t wide = 4;  // For larger ones.
  std::array<std::atomic<Block*>, narrow + wide> blocks{};

  // What has left those places and is taken next, of each class of narrow ones.
  struct Shelf {
    static constexpr std::uint32_t most = 16;
    // Of the larger classes there are fewer.
    static constexpr std::uint32_t most_of(std::size_t size_class) noexcept {
      return class_block_bytes[size_class] <= 512 ? most : 4;
    }
    std::uint32_t count = 0;
    std::array<std::atomic<Block*>, most> blocks{};
  };
  std::array<Shelf, class_of(narrow_bytes_max) + 1> shelves{};
  Random random;

  // The block that came to the shelf last; null when there is none.
  TARN_INLINE Block* take(std::size_t size_class) noexcept {
    if (TARN_UNLIKELY(size_class >= shelves.size())) return nullptr;
    Shelf& shelf = shelves[size_class];
    if (shelf.count == 0) return nullptr;
    std::atomic<Block*>& place = shelf.blocks[--shelf.count];
    Block* const block = place.load(std::memory_order_relaxed);
    place.store(nullptr, std::memory_order_relaxed);
    TARN_FORK_FENCE();  // Before it is live: the child of a fork gives what it finds to its page.
    return block;
  }
  // False when the shelf is full.
  TARN_INLINE bool put(std::size_t size_class, Block* block) noexcept {
    if (TARN_UNLIKELY(size_class >= shelves.size())) return false;
    Shelf& shelf = shelves[size_class];
    if (shelf.count == Shelf::most_of(size_class)) return false;
    shelf.blocks[shelf.count++].store(block, std::memory_order_relaxed);
    return true;
  }

  // Calls visit(place, block) for each that has a block.
  template <class Visit>
  void for_each_place(Visit visit) noexcept {
    const auto look = [&](std::atomic<Block*>& place) noexcept {
      Block* const block = place.load(std::memory_order_relaxed);
      if (block != nullptr) visit(place, block);
    };
    for (std::atomic<Block*>& place : blocks) look(place);
    for (Shelf& shelf : shelves) {
      for (std::atomic<Block*>& place : shelf.blocks) look(place);
    }
  }

  // Calls visit(page, block) for each. Any thread; of another moment than what else it reads.
  template <class Visit>
  static void for_each(const std::atomic<Delay*>& of_thread, Visit visit) noexcept {
    Delay* const delay = of_thread.load(std::memory_order_acquire);  // Pairs with its making.
    if (delay == nullptr) return;
    delay->for_each_place([&](const std::atomic<Block*>&, const Block* block) noexcept {
      visit(*static_cast<const Page*>(page_map.span_of(block)), block);
    });
  }
};

// Takes a block that is sealed as free, and returns the one whose place it got: null when the place
// was empty, the block itself when there is no memory for the places. pre: the calling thread's
Block* delay_exchange(Thread& thread, Block* block, std::size_t block_bytes) noexcept;

// Gives all of them to their pages. pre: nobody else uses the thread's
void delay_empty(Thread& thread) noexcept;

}  // namespace tarn
