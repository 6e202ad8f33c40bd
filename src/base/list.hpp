// list: an intrusive doubly linked list. Two members of the element, `next` and `prev` unless
// others are named, belong to the list that it is on. Not thread-safe: its owner must be.
//
//   head_ -> e1 <-> e2 <-> ... <-> en <- tail_          e1.prev == en.next == nullptr
//
// SPDX-License-Identifier: MIT
#pragma once

#include "base/check.hpp"

namespace tarn {

template <class T, T* T::*next = &T::next, T* T::*prev = &T::prev>
class List {
 public:
  T* head() const noexcept { return head_; }
  T* tail() const noexcept { return tail_; }
  bool empty() const noexcept { return head_ == nullptr; }

  void push_front(T* element) noexcept {
    element->*prev = nullptr;
    element->*next = head_;
    (head_ != nullptr ? head_->*prev : tail_) = element;
    head_ = element;
  }

  void push_back(T* element) noexcept {
    element->*next = nullptr;
    element->*prev = tail_;
    (tail_ != nullptr ? tail_->*next : head_) = element;
    tail_ = element;
  }

  void remove(T* element) noexcept {
    (element->*prev != nullptr ? (element->*prev)->*next : head_) = element->*next;
    (element->*next != nullptr ? (element->*next)->*prev : tail_) = element->*prev;
    element->*next = element->*prev = nullptr;
  }

  T* pop_front() noexcept {
    T* const first = head_;
    if (first != nullptr) remove(first);
    return first;
  }

  // Forgets the elements without touching them.
  void abandon() noexcept { head_ = tail_ = nullptr; }

  bool check() const noexcept {
    const T* before = nullptr;
    for (const T* e = head_; e != nullptr; e = e->*next) {
      if (e->*prev != before) return false;
      before = e;
    }
    return tail_ == before;
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace tarn
