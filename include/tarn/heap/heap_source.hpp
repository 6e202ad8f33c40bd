// heap_source.hpp: a source whose chunks are blocks of a heap, in C++ (C++17). Header only over
// tarn/heap/heap.h.
//
//   tarn::Heap names(options);              // with a ceiling, say
//   tarn::HeapSource source(names);
//   tarn::Pool nodes(sizeof(Node), source); // never has more than the ceiling allows
//
// SPDX-License-Identifier: MIT
#ifndef TARN_HEAP_SOURCE_HPP
#define TARN_HEAP_SOURCE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>

#include "../source/source.hpp"
#include "heap.hpp"
#include "heap_source.h"

namespace tarn {

// The source of tarn_heap_source as a class. The heap must outlive the chunks.
class HeapSource {
 public:
  explicit HeapSource(HeapRef heap) noexcept : heap_(heap) {}

  [[nodiscard]] Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    void* const data = heap_.try_allocate_aligned(bytes, alignment);
    return {data, data == nullptr ? 0 : bytes};
  }
  void release(Chunk chunk) noexcept { heap_.deallocate(chunk.data); }

  HeapRef heap() const noexcept { return heap_; }

 private:
  HeapRef heap_;
};

}  // namespace tarn

#endif
#endif
