// checked: see checked.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/pools/checked.hpp"

#include <cstring>

#include "kinds/pools/check.hpp"
#include "kinds/pools/checked_chunk.hpp"
#include "kinds/pools/chunk_tree.hpp"
#include "kinds/pools/chunks.hpp"
#include "platform/base/config.hpp"
#include "platform/base/fill.hpp"
#include "platform/os/process.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/misuse.hpp"
#include "platform/stack/stacks.hpp"

namespace tarn {

namespace {

// A lone block has none: it ends with its chunk, and what lies behind that is the source's.
bool has_canary(const tarn_pool& pool) noexcept {
  return mode_of(pool) == TARN_MODE_CHECKED && !is_watched(pool);
}

// p: what the report is about. chunk: the one in whose memory p lies; null: none.
[[noreturn]] void report(const tarn_pool& pool, const tarn_pool_chunk* chunk, Misuse kind,
                         const char* function, const void* p, const void* here) noexcept {
  OwnerReport report = report_about(pool, chunk, p);
  report.kind = kind;
  report.function = function;
  report.here = here;
  if (!is_watched(pool)) report_owner_misuse(report);
  print_owner_misuse(report);
  os::watch_report(p, here);
  os::process_abort();
}

void check_canary(const tarn_pool_chunk& chunk, std::size_t index, const char* function,
                  const void* here) noexcept {
  const tarn_pool& pool = *chunk.pool;
  if (!has_canary(pool)) return;
  const char* const block = block_at(chunk, index);
  const char* const wrong =
      first_changed(block + pool.block_bytes, block + pool.stride, canary_byte);
  if (wrong != nullptr) report(pool, &chunk, Misuse::overrun, function, wrong, here);
}

// The chunk of the live block that starts at p. Any other p is reported.
CheckedChunk& chunk_of_live(const tarn_pool& pool, const void* p, const void* here) noexcept {
  constexpr auto function = "tarn_pool_deallocate";
  CheckedChunk* const chunk = find_by_address(pool, p);
  if (chunk == nullptr || p < chunk->first || p >= chunk->fresh) {
    report(pool, nullptr, Misuse::invalid_free, function, p, here);
  }
  const std::size_t index = index_of(*chunk, p);
  const char* const block = block_at(*chunk, index);
  if (block != p) report(pool, chunk, Misuse::invalid_free, function, p, here);
  if (!is_live(*chunk, index)) {
    if (is_watched(pool)) os::watch_freed(chunk, p, pool.block_bytes);  // Memcheck's own report.
    report(pool, chunk, Misuse::double_free, function, p, here);
  }
  check_canary(*chunk, index, function, here);
  return *chunk;
}

// Reports a write to a block since it was freed.
void check_freed(const tarn_pool_chunk& chunk, const char* block, const char* function,
                 const void* here) noexcept {
  const tarn_pool& pool = *chunk.pool;
  if (!has_canary(pool)) return;
  const char* const wrong = first_changed(block, block + pool.block_bytes, freed_byte);
  if (wrong != nullptr) report(pool, &chunk, Misuse::use_after_free, function, wrong, here);
}

// Takes the oldest free block off the queue.
char* take_oldest(CheckedChunk& chunk, const void* here) noexcept {
  const std::uint32_t index = chunk.oldest;
  TARN_ASSERT(index < carved(chunk) && !is_live(chunk, index));
  chunk.oldest = notes_of(chunk)[index].next;
  if (chunk.oldest == no_block) chunk.newest = no_block;
  char* const block = block_at(chunk, index);
  check_freed(chunk, block, "tarn_pool_allocate", here);
  return block;
}

void push_newest(CheckedChunk& chunk, std::uint32_t index) noexcept {
  TARN_ASSERT(!is_live(chunk, index));
  TARN_ASSERT((chunk.newest == no_block) == (chunk.oldest == no_block));
  BlockNote* const notes = notes_of(chunk);
  notes[index].next = no_block;
  (chunk.newest == no_block ? chunk.oldest : notes[chunk.newest].next) = index;
  chunk.newest = index;
}

char* next_block(CheckedChunk& chunk, const void* here) noexcept {
  if (chunk.fresh == chunk.end) return take_oldest(chunk, here);
  char* const block = chunk.fresh;
  chunk.fresh += chunk.pool->stride;
  return block;
}

}  // namespace

void* checked_allocate(tarn_pool& pool, const void* here) noexcept {
  tarn_pool_chunk* const found = is_walked(pool) ? nullptr : chunk_with_room(pool);
  if (found == nullptr) {
    os::set_error(os::Error::no_memory);
    return nullptr;
  }
  TARN_ASSERT(found->fresh != found->first || !is_check_due(pool.acquired) || check_pool(pool));
  CheckedChunk& chunk = as_checked(*found);
  char* const block = next_block(chunk, here);
  const std::size_t index = index_of(chunk, block);
  TARN_ASSERT(!is_live(chunk, index) && is_aligned(block, pool.alignment));
  note_taken(pool, chunk, 1);
  set_live(chunk, index, true);
  notes_of(chunk)[index] = {stacks.at(here), nullptr, no_block};
  if (is_watched(pool)) os::watch_allocated(&chunk, block, pool.block_bytes);
  if (has_canary(pool)) write_canary(block + pool.block_bytes, block + pool.stride);
  return block;
}

void checked_deallocate(tarn_pool& pool, void* p, const void* here) noexcept {
  CheckedChunk& chunk = chunk_of_live(pool, p, here);
  const std::size_t index = index_of(chunk, p);
  set_live(chunk, index, false);
  notes_of(chunk)[index].freed_at = stacks.at(here);
  if (has_canary(pool)) std::memset(p, freed_byte, pool.block_bytes);
  if (is_watched(pool)) os::watch_freed(&chunk, p, pool.block_bytes);
  push_newest(chunk, static_cast<std::uint32_t>(index));
  if (is_walked(pool)) {
    TARN_ASSERT(chunk.live > 0 && pool.taken != 0);
    --chunk.live;  // During a walk no chunk changes lists.
    --pool.taken;
    return;
  }
  note_given(pool, chunk, 1);
  if (chunk.live != 0) return;
  if (pool.spare != nullptr) check_blocks(*pool.spare, "tarn_pool_deallocate");  // It may go.
  note_empty(pool, &chunk);
  TARN_ASSERT(!is_check_due(pool.released) || check_pool(pool));
}

void check_blocks(const tarn_pool_chunk& chunk, const char* function) noexcept {
  const std::size_t blocks = carved(chunk);
  for (std::size_t i = 0; i < blocks; ++i) {
    if (is_live(chunk, i)) {
      check_canary(chunk, i, function, nullptr);
    } else {
      check_freed(chunk, block_at(chunk, i), function, nullptr);
    }
  }
}

}  // namespace tarn
