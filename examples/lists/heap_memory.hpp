// heap_memory: each list, links and texts, in a tarn heap of its own, which ends with the list.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <tarn/heap/heap.h>

#include "link.hpp"

namespace lists {

class HeapMemory {
 public:
  static constexpr bool dies_at_once = true;
  ~HeapMemory() { tarn_heap_destroy(heap_); }

  void* allocate_link() noexcept { return tarn_fixed_allocate(links_); }
  void* allocate_text(std::size_t bytes) noexcept { return tarn_heap_allocate(heap_, bytes); }
  void deallocate(void* block) noexcept { tarn_heap_deallocate(block); }

 private:
  tarn_heap heap_ = tarn_heap_create(nullptr);
  tarn_fixed links_ = tarn_heap_fixed(heap_, sizeof(Link), alignof(Link));
};

}  // namespace lists
