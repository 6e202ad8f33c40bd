// smartheap_memory: as heap_memory.hpp, under the names of the program of 1994: each list has a
// pool, links by the fixed-size calls and texts by the others.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <tarn/compat/smrtheap.h>

#include "link.hpp"

namespace lists {

class SmartHeapMemory {
 public:
  static constexpr bool dies_at_once = true;
  ~SmartHeapMemory() { MemPoolFree(pool_); }

  void* allocate_link() noexcept { return MemAllocFS(pool_); }
  void* allocate_text(std::size_t bytes) noexcept { return MemAllocPtr(pool_, bytes, 0); }
  void deallocate(void* block) noexcept { MemFreePtr(block); }

 private:
  MEM_POOL pool_ = MemPoolInitFS(sizeof(Link), 1000, MEM_POOL_DEFAULT);
};

}  // namespace lists
