// gathering: see gathering.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/gathering.hpp"

#include <new>

#include "engine/store/store.hpp"
#include "engine/threads/post.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// The most that a chain may have: blocks, bytes, and a part of the page's blocks, since a page that
// waits for a chain cannot become empty. And the most that all chains of a thread may.
constexpr std::size_t chain_blocks_most = 16;
constexpr std::size_t chain_bytes_most = 2 * slice_bytes;
constexpr std::size_t chain_part = 4;
constexpr std::size_t gathered_block_most = 2048;  // Larger ones are not waited for.
constexpr std::size_t gathered_bytes_most = 256 * 1024;

// After so many full chains one more is given, whose page may not come again.
constexpr std::uint32_t gives_between = 4;

std::uint32_t most_of(const Page* page, std::size_t size_class) noexcept {
  const std::size_t size = class_block_bytes[size_class];
  if (size > gathered_block_most) return 1;
  std::size_t most = page->bytes() / size / chain_part;
  if (most > chain_bytes_most / size) most = chain_bytes_most / size;
  return static_cast<std::uint32_t>(most < chain_blocks_most ? most : chain_blocks_most);
}

// Null when out of memory.
Gathered::Chains* provide_chains(Gathered& gathered) noexcept {
  Gathered::Chains* const known = gathered.chains.load(std::memory_order_relaxed);
  if (TARN_LIKELY(known != nullptr) || gathered.refused) return known;
  void* const memory = store.allocate_record(sizeof(Gathered::Chains));
  gathered.refused = memory == nullptr;
  if (gathered.refused) return nullptr;
  auto* const made = new (memory) Gathered::Chains{};
  gathered.chains.store(made, std::memory_order_release);  // Pairs with for_each().
  return made;
}

void give(Gathered& gathered, std::size_t place) noexcept {
  GatheredChain& chain = (*gathered.chains.load(std::memory_order_relaxed))[place];
  Page* const page = chain.page;
  if (page == nullptr) return;
  // Before they are the page's: what a fork finds in between is lost in the child, not freed twice.
  chain.page = nullptr;
  gathered.set_used(place, false);
  gathered.bytes_most -= chain.bytes_most();
  TARN_FORK_FENCE();
  free_remote(*page, chain.first, chain.last, chain.count);
  TARN_FORK_FENCE();
  chain.first = nullptr;  // Until here it leads to the blocks, for a search.
}

// One after the other, so that each is given in the end.
void give_one_in_turn(Gathered& gathered) noexcept {
  give(gathered, gathered.turn++ % Gathered::places);
}

}  // namespace

bool gather(Thread& thread, Page* page, Block* block, std::size_t size_class) noexcept {
  TARN_ASSERT(&thread == current_thread && page->is_block(block));
  Gathered& gathered = thread.gathered;
  const std::uint32_t most = most_of(page, size_class);
  Gathered::Chains* const chains = most < 2 ? nullptr : provide_chains(gathered);
  if (TARN_UNLIKELY(chains == nullptr)) return false;
  const std::size_t place = Gathered::place_of(page);
  GatheredChain& chain = (*chains)[place];
  if (chain.page == page) {
    chain.push(block);
    if (chain.count < chain.most) return true;
    give(gathered, place);
    if (++gathered.gives % gives_between == 0) give_one_in_turn(gathered);
    return true;
  }
  const RemoteState state = Remote{page->remote.load(std::memory_order_relaxed)}.state();
  if (TARN_UNLIKELY(state == RemoteState::dead || state == RemoteState::purged)) return false;
  give(gathered, place);
  chain.most = static_cast<std::uint16_t>(most);
  chain.size_class = static_cast<SizeClass>(size_class);
  chain.base = page->base;
  chain.inverse = class_block_inverses[size_class];
  chain.end = static_cast<std::uint32_t>(page->bytes() / class_block_bytes[size_class] *
                                         class_block_bytes[size_class]);
  chain.count = 1;
  chain.first = chain.last = block;
  block->next = nullptr;
  TARN_FORK_FENCE();
  chain.page = page;
  gathered.set_used(place, true);
  gathered.bytes_most += chain.bytes_most();
  while (gathered.bytes_most > gathered_bytes_most) give_one_in_turn(gathered);
  return true;
}

void give_gathered(Thread& thread) noexcept {
  thread.gathered.refused = false;
  for (std::size_t word = 0; word < thread.gathered.used.size(); ++word) {
    std::uint64_t rest = thread.gathered.used[word];
    for (; rest != 0; rest &= rest - 1) {
      give(thread.gathered, word * 64 + static_cast<std::size_t>(__builtin_ctzll(rest)));
    }
  }
}

}  // namespace tarn
