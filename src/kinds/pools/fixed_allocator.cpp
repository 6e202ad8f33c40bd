// fixed_allocator: see tarn/pool/fixed_allocator.h.
//
//   pool:  | block | block | ... fresh ... | live bits, where they fit |
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/fixed_allocator.h"

#include "kinds/sources/checked_blocks.hpp"
#include "kinds/sources/source_contract.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/report/misuse.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

constexpr std::size_t bytes_max = PTRDIFF_MAX / 4;

std::size_t bits_bytes(std::size_t blocks) noexcept {
  return (blocks + 63) / 64 * sizeof(std::uint64_t);
}

bool are_sound(const tarn_fixed_allocator_options& options) noexcept {
  return is_sized(options, "tarn_fixed_allocator_init", "TARN_FIXED_ALLOCATOR_OPTIONS") &&
         options.block_bytes != 0 && options.block_bytes <= bytes_max &&
         options.alignment <= bytes_max &&
         (options.alignment == 0 || is_power_of_two(options.alignment)) &&
         (options.memory == nullptr) == (options.memory_bytes == 0) &&
         (options.flags & ~unsigned{TARN_FIXED_RECYCLE}) == 0;
}

// Places blocks in the memory, and live bits behind them if they fit; false: not one block fits.
bool lay_out(tarn_fixed_allocator& own, char* memory, std::size_t bytes,
             std::size_t objects) noexcept {
  const std::size_t skipped = (0 - address_of(memory)) & (own.alignment - 1);
  if (skipped >= bytes) return false;
  char* const begin = memory + skipped;
  const std::size_t room = bytes - skipped;
  std::size_t blocks = room / own.stride;
  if (objects != 0 && objects < blocks) blocks = objects;
  if (blocks == 0) return false;
  own.begin = own.fresh = begin;
  own.end = begin + blocks * own.stride;
  own.held = blocks;
  char* const behind = own.end + ((0 - address_of(own.end)) & (alignof(std::uint64_t) - 1));
  const auto left = static_cast<std::size_t>(begin + room - own.end);
  if (left >= static_cast<std::size_t>(behind - own.end) + bits_bytes(blocks)) {
    own.live_bits = reinterpret_cast<std::uint64_t*>(behind);
    __builtin_memset(own.live_bits, 0, bits_bytes(blocks));
    TARN_ASSERT(behind + bits_bytes(blocks) <= memory + bytes);
  }
  TARN_ASSERT(is_aligned(begin, own.alignment) && own.end <= memory + bytes);
  return true;
}

[[noreturn]] void report(const tarn_fixed_allocator& own, Misuse kind, const void* p,
                         const void* here) noexcept {
  report_wrong_free(own, kind, "tarn_fixed_allocator_deallocate", p, here);
}

bool is_live(const tarn_fixed_allocator& own, std::size_t index) noexcept {
  return (own.live_bits[index / 64] >> (index % 64) & 1) != 0;
}

std::size_t index_of(const tarn_fixed_allocator& own, const void* p) noexcept {
  return static_cast<std::size_t>(static_cast<const char*>(p) - own.begin) / own.stride;
}

void flip(tarn_fixed_allocator& own, const void* p) noexcept {
  if (own.live_bits == nullptr) return;
  const std::size_t index = index_of(own, p);
  TARN_ASSERT(index < own.held && p < own.fresh);
  own.live_bits[index / 64] ^= std::uint64_t{1} << (index % 64);
}

void require_live(const tarn_fixed_allocator& own, const void* p, const void* here) noexcept {
  if (own.place == TARN_FIXED_HEAP_BLOCKS) {  // The source finds wrong frees of these.
    if (own.live == 0) report(own, Misuse::double_free, p, here);
    return;
  }
  const std::size_t offset = address_of(p) - address_of(own.begin);
  if (p < own.begin || p >= own.fresh || offset % own.stride != 0) {
    report(own, Misuse::invalid_free, p, here);
  }
  const bool none = own.live == 0;
  if (none || (own.live_bits != nullptr && !is_live(own, offset / own.stride))) {
    report(own, Misuse::double_free, p, here);
  }
}

// A block has no room for the number of bytes that it was granted, and the source wants it back
// with that number. So the number must be the same for all.
void* acquire_block(tarn_fixed_allocator& own) noexcept {
  if (own.source.acquire == nullptr) return nullptr;
  const tarn_chunk block = acquire_from(own.source, own.stride, own.alignment);
  if (block.data == nullptr) return nullptr;
  if (own.piece.bytes == 0) own.piece.bytes = block.bytes;
  if (own.piece.bytes == block.bytes) {
    ++own.held;
    return block.data;
  }
  release_to(own.source, block);
  return nullptr;
}

void release_block(tarn_fixed_allocator& own, void* block) noexcept {
  release_to(own.source, {block, own.piece.bytes});
}

void* pop(tarn_fixed_allocator& own) noexcept {
  void* block = own.free;
  if (block != nullptr) {
    __builtin_memcpy(&own.free, block, sizeof(void*));
  } else if (own.fresh != own.end) {
    block = own.fresh;
    own.fresh += own.stride;
    TARN_ASSERT(own.fresh <= own.end);
  } else if (own.place == TARN_FIXED_HEAP_BLOCKS) {
    block = acquire_block(own);
  }
  return block;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_fixed_allocator_init(tarn_fixed_allocator* allocator,
                              const tarn_fixed_allocator_options* options) {
  tarn_fixed_allocator& own = *allocator;
  own = {};
  if (options == nullptr || !are_sound(*options)) return os::fail(os::Error::invalid);
  own.name = options->name;
  own.flags = options->flags;
  own.block_bytes = options->block_bytes;
  own.alignment = options->alignment;
  if (own.alignment == 0) own.alignment = options->memory != nullptr ? alignof(void*) : 16;
  // A free block must hold a link. It is read and written by copying, so any alignment will do.
  const std::size_t least = sizeof(void*);
  own.stride = align_up(own.block_bytes < least ? least : own.block_bytes, own.alignment);
  if (options->memory != nullptr) {
    own.place = TARN_FIXED_STATIC_POOL;
    auto* const memory = static_cast<char*>(options->memory);
    return lay_out(own, memory, options->memory_bytes, options->objects)
               ? 0
               : os::fail(os::Error::invalid);
  }
  own.source = source_for(Mode::fast, options->source, "tarn_fixed_allocator_init");
  if (own.source.acquire == nullptr) return os::fail(os::Error::invalid);
  if (options->objects == 0) return 0;

  own.place = TARN_FIXED_HEAP_POOL;
  std::size_t bytes = 0;
  if (!checked_multiply(options->objects, own.stride, &bytes) || bytes > bytes_max) {
    return os::fail(os::Error::no_memory);
  }
  constexpr std::size_t for_bits = alignof(std::uint64_t);
  bytes = align_up(bytes, for_bits) + bits_bytes(options->objects);
  own.piece = acquire_from(own.source, bytes, own.alignment < for_bits ? for_bits : own.alignment);
  if (own.piece.data == nullptr) return os::fail(os::Error::no_memory);
  lay_out(own, static_cast<char*>(own.piece.data), bytes, options->objects);
  TARN_ASSERT(own.held == options->objects && own.live_bits != nullptr);
  return 0;
}

void tarn_fixed_allocator_destroy(tarn_fixed_allocator* allocator) {
  tarn_fixed_allocator& own = *allocator;
  TARN_ASSERT(tarn_fixed_allocator_check(allocator) != 0);
  if (own.piece.data != nullptr) release_to(own.source, own.piece);
  while (own.place == TARN_FIXED_HEAP_BLOCKS && own.free != nullptr) {
    void* const block = own.free;
    __builtin_memcpy(&own.free, block, sizeof(void*));
    release_block(own, block);
  }
  own = {};
}

void* tarn_fixed_allocator_allocate(tarn_fixed_allocator* allocator) {
  tarn_fixed_allocator& own = *allocator;
  void* const block = pop(own);
  if (block == nullptr) {
    ++own.failures;
    os::set_error(os::Error::no_memory);
    return nullptr;
  }
  flip(own, block);
  ++own.allocations;
  ++own.live;
  if (own.live > own.live_peak) own.live_peak = own.live;
  TARN_ASSERT(own.live <= own.held && is_aligned(block, own.alignment));
  TARN_ASSERT(!is_check_due(own.allocations) || tarn_fixed_allocator_check(allocator) != 0);
  return block;
}

void tarn_fixed_allocator_deallocate(tarn_fixed_allocator* allocator, void* p) {
  if (p == nullptr) return;
  tarn_fixed_allocator& own = *allocator;
  require_live(own, p, __builtin_return_address(0));
  TARN_ASSERT(own.live != 0 && own.live <= own.held);
  flip(own, p);
  ++own.deallocations;
  --own.live;
  if (own.place == TARN_FIXED_HEAP_BLOCKS && (own.flags & TARN_FIXED_RECYCLE) == 0) {
    --own.held;
    return release_block(own, p);
  }
  __builtin_memcpy(p, &own.free, sizeof(void*));
  own.free = p;
}

int tarn_fixed_allocator_owns(const tarn_fixed_allocator* allocator, const void* p) {
  if (p == nullptr || p < allocator->begin || p >= allocator->fresh) return 0;
  const std::size_t offset = address_of(p) - address_of(allocator->begin);
  return offset % allocator->stride < allocator->block_bytes ? 1 : 0;
}

// live + free + fresh == held, allocations - deallocations == live
int tarn_fixed_allocator_check(const tarn_fixed_allocator* allocator) {
  const tarn_fixed_allocator& own = *allocator;
  const bool pool = own.place != TARN_FIXED_HEAP_BLOCKS;
  std::size_t free = 0;
  for (void* p = own.free; p != nullptr; __builtin_memcpy(&p, p, sizeof p)) {
    if (++free > own.held) return 0;
    if (!pool) continue;
    const bool inside = p >= own.begin && p < own.fresh;
    if (!inside || own.begin + index_of(own, p) * own.stride != p) return 0;
    if (own.live_bits != nullptr && is_live(own, index_of(own, p))) return 0;
  }
  const std::size_t fresh =
      pool && own.stride != 0 ? static_cast<std::size_t>(own.end - own.fresh) / own.stride : 0;
  return own.allocations - own.deallocations == own.live && own.live + free + fresh == own.held &&
         own.live <= own.live_peak;
}

}  // extern "C"
