// string_list: a doubly linked list of strings, each node and each string a block of its own, as
// the program of 1994 had them. Where the blocks come from is the list's Memory:
//
//   void* allocate(std::size_t bytes);      throws std::bad_alloc
//   void deallocate(void* block) noexcept;
//   static constexpr bool dies_at_once;     true: all blocks go when the Memory is destroyed
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

namespace lists {

// The process's malloc, whichever that is.
struct ProcessMemory {
  static constexpr bool dies_at_once = false;

  void* allocate(std::size_t bytes) {
    void* const block = std::malloc(bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void deallocate(void* block) noexcept { std::free(block); }
};

template <class Memory>
class StringList {
 public:
  StringList() = default;
  ~StringList() {
    if constexpr (!Memory::dies_at_once) {
      while (head_ != nullptr) remove_head();
    }
  }
  StringList(const StringList&) = delete;
  StringList& operator=(const StringList&) = delete;

  void append(std::string_view text) {
    auto* const copy = static_cast<char*>(memory_.allocate(text.size() + 1));
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    auto* const node = new (memory_.allocate(sizeof(Node))) Node{nullptr, tail_, copy};
    (tail_ != nullptr ? tail_->next : head_) = node;
    tail_ = node;
    ++length_;
  }

  // Nothing happens on an empty list.
  void remove_head() noexcept {
    Node* const node = head_;
    if (node == nullptr) return;
    head_ = node->next;
    (head_ != nullptr ? head_->prev : tail_) = nullptr;
    memory_.deallocate(node->text);
    memory_.deallocate(node);
    --length_;
  }

  bool contains(const char* text) const noexcept {
    for (const Node* node = head_; node != nullptr; node = node->next) {
      if (std::strcmp(node->text, text) == 0) return true;
    }
    return false;
  }

  std::uint64_t length() const noexcept { return length_; }

 private:
  struct Node {
    Node* next;
    Node* prev;
    char* text;
  };

  Memory memory_;
  Node* head_ = nullptr;
  Node* tail_ = nullptr;
  std::uint64_t length_ = 0;
};

}  // namespace lists
