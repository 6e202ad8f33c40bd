// strings: copies and formatted text as nodes, and nodes that own blocks from elsewhere.
//
// SPDX-License-Identifier: MIT
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "kinds/trees/tree.hpp"

namespace tarn {

namespace {

struct Adopted {
  void* block;
  void (*release)(void* block);
};

int release_adopted(void* p) {
  const Adopted& adopted = *static_cast<const Adopted*>(p);
  adopted.release(adopted.block);
  return 0;
}

void free_node_keeping_errno(TreeNode* node) noexcept {
  const int saved = errno;
  unlink_and_free(node);
  errno = saved;
}

// What append and append_format have in common: `more` may be part of the text, which moves.
char* append(char* text, const char* more, std::size_t length) noexcept {
  const std::size_t before = std::strlen(text);
  const std::size_t room = tarn_tree_size(text);
  const bool is_part = more >= text && more < text + room;
  const auto offset = static_cast<std::size_t>(is_part ? more - text : 0);
  char* grown = text;
  if (before + length >= room) {
    grown = static_cast<char*>(tarn_tree_reallocate(text, before + length + 1));
    if (grown == nullptr) return nullptr;
  }
  std::memmove(grown + before, is_part ? grown + offset : more, length);
  grown[before + length] = '\0';
  return grown;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

void* tarn_tree_copy(void* parent, const void* p, std::size_t bytes) {
  if (p == nullptr) return nullptr;
  void* const copy = tarn_tree_allocate(parent, bytes);
  if (copy != nullptr && bytes != 0) std::memcpy(copy, p, bytes);
  return copy;
}

char* tarn_tree_string(void* parent, const char* text) {
  return text == nullptr ? nullptr : tarn_tree_string_n(parent, text, std::strlen(text));
}

char* tarn_tree_string_n(void* parent, const char* text, std::size_t most) {
  if (text == nullptr) return nullptr;
  const std::size_t length = strnlen(text, most);
  auto* const copy = static_cast<char*>(tarn_tree_allocate(parent, length + 1));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

char* tarn_tree_format_list(void* parent, const char* format, va_list list) {
  va_list again;
  va_copy(again, list);
  char first[256];
  const int length = std::vsnprintf(first, sizeof first, format, list);
  char* text = nullptr;
  if (length >= 0) {
    const std::size_t bytes = static_cast<std::size_t>(length) + 1;
    text = static_cast<char*>(tarn_tree_allocate(parent, bytes));
    if (text != nullptr && bytes <= sizeof first) {
      std::memcpy(text, first, bytes);
    } else if (text != nullptr && std::vsnprintf(text, bytes, format, again) != length) {
      free_node_keeping_errno(node_of(text));
      text = nullptr;
    }
  }
  va_end(again);
  return text;
}

char* tarn_tree_format(void* parent, const char* format, ...) {
  va_list list;
  va_start(list, format);
  char* const text = tarn_tree_format_list(parent, format, list);
  va_end(list);
  return text;
}

char* tarn_tree_append(char* text, const char* more) {
  return append(text, more, std::strlen(more));
}

char* tarn_tree_append_format(char* text, const char* format, ...) {
  // Written apart first: its arguments may be part of the text.
  va_list list;
  va_start(list, format);
  char* const more = tarn_tree_format_list(nullptr, format, list);
  va_end(list);
  if (more == nullptr) return nullptr;
  char* const grown = append(text, more, std::strlen(more));
  free_node(node_of(more));
  return grown;
}

void* tarn_tree_adopt(void* parent, void* block, void (*release)(void* block)) {
  void* const p =
      tarn_tree_allocate_object(parent, alignof(Adopted), sizeof(Adopted), release_adopted);
  if (p != nullptr) *static_cast<Adopted*>(p) = {block, release};
  return p;
}

void* tarn_tree_adopted(const void* p) { return static_cast<const Adopted*>(p)->block; }

}  // extern "C"
