// buffer_source.hpp: chunks from memory that the program provides, in C++ (C++17). Header only;
// needs no library, no OS and no exceptions. tarn/source/buffer_source.h says what each function
// promises.
//
//   tarn::StaticBuffer<64 * 1024> buffer;     // or tarn::BufferSource buffer(start, bytes)
//   tarn::Pool nodes(sizeof(Node), buffer);   // never calls a heap, nor the system
//
// SPDX-License-Identifier: MIT
#ifndef TARN_BUFFER_SOURCE_HPP
#define TARN_BUFFER_SOURCE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>

#include "buffer_source.h"
#include "source.hpp"

namespace tarn {

// A source of the bytes of a region, which must outlive it and must not be used otherwise
// meanwhile.
class BufferSource {
 public:
  BufferSource(void* start, std::size_t bytes) noexcept {
    tarn_buffer_source_init(&source_, start, bytes);
  }
  BufferSource(const BufferSource&) = delete;
  BufferSource& operator=(const BufferSource&) = delete;

  [[nodiscard]] Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    return tarn_buffer_source_acquire(&source_, bytes, alignment);
  }
  void release(Chunk chunk) noexcept { tarn_buffer_source_release(&source_, chunk); }

  std::size_t chunk_bytes() const noexcept { return tarn_buffer_source_chunk_bytes(&source_); }
  bool owns(const void* p) const noexcept { return tarn_buffer_source_owns(&source_, p) != 0; }
  bool check() const noexcept { return tarn_buffer_source_check(&source_) != 0; }
  const tarn_gaps& stats() const noexcept { return source_.gaps; }

  // For functions of the C interface.
  tarn_buffer_source* get() noexcept { return &source_; }

 private:
  tarn_buffer_source source_;
};

// The memory of a StaticBuffer: a base class, so that it exists before the source that uses it.
template <std::size_t bytes, std::size_t alignment>
struct BufferMemory {
  alignas(alignment) unsigned char memory[bytes];
};

// A source with its memory inside: static, on the stack, or a member. A static object that uses it
// before main must come after it in the same file, or both must be made at their first use.
template <std::size_t bytes, std::size_t alignment = 64>
class StaticBuffer : private BufferMemory<bytes, alignment>, public BufferSource {
  static_assert(bytes >= TARN_GAP_GRAIN, "no chunk fits");

 public:
  StaticBuffer() noexcept : BufferSource(this->memory, bytes) {}
};

}  // namespace tarn

#endif
#endif
