// strings: how a string is copied or formatted into memory of any kind. Arenas and trees share it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace tarn {

// A copy of at most `most` characters of the text, terminated. allocate(bytes) gives its memory;
// null: there is none.
template <class Allocate>
char* copy_text(const char* text, std::size_t most, Allocate allocate) noexcept {
  const std::size_t length = strnlen(text, most);
  auto* const copy = static_cast<char*>(allocate(length + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

// Formats into `first`, and from there into memory of the size that is then known. allocate(bytes)
// gives that memory and may give `first` itself; deallocate(text, bytes) takes it back. Null, with
// errno, when vsnprintf refuses the format or there is no memory.
template <class Allocate, class Deallocate>
char* format_text(char* first, std::size_t first_bytes, const char* format, va_list list,
                  Allocate allocate, Deallocate deallocate) noexcept {
  va_list again;
  va_copy(again, list);
  const int length = std::vsnprintf(first, first_bytes, format, list);
  const std::size_t bytes = length < 0 ? 0 : static_cast<std::size_t>(length) + 1;
  auto* text = bytes == 0 ? nullptr : static_cast<char*>(allocate(bytes));
  if (text != nullptr && bytes <= first_bytes) {
    if (text != first) std::memcpy(text, first, bytes);
  } else if (text != nullptr && std::vsnprintf(text, bytes, format, again) != length) {
    const int saved = errno;
    deallocate(text, bytes);
    errno = saved;
    text = nullptr;
  }
  va_end(again);
  return text;
}

}  // namespace tarn
