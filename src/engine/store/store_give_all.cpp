// store_give_all: what a heap leaves when it is destroyed, up to a quarter of a million spans. They
// are sorted by address and joined while they are nobody's, so that the lists and the page map see
// few of them.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"

namespace tarn {

namespace {

Span* merge(Span* a, Span* b) noexcept {
  Span* first = nullptr;
  Span** link = &first;
  while (a != nullptr && b != nullptr) {
    Span*& lower = a->base < b->base ? a : b;
    *link = lower;
    link = &lower->next;
    lower = lower->next;
  }
  *link = a != nullptr ? a : b;
  return first;
}

// Bottom up: runs[i] holds a sorted chain of 2^i spans, or none.
Span* sort(Span* chain) noexcept {
  constexpr int runs_most = 32;
  Span* runs[runs_most] = {};
  while (chain != nullptr) {
    Span* run = chain;
    chain = run->next;
    run->next = nullptr;
    int i = 0;
    for (; i < runs_most - 1 && runs[i] != nullptr; ++i) {
      run = merge(runs[i], run);
      runs[i] = nullptr;
    }
    runs[i] = runs[i] == nullptr ? run : merge(runs[i], run);
  }
  Span* sorted = nullptr;
  for (Span* run : runs) sorted = merge(run, sorted);
  TARN_ASSERT(sorted == nullptr || sorted->next == nullptr || sorted->base < sorted->next->base);
  return sorted;
}

}  // namespace

// Makes one span of neighbours. Returns the descriptors that are left over.
Span* Store::join_chain(Span* chain) noexcept {
  Span* left_over = nullptr;
  for (Span* span = chain; span != nullptr; span = span->next) {
    TARN_ASSERT(span->next == nullptr || span->next->base >= span->end());
    for (Span* right = span->next; right != nullptr && right->base == span->end() &&
                                   std::size_t{span->slices} + right->slices <= UINT32_MAX;
         right = span->next) {
      span->slices += right->slices;
      span->next = right->next;
      right->next = left_over;
      left_over = right;
    }
  }
  return left_over;
}

std::size_t Store::give_all(Span* chain, std::size_t warm_bytes) noexcept {
  const std::uint64_t now = os::clock_coarse_ms();
  chain = sort(chain);
  Span* left_over = join_chain(chain);
  for (const Span* s = chain; s != nullptr; s = s->next) page_map.forget(s->base, s->slices);
  {
    os::Locked locked(lock_);
    while (left_over != nullptr) {
      Span* const span = left_over;
      left_over = span->next;
      descriptors_.give(span);
    }
  }
  std::size_t dropped = 0;
  while (chain != nullptr) {
    Span* const span = chain;
    chain = span->next;
    span->next = nullptr;
    const std::size_t bytes = span->bytes();
    TARN_ASSERT(bytes != 0 && span->kind_now() == SpanKind::large);
    if (bytes <= warm_bytes) {
      warm_bytes -= bytes;
      give(span);
      continue;
    }
    {
      os::Locked locked(lock_);
      begin_purge_locked(span);
    }
    if (drop(span, now)) dropped += bytes;
  }
  return dropped;
}

}  // namespace tarn
