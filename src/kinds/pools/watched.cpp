// watched: see watched.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/watched.hpp"

#include <new>

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
  if (chunk == nullptr || address < chunk->first || address >= chunk->fresh) return false;
  const std::size_t index = index_of(*chunk, address);
  const BlockNote& note = notes_of(*chunk)[index];
  PoolReport block{};
  block.p = address;
  block.start = block_at(*chunk, index);
  block.bytes = pool.block_bytes;
  block.pool = &pool;
  block.pool_name = pool.name;
  block.allocated_at = note.allocated_at;
  block.freed_at = note.freed_at;
  explain_pool_address(block, is_live(*chunk, index));
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
