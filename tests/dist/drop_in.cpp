// drop_in: with TARN_DROP_IN malloc and new are tarn's; beside parts.cpp.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <new>

#include "tarn.hpp"

namespace {

// Before main, in whatever order.
const bool is_served = [] {
  void* const from_malloc = std::malloc(100);
  int* const from_new = new int[100];
  const bool by_tarn = tarn_heap_of(from_malloc).record == tarn_heap_main().record &&
                       tarn_heap_of(from_new).record == tarn_heap_main().record;
  std::free(from_malloc);
  delete[] from_new;
  bool threw = false;
  volatile std::size_t too_much = static_cast<std::size_t>(-1) / 2;
  try {
    ::operator delete(::operator new(too_much));
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  if (by_tarn && threw) return true;
  std::fputs("malloc or new is not tarn's\n", stderr);
  std::_Exit(1);
}();

}  // namespace
