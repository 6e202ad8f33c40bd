// gathering: see gathering.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/gathering.hpp"

#include "engine/threads/post.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// The most that a chain may have: blocks, bytes, and a part of the page's blocks, since a page that
// waits for a chain cannot become empty.
constexpr std::size_t chain_blocks_most = 16;
constexpr std::size_t chain_bytes_most = slice_bytes;
constexpr std::size_t chain_part = 4;

// After so many chains were given one more is, whose page may not come again.
constexpr std::uint32_t turns_between = 4;

std::uint32_t most_of(const Page* page, std::size_t size_class) noexcept {
  const std::size_t size = class_block_bytes[size_class];
  std::size_t most = page->bytes() / size / chain_part;
  if (most > chain_bytes_most / size) most = chain_bytes_most / size;
  return static_cast<std::uint32_t>(most < chain_blocks_most ? most : chain_blocks_most);
}

void give(Thread& thread, std::size_t i) noexcept {
  GatheredChain& chain = thread.gathered[i];
  Page* const page = chain.page;
  if (page == nullptr) return;
  // Before they are the page's: what a fork finds in between is lost in the child, not freed twice.
  chain.page = nullptr;
  thread.gathered_used &= ~(1u << i);
  TARN_FORK_FENCE();
  free_remote(*page, chain.first, chain.last, chain.count);
}

}  // namespace

bool gather(Thread& thread, Page* page, Block* block, std::size_t size_class) noexcept {
  TARN_ASSERT(&thread == current_thread && page->is_block(block));
  const RemoteState state = Remote{page->remote.load(std::memory_order_relaxed)}.state();
  if (TARN_UNLIKELY(state == RemoteState::dead || state == RemoteState::purged)) return false;
  const std::size_t i = address_of(page) / descriptor_bytes % gathered_chains;
  GatheredChain& chain = thread.gathered[i];
  if (chain.page == page) {
    block->next = chain.first;
    TARN_FORK_FENCE();
    chain.first = block;
    TARN_FORK_FENCE();
    if (++chain.count < chain.most) return true;
    give(thread, i);
    if (++thread.gathered_turn % turns_between == 0) {
      give(thread, thread.gathered_turn / turns_between % gathered_chains);
    }
    return true;
  }
  give(thread, i);
  const std::uint32_t most = most_of(page, size_class);
  if (most < 2) {
    free_remote(*page, block, block, 1);
    return true;
  }
  chain.most = static_cast<std::uint16_t>(most);
  chain.size_class = static_cast<SizeClass>(size_class);
  chain.count = 1;
  chain.first = chain.last = block;
  block->next = nullptr;
  TARN_FORK_FENCE();
  chain.page = page;
  thread.gathered_used |= 1u << i;
  return true;
}

void give_gathered(Thread& thread) noexcept {
  for (std::uint32_t rest = thread.gathered_used; rest != 0; rest &= rest - 1) {
    give(thread, static_cast<std::size_t>(__builtin_ctz(rest)));
  }
}

}  // namespace tarn
