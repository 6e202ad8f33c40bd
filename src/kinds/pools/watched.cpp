// watched: see watched.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/watched.hpp"

#include <new>

#include "kinds/pools/checked_chunk.hpp"
#include "kinds/pools/chunk.hpp"
#include "kinds/pools/chunk_tree.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/report.hpp"

namespace tarn {

namespace {

static_assert(sizeof(os::Watched) <= sizeof(tarn_pool::watched));

bool explain(const void* owner, const void* address) {
  const auto& pool = *static_cast<const tarn_pool*>(owner);
  const CheckedChunk* const chunk = find_by_address(pool, address);
  const OwnerReport block = report_about(pool, chunk, address);
  if (block.start == nullptr) return false;
  explain_owner_address(block, is_live(*chunk, index_of(*chunk, address)));
  return true;
}

}  // namespace

void watch_pool(tarn_pool& pool) noexcept {
  pool.state |= pool_is_watched;
  os::watch_add(new (pool.watched) os::Watched{nullptr, nullptr, &pool, explain});
}

void unwatch_pool(tarn_pool& pool) noexcept {
  if (!is_watched(pool)) return;
  os::watch_remove(std::launder(reinterpret_cast<os::Watched*>(pool.watched)));
  pool.state &= ~std::uint32_t{pool_is_watched};
}

}  // namespace tarn
