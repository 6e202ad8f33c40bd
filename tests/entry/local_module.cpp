// local_module: a C++ module that asks for too much and catches what is thrown for it.
//
// Its libstdc++ comes with it under RTLD_LOCAL, or lies inside it (the static form), so that
// nothing of it is visible to libtarn.so by an ordinary look-up.
//
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

extern "C" __attribute__((visibility("default"))) int module_catches(std::size_t size) {
  try {
    ::operator delete(::operator new(size));
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  } catch (...) {
    return 2;
  }
}

extern "C" __attribute__((visibility("default"))) int module_null(std::size_t size) {
  return ::operator new(size, std::nothrow) == nullptr;
}

namespace {
int handler_calls = 0;
void give_up() {
  ++handler_calls;
  std::set_new_handler(nullptr);
}
}  // namespace

extern "C" __attribute__((visibility("default"))) int module_handler_calls(std::size_t size) {
  handler_calls = 0;
  std::set_new_handler(give_up);
  return module_catches(size) == 1 ? handler_calls : -1;
}

extern "C" __attribute__((visibility("default"))) int module_works() {
  std::vector<int> numbers;
  for (int i = 0; i < 1000; ++i) numbers.push_back(i);
  return numbers[999];
}
