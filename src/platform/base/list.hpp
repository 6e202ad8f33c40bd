// list: an intrusive doubly linked list. Two members of the element, `next` and `prev` unless
// others are named, belong to the list that it is on. Not thread-safe: its owner must be.
//
//   head_ -> e1 <-> e2 <-> ... <-> en <- tail_          e1.prev == en.next == nullptr
//
// SPDX-License-Identifier: MIT
#pragma once

#include "platform/base/check.hpp"

namespace tarn {

// The operations on the two ends of a list, wherever these are kept.
template <class T, T* T::*next = &T::next, T* T::*prev = &T::prev>
struct ListEnds {
  static void push_front(T*& head, T*& tail, T* element) noexcept {
    TARN_ASSERT(element != head && element != tail);
    TARN_ASSERT((head == nullptr) == (tail == nullptr));
    element->*prev = nullptr;
    element->*next = head;
    (head != nullptr ? head->*prev : tail) = element;
    head = element;
  }

  static void push_back(T*& head, T*& tail, T* element) noexcept {
    TARN_ASSERT(element != head && element != tail);
    TARN_ASSERT((head == nullptr) == (tail == nullptr));
    element->*next = nullptr;
    element->*prev = tail;
    (tail != nullptr ? tail->*next : head) = element;
    tail = element;
  }

  // pre: the element is on this list.
  static void remove(T*& head, T*& tail, T* element) noexcept {
    TARN_ASSERT((element->*prev != nullptr ? (element->*prev)->*next : head) == element);
    TARN_ASSERT((element->*next != nullptr ? (element->*next)->*prev : tail) == element);
    (element->*prev != nullptr ? (element->*prev)->*next : head) = element->*next;
    (element->*next != nullptr ? (element->*next)->*prev : tail) = element->*prev;
    element->*next = element->*prev = nullptr;
  }
};

template <class T, T* T::*next = &T::next, T* T::*prev = &T::prev>
class List {
  using Ends = ListEnds<T, next, prev>;

 public:
  T* head() const noexcept { return head_; }
  T* tail() const noexcept { return tail_; }
  bool empty() const noexcept { return head_ == nullptr; }

  void push_front(T* element) noexcept { Ends::push_front(head_, tail_, element); }
  void push_back(T* element) noexcept { Ends::push_back(head_, tail_, element); }
  void remove(T* element) noexcept { Ends::remove(head_, tail_, element); }

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
