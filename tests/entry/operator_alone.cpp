// operator_alone: std::bad_alloc in a program that refers to nothing else of the C++ library, so
// that a static one is linked only as far as libtarn asks for it. No test framework either.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <new>

#include "pattern.h"

namespace {

#if TARN_TEST_HANDLER
int handler_calls = 0;

void give_up() {
  ++handler_calls;
  std::set_new_handler(nullptr);
}
#endif

// The compiler may leave a call out whose result nobody uses.
template <class Allocate>
bool throws(Allocate allocate) {
  try {
    (void)opaque_block(allocate());
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "operator_alone: %s\n", what);
  std::exit(1);
}

}  // namespace

int main() {
  const std::size_t size = opaque(std::size_t{1} << 60);
  constexpr std::align_val_t alignment{256};
  require(throws([&] { return ::operator new(size); }), "new does not throw");
  require(throws([&] { return ::operator new[](size); }), "new[] does not throw");
  require(throws([&] { return ::operator new(size, alignment); }), "aligned new does not throw");
  require(throws([&] { return ::operator new[](size, alignment); }), "aligned new[] does not");
  require(opaque_block(::operator new(size, std::nothrow)) == nullptr, "nothrow new gives one");
#if TARN_TEST_HANDLER
  std::set_new_handler(give_up);
  require(throws([&] { return ::operator new(size); }), "new with a handler does not throw");
  require(handler_calls == 1, "the new-handler was not called once");
#endif
  void* const block = opaque_block(::operator new(opaque(100)));
  ::operator delete(block);
  return 0;
}
