// strings: copies and formatted text in an arena.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/strings.hpp"

#include "kinds/arenas/chunk.hpp"

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
  return copy_text(text, length, [arena](std::size_t bytes) {
    return tarn_arena_allocate_aligned(arena, bytes, 1);
  });
}

char* tarn_arena_format_v(tarn_arena* arena, const char* format, va_list arguments) {
  // The text is formatted where it will stay if it fits there. In a checked arena `end` is the
  // cursor, so that there is no such room.
  const std::size_t room = distance(arena->cursor, arena->end);
  char* const first = room == 0 ? nullptr : arena->cursor;
  return format_text(
      first, room, format, arguments,
      [arena](std::size_t bytes) { return tarn_arena_allocate_aligned(arena, bytes, 1); },
      [arena](char* text, std::size_t bytes) { tarn_arena_deallocate(arena, text, bytes); });
}

char* tarn_arena_format(tarn_arena* arena, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char* const text = tarn_arena_format_v(arena, format, arguments);
  va_end(arguments);
  return text;
}

}  // extern "C"
