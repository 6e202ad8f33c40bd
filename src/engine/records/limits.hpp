// limits: what a heap and its ancestors may commit. A charge is made before memory is taken, so a
// ceiling is never exceeded; it goes up from the heap, and comes back down when one refuses.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/records/record.hpp"

namespace tarn {

// Charges the heap and its ancestors. Null when that was done; else the heap whose ceiling refuses,
// and nothing has changed.
HeapRecord* charge(HeapRecord& heap, std::size_t bytes) noexcept;

// Takes bytes off what was charged, since memory is given back.
void uncharge(HeapRecord& heap, std::size_t bytes) noexcept;

// Takes back a charge for which there was no memory, as if it had not been made.
void cancel_charge(HeapRecord& heap, std::size_t bytes) noexcept;

// True when the heap or one of its ancestors has a ceiling or a soft mark.
bool is_limited(const HeapRecord& heap) noexcept;

// The most bytes that were ever charged at one time.
std::size_t committed_peak(const HeapRecord& heap) noexcept;

// True when so many empty bytes must stay: the heap is being walked, or it would fall below its
// floor.
inline bool empty_stays(const HeapRecord& heap, std::size_t bytes) noexcept {
  const std::size_t floor = heap.limits.floor.load(std::memory_order_relaxed);
  if (TARN_LIKELY(floor == 0) || heap.walking) return heap.walking;
  const std::size_t committed = heap.limits.committed.load(std::memory_order_relaxed);
  return committed < floor || committed - floor < bytes;
}

}  // namespace tarn
