// gathered: see gathered.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/gathered.hpp"

namespace tarn {

void Gathered::recount() noexcept {
  Chains* const all = chains.load(std::memory_order_relaxed);
  used = {};
  bytes_most = 0;
  for (std::size_t i = 0; all != nullptr && i < places; ++i) {
    GatheredChain& chain = (*all)[i];
    if (chain.page == nullptr) {
      chain.first = nullptr;
      continue;
    }
    std::uint32_t blocks = 0;
    for (const Block* block = chain.first; block != nullptr; block = block->next) ++blocks;
    chain.count = blocks;
    bytes_most += chain.bytes_most();
    set_used(i, true);
  }
}

}  // namespace tarn
