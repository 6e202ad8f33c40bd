// thread_default: the default heap of a thread, which serves its malloc in place of malloc's own.
// The hit path asks nothing: in a thread with a default heap it reads a view in which no class has
// a block, so each call takes the slow path, which looks here.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "platform/base/check.hpp"

namespace tarn {

// The calling thread's default heap. pre: has_default_heap()
extern TARN_INITIAL_EXEC __thread tarn_heap default_heap;

// True when the calling thread has a default heap other than malloc's own.
inline bool has_default_heap() noexcept { return current_serving == &empty_view; }

// While this lives, malloc's own heap serves the thread. Callbacks of the program that run
// meanwhile may set a default heap and set malloc's again; afterwards the thread has the default
// that it had.
class WithoutDefaultHeap {
 public:
  WithoutDefaultHeap() noexcept : had_default_heap_(has_default_heap()) {
    if (!had_default_heap_) return;
    outer_ = default_heap;
    current_serving = current_thread;
  }
  ~WithoutDefaultHeap() {
    if (!had_default_heap_) return;
    TARN_ASSERT(outer_.record != nullptr);
    default_heap = outer_;
    current_serving = &empty_view;
  }
  WithoutDefaultHeap(const WithoutDefaultHeap&) = delete;
  WithoutDefaultHeap& operator=(const WithoutDefaultHeap&) = delete;

 private:
  bool had_default_heap_;
  tarn_heap outer_;  // The default heap, if there was one.
};

}  // namespace tarn
