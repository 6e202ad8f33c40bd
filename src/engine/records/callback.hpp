// callback: what holds while a heap calls a function of the program, at a limit or for a chunk.
//
// malloc's own heap serves the thread meanwhile, whatever its default heap is, since that may be
// the very heap that calls. And a function is not called within itself for the same heap: when it
// allocates from that heap by name, the allocation does without the call.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "engine/records/record.hpp"
#include "engine/records/thread_default.hpp"

namespace tarn {

enum class CallbackFor : std::uint8_t { ceiling, soft_mark, chunk };

// Lives while the function runs.
class Callback {
 public:
  Callback(const HeapRecord& heap, CallbackFor what) noexcept;
  ~Callback();
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

  // True while the calling thread is in that function of the heap.
  static bool runs(const HeapRecord& heap, CallbackFor what) noexcept;

 private:
  WithoutDefaultHeap malloc_itself_;
  const HeapRecord& heap_;
  CallbackFor what_;
  const Callback* outer_;
};

}  // namespace tarn
