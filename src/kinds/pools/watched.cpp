// watched: see watched.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/watched.hpp"

#include "kinds/pools/checked_chunk.hpp"
#include "kinds/pools/chunk.hpp"
#include "kinds/pools/chunk_tree.hpp"
#include "kinds/sources/checked_blocks.hpp"
#include "platform/report/misuse.hpp"

namespace tarn {

namespace {

bool explain(const void* owner, const void* address) {
  const auto& pool = *static_cast<const tarn_pool*>(owner);
  const CheckedChunk* const chunk = find_by_address(pool, address);
  TARN_ASSERT(is_watched(pool));
  const OwnerReport block = report_about(pool, chunk, address);
  if (block.start == nullptr) return false;
  explain_owner_address(block, is_live(*chunk, index_of(*chunk, address)));
  return true;
}

}  // namespace

void watch_pool(tarn_pool& pool) noexcept { watch_owner(pool, explain); }

}  // namespace tarn
