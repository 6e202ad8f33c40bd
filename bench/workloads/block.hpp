// A block of known size that carries a stamp at both ends, so that a library which hands out
// overlapping or lost memory changes the checksum.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>

#include "../meter/process.h"

namespace tarn {

struct Block {
  unsigned char* memory = nullptr;
  std::uint32_t bytes = 0;
};

// The first byte, the last byte and one byte in every 4096 are written: what a program that uses
// its memory would touch, at the least cost beside the allocator's.
inline void stamp(Block& block, unsigned char mark) {
  for (std::uint32_t at = 0; at < block.bytes; at += 4096) {
    block.memory[at] = mark;
  }
  block.memory[block.bytes - 1] = mark;
}

inline Block take_block(std::size_t bytes, std::uint64_t mark) {
  Block block{static_cast<unsigned char*>(std::malloc(bytes)), static_cast<std::uint32_t>(bytes)};
  if (block.memory == nullptr) {
    fail("out of memory: use a smaller size");
  }
  stamp(block, static_cast<unsigned char>(mark));
  return block;
}

inline std::uint64_t read_block(const Block& block) {
  return block.bytes + 3u * block.memory[0] + 5u * block.memory[block.bytes - 1];
}

// Frees and returns what the block said, for the checksum.
inline std::uint64_t give_block(Block& block) {
  if (block.memory == nullptr) {
    return 0;
  }
  const std::uint64_t value = read_block(block);
  std::free(block.memory);
  block = Block{};
  return value;
}

}  // namespace tarn
