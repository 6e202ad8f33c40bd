// limits: see limits.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/limits.hpp"

#include "platform/base/check.hpp"
#include "platform/base/counter.hpp"

namespace tarn {

namespace {

bool charge_one(Limits& limits, std::size_t bytes) noexcept {
  const std::size_t ceiling = limits.ceiling.load(std::memory_order_relaxed);
  const std::size_t soft_mark = limits.soft_mark.load(std::memory_order_relaxed);
  TARN_ASSERT(ceiling != 0 && soft_mark != 0);  // 0 is "none", which they say by SIZE_MAX.
  std::size_t seen = limits.committed.load(std::memory_order_relaxed);
  std::size_t now = 0;
  do {
    if (ceiling < seen || ceiling - seen < bytes) return false;
    now = seen + bytes;
    TARN_ASSERT(now >= seen && now <= ceiling);
  } while (!limits.committed.compare_exchange_weak(seen, now, std::memory_order_relaxed));
  if (now > soft_mark && seen <= soft_mark) {
    limits.soft_mark_passed.store(true, std::memory_order_relaxed);
  }
  return true;
}

std::size_t uncharge_one(Limits& limits, std::size_t bytes) noexcept {
  const std::size_t before = limits.committed.fetch_sub(bytes, std::memory_order_relaxed);
  TARN_ASSERT(before >= bytes);
  return before;
}

// Takes a charge back. A soft mark that only this charge has passed was not passed.
void cancel_one(Limits& limits, std::size_t bytes) noexcept {
  const std::size_t before = uncharge_one(limits, bytes);
  const std::size_t soft_mark = limits.soft_mark.load(std::memory_order_relaxed);
  if (before > soft_mark && before - bytes <= soft_mark) {
    limits.soft_mark_passed.store(false, std::memory_order_relaxed);
  }
}

}  // namespace

HeapRecord* charge(HeapRecord& heap, std::size_t bytes) noexcept {
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent) {
    if (charge_one(r->limits, bytes)) continue;
    for (HeapRecord* below = &heap; below != r; below = below->parent) {
      cancel_one(below->limits, bytes);
    }
    return r;
  }
  return nullptr;
}

bool is_limited(const HeapRecord& heap) noexcept {
  for (const HeapRecord* r = &heap; r != nullptr; r = r->parent) {
    if (r->limits.ceiling.load(std::memory_order_relaxed) != SIZE_MAX ||
        r->limits.soft_mark.load(std::memory_order_relaxed) != SIZE_MAX) {
      return true;
    }
  }
  return false;
}

// A peak ends when something is given back, so it is written down only then.
void uncharge(HeapRecord& heap, std::size_t bytes) noexcept {
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent) {
    raise_to(r->limits.committed_peak, uncharge_one(r->limits, bytes));
  }
}

void cancel_charge(HeapRecord& heap, std::size_t bytes) noexcept {
  for (HeapRecord* r = &heap; r != nullptr; r = r->parent) cancel_one(r->limits, bytes);
}

std::size_t committed_peak(const HeapRecord& heap) noexcept {
  const std::size_t now = heap.limits.committed.load(std::memory_order_relaxed);
  const std::size_t peak = heap.limits.committed_peak.load(std::memory_order_relaxed);
  return now > peak ? now : peak;
}

}  // namespace tarn
