// check: see check.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/class_pools/check.hpp"

namespace tarn {

namespace {

// live blocks + list + (capacity - fresh) == capacity
bool check_chunk(const tarn_class_pools& pools, const tarn_class_chunk& chunk) noexcept {
  const bool is_known = chunk.pool >= pools.classes &&
                        chunk.pool < pools.classes + pools.class_count && ClassTree::check(chunk);
  if (!is_known || chunk.fresh > chunk.touched || chunk.touched > chunk.capacity) return false;
  const std::uint16_t* const words = words_of(chunk);
  std::size_t live = 0;
  for (std::size_t i = 0; i < chunk.touched; ++i) live += words[i] == live_block ? 1 : 0;
  if (live != chunk.live) return false;
  std::size_t free = 0;
  for (std::size_t i = chunk.free; i != no_index; i = words[i]) {
    // The word of a live block leads beyond `fresh`, and a circle is longer than the chunk.
    if (i >= chunk.fresh || ++free > chunk.capacity) return false;
  }
  const char* const end = reinterpret_cast<const char*>(&chunk) + chunk.bytes;
  return live + free == chunk.fresh && chunk.pool != nullptr &&
         is_aligned(chunk.first, line_bytes) &&
         chunk.first + chunk.capacity * chunk.pool->stride <= end;
}

bool check_open(const tarn_class_pool& pool, std::size_t* chunks) noexcept {
  const tarn_class_chunk* before = nullptr;
  for (const tarn_class_chunk* c = pool.open; c != nullptr; c = c->next) {
    if (c->prev != before || c->pool != &pool || c->is_lone || c->live >= c->capacity) return false;
    before = c;
    ++*chunks;
  }
  return pool.open_end == before;
}

bool check_classes(const tarn_class_pools& pools) noexcept {
  std::size_t before = 0;
  for (std::size_t i = 0; i < pools.class_count; ++i) {
    const tarn_class_pool& pool = pools.classes[i];
    if (pool.block_bytes <= before || pool.stride < pool.block_bytes ||
        pool.stride % least_block != 0 || pool.in_use > pool.allocations ||
        pool.in_use > pool.in_use_peak) {
      return false;
    }
    before = pool.block_bytes;
  }
  for (std::size_t b = 0; pools.class_count != 0 && b <= bucket_of(before); ++b) {
    std::size_t i = 0;
    while (pools.classes[i].block_bytes < least_of_bucket(b)) ++i;
    if (pools.first[b] != i) return false;
  }
  return true;
}

}  // namespace

// In each class `in_use` is the sum of its chunks' `live`, and the spare is one of its chunks. The
// chunks, capacities and bytes that all classes count are those of the chunks in the tree.
bool check_class_pools(const tarn_class_pools& pools) noexcept {
  if (!check_classes(pools)) return false;
  std::size_t open = 0;
  std::size_t spares = 0;
  std::uint64_t chunks = 0;
  std::uint64_t capacity = 0;
  std::uint64_t bytes = pools.table.bytes + pools.recents.bytes;
  for (std::size_t i = 0; i < pools.class_count; ++i) {
    tarn_class_pool& pool = pools.classes[i];
    if (!check_open(pool, &open)) return false;
    pool.unseen = pool.in_use;
    spares += pool.spare != nullptr ? 1 : 0;
    chunks += pool.chunks;
    capacity += pool.capacity;
    bytes += pool.held_bytes;
  }
  if (bytes != pools.held_bytes || chunks != pools.acquired - pools.released) return false;
  bool is_sound = true;
  for_each_chunk(pools, [&](const tarn_class_chunk& chunk) {
    is_sound = is_sound && check_chunk(pools, chunk);
    if (!is_sound) return;
    tarn_class_pool& pool = *chunk.pool;
    pool.unseen -= chunk.live;
    spares -= pool.spare == &chunk ? 1 : 0;
    --chunks;
    capacity -= chunk.capacity;
    bytes -= chunk.bytes + chunk.colour;
    if (!chunk.is_lone && chunk.live < chunk.capacity) --open;
  });
  for (std::size_t i = 0; i < pools.class_count; ++i) {
    is_sound = is_sound && pools.classes[i].unseen == 0;
  }
  return is_sound && open == 0 && spares == 0 && chunks == 0 && capacity == 0 &&
         bytes == pools.table.bytes + pools.recents.bytes;
}

}  // namespace tarn
