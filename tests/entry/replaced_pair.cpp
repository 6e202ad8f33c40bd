// replaced_pair: the operators that replacement.cpp puts in the library's place, and their counts.
//
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::uint64_t mark = 0x7461726e2d6e6577;
constexpr std::size_t header_bytes = 16;

}  // namespace

extern long replaced_live;
extern long replaced_taken;
long replaced_live = 0;
long replaced_taken = 0;

// That the sized form is left to the library is the point.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsized-deallocation"
#endif

void* operator new(std::size_t size) {
  void* block = std::malloc(size + header_bytes);
  if (block == nullptr) throw std::bad_alloc();
  *static_cast<std::uint64_t*>(block) = mark;
  ++replaced_live;
  ++replaced_taken;
  return static_cast<char*>(block) + header_bytes;
}

void operator delete(void* pointer) noexcept {
  if (pointer == nullptr) return;
  void* block = static_cast<char*>(pointer) - header_bytes;
  if (*static_cast<std::uint64_t*>(block) != mark) std::abort();
  *static_cast<std::uint64_t*>(block) = 0;
  --replaced_live;
  std::free(block);
}
