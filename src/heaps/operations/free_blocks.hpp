// free_blocks: which blocks of a page are free, for walks and for looks at one block.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/layout/page_plan.hpp"
#include "engine/pages/page.hpp"
#include "heaps/hardened/hardened.hpp"

namespace tarn {

// A snapshot: a visitor of a walk may free blocks later.
class FreeBlocks {
 public:
  explicit FreeBlocks(const Page& page) noexcept : page_(page), carved_(page.carved) {
    add(page.free);
    add(page.local_free);
    // Acquire: pairs with the frees that built the list.
    const Remote seen{page.remote.load(std::memory_order_acquire)};
    if (seen.head() != 0) add(page.block_at(decode_head(seen.head())));
    listed_ = count_;
    if (is_hardened(page)) add_sealed();
    // At the end: a list may have vanished while it was walked.
    if (TARN_UNLIKELY(page_has_no_lists(&page))) add_all();
  }
  bool has(std::size_t i) const noexcept { return (bits_[i / 64] >> (i % 64) & 1) != 0; }
  std::size_t carved() const noexcept { return carved_; }
  std::size_t count() const noexcept { return count_; }
  // Those that the page knows to be free. The others are held back, by threads.
  std::size_t listed() const noexcept { return listed_; }

 private:
  void add_all() noexcept {
    for (std::size_t i = 0; i < carved_; ++i) set(i);
    listed_ = carved_ - std::min<std::size_t>(carved_, page_.reserved);
  }

  // What threads have freed and hold back.
  void add_sealed() noexcept {
    for (std::size_t i = 0; i < carved_; ++i) {
      if (hardened_is_free(page_, page_.base + i * page_.block_bytes)) set(i);
    }
  }

  void set(std::size_t i) noexcept {
    if (has(i)) return;
    bits_[i / 64] |= std::uint64_t{1} << (i % 64);
    ++count_;
  }

  // Another thread may be pushing a block meanwhile: a link that makes no sense ends the list.
  void add(const Block* block) noexcept {
    for (; block != nullptr; block = block->next) {
      if (!page_.is_block(block)) return;
      const std::size_t i = page_.offset_of(block) / page_.block_bytes;
      if (i >= carved_ || has(i)) return;
      set(i);
    }
  }

  const Page& page_;
  std::size_t carved_;
  std::size_t count_ = 0;
  std::size_t listed_ = 0;
  std::array<std::uint64_t, page_blocks_max / 64 + 1> bits_{};
};

}  // namespace tarn
