// scope: the heap that serves a thread's malloc in place of malloc's own. malloc's hit path asks
// nothing: while there is one, it reads from a view in which no class has a page, so that each call
// comes to the slow path, which looks here.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"

namespace tarn {

// The heap that the thread's malloc is to serve from. pre: has_default_heap()
extern TARN_INITIAL_EXEC __thread tarn_heap default_heap;

// True while the thread's malloc is to serve from another heap than malloc's own.
inline bool has_default_heap() noexcept { return current_heap == &empty_view; }

// malloc's own heap serves the thread while this lives. Callbacks of the program that run meanwhile
// may choose a heap of their own, and go back to malloc's: the scope is afterwards what it was.
class WithoutDefaultHeap {
 public:
  WithoutDefaultHeap() noexcept : had_default_heap_(has_default_heap()) {
    if (!had_default_heap_) return;
    outer_ = default_heap;
    current_heap = &current_thread->heap;
  }
  ~WithoutDefaultHeap() {
    if (!had_default_heap_) return;
    default_heap = outer_;
    current_heap = &empty_view;
  }
  WithoutDefaultHeap(const WithoutDefaultHeap&) = delete;
  WithoutDefaultHeap& operator=(const WithoutDefaultHeap&) = delete;

 private:
  bool had_default_heap_;
  tarn_heap outer_;  // If it was in one.
};

}  // namespace tarn
