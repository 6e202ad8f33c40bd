// bump_memory: each list in a bare bump heap, which takes the next bytes of one mapping. No block
// is ever taken back, and the mapping ends as a whole. Nothing can be cheaper per block, so it is
// the measure for heaps that do reuse memory. Blocks are aligned to 8, which is what links need.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <sys/mman.h>

#include "link.hpp"

namespace lists {

class BumpMemory {
 public:
  static constexpr bool dies_at_once = true;

  BumpMemory() noexcept {
    void* const start = mmap(nullptr, bytes_max, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start != MAP_FAILED) start_ = static_cast<char*>(start);
  }
  ~BumpMemory() {
    if (start_ != nullptr) munmap(start_, bytes_max);
  }
  BumpMemory(const BumpMemory&) = delete;
  BumpMemory& operator=(const BumpMemory&) = delete;

  void* allocate_link() noexcept { return allocate_text(sizeof(Link)); }
  void* allocate_text(std::size_t bytes) noexcept {
    const std::size_t rounded = (bytes + alignof(Link) - 1) / alignof(Link) * alignof(Link);
    if (start_ == nullptr || rounded > bytes_max - used_) return nullptr;
    void* const block = start_ + used_;
    used_ += rounded;
    return block;
  }
  void deallocate(void*) noexcept {}

 private:
  // Addresses, not memory: room for 70 million iterations.
  static constexpr std::size_t bytes_max = std::size_t{4} << 30;

  char* start_ = nullptr;
  std::size_t used_ = 0;
};

}  // namespace lists
