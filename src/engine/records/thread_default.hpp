// thread_default: the default heap of a thread, which serves its malloc in place of malloc's own.
// The hit path asks nothing: in a thread with a default heap it reads a view in which no class has
// a block, so each call takes the slow path, which looks here. In a process whose malloc checks the
// use of its blocks every thread has one; it may serve one of so many requests alone.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "engine/records/record.hpp"
#include "engine/records/thread.hpp"
#include "platform/base/check.hpp"

namespace tarn {

// The calling thread's default heap. pre: has_default_heap()
extern TARN_INITIAL_EXEC __thread tarn_heap default_heap;

// True when the calling thread has a default heap other than malloc's own.
inline bool has_default_heap() noexcept { return current_serving == &empty_view; }

// The heap that serves malloc in a process that has such a mode; null when malloc's own does.
// Written once, before the process has a second thread, or with release; read with acquire.
extern std::atomic<HeapRecord*> process_heap;

// If not 0, that heap serves one of so many requests only, chosen at random, and malloc's own the
// others. Written before process_heap.
extern std::uint32_t process_heap_every;

// True when malloc's own heap serves the calling thread, but for those.
inline bool is_sampled() noexcept {
  return process_heap_every != 0 &&
         default_heap.record == process_heap.load(std::memory_order_relaxed);
}
inline bool has_other_default_heap() noexcept { return has_default_heap() && !is_sampled(); }

// How many requests of the calling thread come to the next one that the process's heap serves. 0:
// none was drawn yet.
extern TARN_INITIAL_EXEC __thread std::uint32_t requests_to_sample;
// Draws how many. True when the request is such a one.
bool draw_sample() noexcept;

// Counts a request. True when the process's heap is to serve it. pre: is_sampled()
inline bool sample_is_due() noexcept {
  TARN_ASSERT(is_sampled());
  if (TARN_UNLIKELY(requests_to_sample <= 1)) return draw_sample();
  --requests_to_sample;
  return false;
}

// From now on malloc serves the calling thread as it serves a thread that has set nothing.
inline void serve_as_process() noexcept {
  HeapRecord* const record = process_heap.load(std::memory_order_acquire);
  current_serving = current_thread;
  if (TARN_LIKELY(record == nullptr)) return;
  default_heap = record->handle();
  current_serving = &empty_view;
}

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
  tarn_heap outer_{};  // The default heap, if there was one.
};

}  // namespace tarn
