// deep_module: what deepbind opens; C and C++ allocation, and the C library's allocating calls.
//
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#define MODULE_EXPORT extern "C" __attribute__((visibility("default")))

MODULE_EXPORT void* deep_make(std::size_t size) { return std::malloc(size); }
MODULE_EXPORT void deep_take(void* block) { std::free(block); }
MODULE_EXPORT void* deep_make_new(std::size_t size) { return ::operator new(size); }
MODULE_EXPORT void deep_take_new(void* block) { ::operator delete(block); }
MODULE_EXPORT char* deep_copy(const char* text) { return strdup(text); }

// Returns 0 when everything that the library hands out could be freed here, and exceptions work.
MODULE_EXPORT int deep_use_library() {
  std::free(strdup("a copy"));
  char* text = nullptr;
  if (asprintf(&text, "%d %s", 5, "five") != 6) return 1;
  std::free(text);
  std::FILE* stream = std::fopen("/proc/self/status", "r");
  if (stream == nullptr) return 2;
  char* line = nullptr;
  std::size_t capacity = 0;
  while (getline(&line, &capacity, stream) > 0) {
  }
  std::free(line);
  std::fclose(stream);
  std::vector<std::string> lines(100, std::string(500, 'x'));
  lines.emplace_back("last");
  std::free(realpath("/proc/self", nullptr));
  try {
    throw std::runtime_error(lines.back());
  } catch (const std::exception& error) {
    return std::strcmp(error.what(), "last") == 0 ? 0 : 3;
  }
}
