// Writes and reads beyond a block's end, and before its start. The bytes that were asked for count,
// not those that the allocator has rounded them to.
//
// SPDX-License-Identifier: MIT
#include <new>
#include <vector>

#include "misuse.hpp"

namespace misuse {

namespace {

// So many of one size that some lie side by side, whatever the allocator.
std::vector<char*> neighbours(std::size_t bytes, int byte = 1) {
  std::vector<char*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(take_filled(bytes, byte));
  return blocks;
}

void give_all(const std::vector<char*>& blocks) {
  for (char* const each : blocks) give(each);
}

// Writes so many bytes past the end of one block among others, and frees all of them.
template <std::size_t count>
void write_and_free(std::size_t bytes) {
  const std::vector<char*> blocks = neighbours(bytes);
  std::memset(opaque(blocks[7] + bytes), other_byte, count);
  give_all(blocks);
}

// As that, with a block that stays: the damage is there while the program goes on.
template <std::size_t count>
void write_and_keep(std::size_t bytes) {
  std::vector<char*> blocks = neighbours(bytes);
  for (char* const each : blocks) watch(each, bytes);
  std::memset(opaque(blocks[7] + bytes), other_byte, count);
}

// Past the end of a block whose neighbours are free.
template <std::size_t count>
void write_among_free_ones(std::size_t bytes) {
  const std::vector<char*> blocks = neighbours(bytes);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i != 7) give(blocks[i]);
  }
  std::memset(opaque(blocks[7] + bytes), other_byte, count);
  for (int i = 0; i < 15; ++i) watch(take(bytes), bytes);
  give(blocks[7]);
}

void write_in_array(std::size_t bytes) {
  const std::size_t count = bytes / sizeof(std::uint64_t);
  auto* const array = opaque(new std::uint64_t[count]);
  for (std::size_t i = 0; i <= count; ++i) opaque(array)[i] = i;  // One more than there are.
  delete[] opaque(array);
}

void write_far(std::size_t bytes) {
  const std::vector<char*> blocks = neighbours(bytes);
  opaque(blocks[7])[bytes + 100'000] = 1;
  give_all(blocks);
}

template <std::size_t count>
void read_beyond(std::size_t bytes) {
  const std::vector<char*> blocks = neighbours(bytes, secret_byte);
  look_for_secret(blocks[7] + bytes, count);
  give_all(blocks);
}

// A write below a block's start.
template <std::size_t count>
void write_before(std::size_t bytes) {
  const std::vector<char*> blocks = neighbours(bytes);
  std::memset(opaque(blocks[7] - count), other_byte, count);
  give_all(blocks);
}

template <std::size_t count>
void read_before(std::size_t bytes) {
  const std::vector<char*> blocks = neighbours(bytes, secret_byte);
  look_for_secret(blocks[7] - count, count);
  give_all(blocks);
}

constexpr Row over_rows[] = {
    {"write_1_and_free", write_and_free<1>, sizes_all},
    {"write_8_and_free", write_and_free<8>, sizes_all},
    {"write_32_and_free", write_and_free<32>, sizes_all},
    {"write_page_and_free", write_and_free<4096>, sizes_all},
    {"write_8_and_keep", write_and_keep<8>, sizes_some},
    {"write_32_and_keep", write_and_keep<32>, sizes_some},
    {"write_32_among_free_ones", write_among_free_ones<32>, sizes_four},
    {"write_in_array", write_in_array, sizes_some},
    {"write_far", write_far, sizes_some},
    {"read_8", read_beyond<8>, sizes_four},
    {"read_page", read_beyond<4096>, sizes_all},
};

constexpr Row under_rows[] = {
    {"write_1", write_before<1>, sizes_four},   {"write_8", write_before<8>, sizes_four},
    {"write_32", write_before<32>, sizes_four}, {"read_8", read_before<8>, sizes_some},
    {"read_32", read_before<32>, sizes_some},
};

}  // namespace

const Family overruns{"overrun", over_rows};
const Family underruns{"underrun", under_rows};

}  // namespace misuse
