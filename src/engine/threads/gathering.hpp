// gathering: frees of other threads' blocks, gathered by page, so that a chain of them takes one
// compare-and-swap. Only blocks of malloc's own heap; how many is bounded in number and in bytes.
// To its page a gathered block is live, so the page stays what it is. All of these are called by
// the thread itself.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/thread.hpp"

namespace tarn {

// True: the block is on the chain of its page, which has room for another one. pre: the page is
// that of p, whatever p is
TARN_INLINE bool gather_more(Thread& thread, Page* page, void* p) noexcept {
  Gathered::Chains* const chains = thread.gathered.chains.load(std::memory_order_relaxed);
  if (TARN_UNLIKELY(chains == nullptr)) return false;
  GatheredChain& chain = (*chains)[Gathered::place_of(page)];
  if (chain.page != page || !chain.has_block(p) || chain.count + 1 >= chain.most) return false;
  thread.cache.mark_freed(p);
  chain.push(static_cast<Block*>(p));
  return true;
}

// Frees a block of another thread's page. False, with nothing done, when the page has no live
// block, or nothing of it is gathered. pre: its slice's tag says that it is one of `size_class`,
// and it is a block
bool gather(Thread& thread, Page* page, Block* block, std::size_t size_class) noexcept;

// Gives everything that was gathered to its pages.
void give_gathered(Thread& thread) noexcept;

}  // namespace tarn
