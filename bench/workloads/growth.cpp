// Blocks that grow, and blocks that are large.
//
// growth: strings that are appended to in small steps, arrays that grow by a half in turn, and one
// buffer that grows to many megabytes in steps of 64 KiB: does realloc stay in place, and does it
// move pages rather than bytes. large: blocks of 5..25 MB replaced in turn and written once per OS
// page: a library that maps and unmaps each pays every page fault again, one that keeps them all
// pays with peak memory. zeros: tables by calloc, some of which are hardly used: to write zeros is
// cheaper than page faults, as far as the memory is there.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>
#include <vector>

#include "block.hpp"
#include "random.hpp"
#include "workload.hpp"

namespace tarn {
namespace {

// Grows a block and writes the new part; the old part must have come along.
void grow_block(Block& block, std::size_t bytes) {
  void* memory = std::realloc(block.memory, bytes);
  if (memory == nullptr) {
    fail("out of memory: use a smaller size");
  }
  block.memory = static_cast<unsigned char*>(memory);
  std::memset(block.memory + block.bytes, static_cast<int>(bytes & 0x7f), bytes - block.bytes);
  block.bytes = static_cast<std::uint32_t>(bytes);
}

// Appends of 1..48 bytes to 256 strings in random order, each to at most 4 KiB.
std::uint64_t append_strings(Random& random) {
  std::vector<Block> strings(256);
  std::uint64_t sum = 0;
  for (int i = 0; i < 60000; ++i) {
    Block& text = strings[random.below(strings.size())];
    grow_block(text, text.bytes + random.between(1, 48));
    if (text.bytes > 4096) {
      sum += give_block(text);
    }
  }
  for (Block& text : strings) {
    sum += give_block(text);
  }
  return sum;
}

// Sixteen arrays that grow by a half in turn, as a vector would, to about a megabyte each.
std::uint64_t grow_arrays() {
  std::array<Block, 16> arrays;
  std::uint64_t sum = 0;
  for (std::size_t bytes = 64; bytes < (1u << 20); bytes += bytes / 2) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      grow_block(arrays[i], bytes + 8 * i);
    }
  }
  for (Block& block : arrays) {
    sum += give_block(block);
  }
  return sum;
}

std::uint64_t grow_one_buffer() {
  Block buffer;
  for (std::size_t bytes = 1u << 16; bytes <= (24u << 20); bytes += 1u << 16) {
    grow_block(buffer, bytes);
  }
  return give_block(buffer);
}

}  // namespace

std::uint64_t run_growth(const Request& request) {
  Random random(101);
  std::uint64_t sum = 0;
  for (std::uint64_t round = 0; round < request.size; ++round) {
    sum += append_strings(random) + grow_arrays() + grow_one_buffer();
  }
  return sum;
}

std::uint64_t run_large(const Request& request) {
  Random random(525);
  std::array<Block, 8> slots;
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    Block& slot = slots[i % slots.size()];
    sum += give_block(slot);
    slot = take_block(random.between(5u << 20, 25u << 20), i);
  }
  for (Block& slot : slots) {
    sum += give_block(slot);
  }
  return sum;
}

// Eight tables that are filled, then eight of which a byte in 128 KiB is used.
std::uint64_t run_zeros(const Request& request) {
  Random random(626);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < request.size; ++i) {
    const std::size_t bytes = random.between(4u << 20, 24u << 20);
    const std::size_t apart = i / 8 % 2 == 0 ? 64 : 128u << 10;
    auto* const table = static_cast<unsigned char*>(std::calloc(bytes, 1));
    if (table == nullptr) fail("out of memory: use a smaller size");
    for (std::size_t at = 0; at < bytes; at += apart) {
      sum += table[at];
      table[at] = static_cast<unsigned char>(i + at / apart);
    }
    for (std::size_t at = 0; at < bytes; at += 16 * apart) sum += table[at];
    std::free(table);
  }
  return sum;
}

}  // namespace tarn
