// concepts.hpp: what every source and every allocator of this library offers, and what adaptors,
// the conformance suite and the fuzz targets rely on. C++20.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CONCEPTS_HPP
#define TARN_CONCEPTS_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17) && __cplusplus < 202002L
#error "tarn/source/concepts.hpp needs C++20: compile with -std=c++20, or a later one"
#elif defined(TARN_LANGUAGE_17)

#include <concepts>
#include <cstddef>

#include "source.hpp"

namespace tarn {

// Where chunks come from. acquire() returns at least `bytes` bytes aligned to `alignment`, a power
// of two; or a null chunk when there are none, which is not an error. release() takes back a whole
// chunk as acquire() returned it.
template <class S>
concept Source = requires(S source, Chunk chunk, std::size_t bytes, std::size_t alignment) {
  { source.acquire(bytes, alignment) }
  noexcept->std::same_as<Chunk>;
  { source.release(chunk) }
  noexcept->std::same_as<void>;
};

// Where blocks come from. try_allocate() returns null when there is no memory, and for sizes and
// alignments that the allocator does not have. For size 0 it returns a block that may only be
// deallocated. deallocate() takes the size and the alignment that the block was asked for with, and
// ignores null.
template <class A>
concept BlockAllocator = requires(A a, const A c, void* p, std::size_t bytes,
                                  std::size_t alignment) {
  { a.try_allocate(bytes, alignment) }
  noexcept->std::same_as<void*>;
  { a.deallocate(p, bytes, alignment) }
  noexcept->std::same_as<void>;
  { c.owns(p) }
  noexcept->std::same_as<bool>;  // Whether p lies in a block's memory. p: any pointer.
  { c.check() }
  noexcept->std::same_as<bool>;  // Whether every invariant holds. For tests and debug builds.
};

}  // namespace tarn

#endif
#endif
