// string_list: a doubly linked list of strings, each link and each text a block of its own, as
// the program of 1994 had them. Where the blocks come from is the list's Memory:
//
//   void* allocate_link() noexcept;                    null if there is no memory, as below
//   void* allocate_text(std::size_t bytes) noexcept;
//   void deallocate(void* block) noexcept;             of either kind
//   static constexpr bool dies_at_once;     true: all blocks go when the Memory is destroyed
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

#include "link.hpp"

namespace lists {

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
    auto* const copy = static_cast<char*>(checked(memory_.allocate_text(text.size() + 1)));
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    auto* const link = new (checked(memory_.allocate_link())) Link{nullptr, tail_, copy};
    (tail_ != nullptr ? tail_->next : head_) = link;
    tail_ = link;
    ++length_;
  }

  // Nothing happens on an empty list.
  void remove_head() noexcept {
    Link* const link = head_;
    if (link == nullptr) return;
    head_ = link->next;
    (head_ != nullptr ? head_->prev : tail_) = nullptr;
    memory_.deallocate(link->text);
    memory_.deallocate(link);
    --length_;
  }

  bool contains(const char* text) const noexcept {
    for (const Link* link = head_; link != nullptr; link = link->next) {
      if (std::strcmp(link->text, text) == 0) return true;
    }
    return false;
  }

  std::uint64_t length() const noexcept { return length_; }

  // Goes on from `sum` over every byte of every text, each with its final NUL (FNV-1a).
  std::uint64_t checksum(std::uint64_t sum) const noexcept {
    for (const Link* link = head_; link != nullptr; link = link->next) {
      const char* letter = link->text;
      do {
        sum = (sum ^ static_cast<unsigned char>(*letter)) * 0x100000001b3;
      } while (*letter++ != '\0');
    }
    return sum;
  }

 private:
  static void* checked(void* block) {
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }

  Memory memory_;
  Link* head_ = nullptr;
  Link* tail_ = nullptr;
  std::uint64_t length_ = 0;
};

}  // namespace lists
