// strings: copies and formatted text in an arena.
//
// SPDX-License-Identifier: MIT
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "kinds/arenas/chunk.hpp"
#include "platform/os/process.hpp"

using namespace tarn;

extern "C" {

void* tarn_arena_copy(tarn_arena* arena, const void* p, std::size_t bytes, std::size_t alignment) {
  void* const copy = tarn_arena_allocate_aligned(arena, bytes, alignment);
  if (copy != nullptr && bytes != 0) std::memcpy(copy, p, bytes);
  return copy;
}

char* tarn_arena_copy_string(tarn_arena* arena, const char* text) {
  return tarn_arena_copy_string_n(arena, text, std::strlen(text));
}

char* tarn_arena_copy_string_n(tarn_arena* arena, const char* text, std::size_t length) {
  const std::size_t given = strnlen(text, length);
  auto* const copy = static_cast<char*>(tarn_arena_allocate_aligned(arena, given + 1, 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text, given);
  copy[given] = '\0';
  return copy;
}

char* tarn_arena_format_v(tarn_arena* arena, const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  // Formatted where it will stay, if it fits; in a checked arena there is no room before `end`.
  const std::size_t room = distance(arena->cursor, arena->end);
  const int length = std::vsnprintf(room == 0 ? nullptr : arena->cursor, room, format, arguments);
  char* text = nullptr;
  if (length >= 0) {
    const std::size_t bytes = static_cast<std::size_t>(length) + 1;
    text = static_cast<char*>(tarn_arena_allocate_aligned(arena, bytes, 1));
    if (text != nullptr && bytes > room) std::vsnprintf(text, bytes, format, again);
  }
  va_end(again);
  return text;
}

char* tarn_arena_format(tarn_arena* arena, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char* const text = tarn_arena_format_v(arena, format, arguments);
  va_end(arguments);
  return text;
}

}  // extern "C"
