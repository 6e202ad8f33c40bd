// S2.5 and S4.10: the loops that two of the sources measure themselves with.
//
// slots: 1024 slots, seven rounds, a random slot is freed and refilled with 0..65534 bytes. The
// memory is not written, as in the source: this is the allocator alone, with sizes so mixed that
// caches of single sizes help little. slots_realloc refills by realloc, which moves or stays.
// blocks: 20,000 blocks of 4096 and as many of 2048 bytes, interleaved, three runs each.
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

constexpr std::size_t slot_count = 1024;
constexpr int slot_rounds = 7;

std::size_t slot_bytes(std::uint64_t bits) { return (bits & 0x7fff) << 1; }

void allocate_all(std::vector<Block>& large, std::vector<Block>& small) {
  for (std::size_t i = 0; i < large.size(); ++i) {
    large[i] = take_block(4096, i);
    small[i] = take_block(2048, i + 1);
  }
}

// Frees every second block of each size and takes them again, then frees all from both ends.
std::uint64_t interleaved_run(std::vector<Block>& large, std::vector<Block>& small) {
  allocate_all(large, small);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < large.size(); i += 2) {
    sum += give_block(large[i]);
    sum += give_block(small[i + 1]);
  }
  for (std::size_t i = 0; i < large.size(); i += 2) {
    small[i + 1] = take_block(2048, i);
    large[i] = take_block(4096, i + 3);
  }
  for (std::size_t i = 0; i < large.size(); ++i) {
    sum += give_block(large[i]);
    sum += give_block(small[small.size() - 1 - i]);
  }
  return sum;
}

}  // namespace

std::uint64_t run_slots(const Request& request) {
  static std::array<void*, slot_count> slots;
  std::uint64_t sum = 0;
  for (int round = 0; round < slot_rounds; ++round) {
    Random random(25);
    for (std::uint64_t i = 0; i < request.size; ++i) {
      const std::uint64_t bits = random.next();
      void*& slot = slots[bits >> 54];
      std::free(slot);
      slot = std::malloc(slot_bytes(bits));
      sum += slot_bytes(bits) + (slot != nullptr);
    }
    for (void*& slot : slots) {
      std::free(slot);
      slot = nullptr;
    }
  }
  return sum;
}

std::uint64_t run_slots_realloc(const Request& request) {
  static std::array<void*, slot_count> slots;
  std::uint64_t sum = 0;
  for (int round = 0; round < slot_rounds; ++round) {
    Random random(52);
    for (std::uint64_t i = 0; i < request.size; ++i) {
      const std::uint64_t bits = random.next();
      // From 2 bytes up: what realloc to nothing returns is the library's choice.
      const std::size_t bytes = slot_bytes(bits) + 2;
      void*& slot = slots[bits >> 54];
      slot = std::realloc(slot, bytes);
      if (slot == nullptr) {
        fail("out of memory: use a smaller size");
      }
      std::memcpy(slot, &bits, 2);
      sum += bytes;
    }
    for (void*& slot : slots) {
      std::free(slot);
      slot = nullptr;
    }
  }
  return sum;
}

std::uint64_t run_blocks(const Request& request) {
  constexpr std::size_t count = 20000;
  std::uint64_t sum = 0;
  std::vector<Block> large(count);
  std::vector<Block> small(count);
  for (std::uint64_t round = 0; round < request.size; ++round) {
    for (int run = 0; run < 3; ++run) {
      sum += interleaved_run(large, small);
    }
  }
  return sum;
}

}  // namespace tarn
