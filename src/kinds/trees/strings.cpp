// strings: copies and formatted text as nodes, and nodes that own blocks from elsewhere.
//
// SPDX-License-Identifier: MIT
#include "kinds/arenas/strings.hpp"
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

// What append and append_format have in common. `more` may be part of the text, which may move.
char* append(char* text, const char* more, std::size_t length) noexcept {
  const std::size_t before = std::strlen(text);
  const std::size_t room = tarn_tree_size(text);
  const bool is_part = more >= text && more < text + room;
  const auto offset = static_cast<std::size_t>(is_part ? more - text : 0);
  TARN_ASSERT(before < room);
  char* grown = text;
  if (before + length >= room) {
    grown = static_cast<char*>(tarn_tree_reallocate(text, before + length + 1));
    if (grown == nullptr) return nullptr;
  }
  TARN_ASSERT(before + length < tarn_tree_size(grown));
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
  return copy_text(text, most,
                   [parent](std::size_t bytes) { return tarn_tree_allocate(parent, bytes); });
}

char* tarn_tree_format_list(void* parent, const char* format, va_list list) {
  char first[256];
  return format_text(
      first, sizeof first, format, list,
      [parent](std::size_t bytes) { return tarn_tree_allocate(parent, bytes); },
      [](char* text, std::size_t) { unlink_and_free(node_of(text)); });
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
