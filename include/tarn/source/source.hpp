// source.hpp: where large pieces of memory come from, in C++17. A source is any class with
//
//   tarn::Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept;
//   void release(tarn::Chunk chunk) noexcept;
//
// which promise what tarn/source/source.h says (concept Source in tarn/source/concepts.hpp). It may
// have these, too, which are read once, when a SourceRef is made:
//
//   std::size_t chunk_bytes() const noexcept;   // the fields of tarn_source
//   bool zeroed() const noexcept;
//
// SourceRef erases the type of a source. This header needs no OS and no exceptions.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_SOURCE_HPP
#define TARN_SOURCE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <type_traits>
#include <utility>

#include "source.h"

namespace tarn {

using Chunk = tarn_chunk;

// A reference to any source. The source must outlive the chunks that are taken through this.
class SourceRef {
 public:
  SourceRef(const tarn_source& source) noexcept : source_(source) {}

  // Implicit, so that a pool can be made from any source by naming it.
  template <class S, class = decltype(std::declval<S&>().acquire(std::size_t{}, std::size_t{})),
            class = std::enable_if_t<!std::is_base_of_v<SourceRef, S> && !std::is_const_v<S>>>
  SourceRef(S& source) noexcept {
    source_.bytes = sizeof source_;
    source_.acquire = [](void* self, std::size_t bytes, std::size_t alignment) -> Chunk {
      return static_cast<S*>(self)->acquire(bytes, alignment);
    };
    source_.release = [](void* self, Chunk chunk) { static_cast<S*>(self)->release(chunk); };
    source_.context = &source;
    if constexpr (HasChunkBytes<S>::value) source_.chunk_bytes = source.chunk_bytes();
    if constexpr (HasZeroed<S>::value) source_.zeroed = source.zeroed() ? 1 : 0;
  }

  Chunk acquire(std::size_t bytes, std::size_t alignment) const noexcept {
    return source_.acquire(source_.context, bytes, alignment);
  }
  void release(Chunk chunk) const noexcept {
    if (source_.release != nullptr) source_.release(source_.context, chunk);
  }

  // For functions of the C interface.
  const tarn_source& get() const noexcept { return source_; }

 private:
  template <class S, class = void>
  struct HasChunkBytes : std::false_type {};
  template <class S>
  struct HasChunkBytes<S, std::void_t<decltype(std::declval<const S&>().chunk_bytes())>>
      : std::true_type {};
  template <class S, class = void>
  struct HasZeroed : std::false_type {};
  template <class S>
  struct HasZeroed<S, std::void_t<decltype(std::declval<const S&>().zeroed())>> : std::true_type {};

  tarn_source source_{};
};

}  // namespace tarn

#endif
#endif
