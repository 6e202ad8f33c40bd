// descriptors: see descriptors.hpp.
//
// SPDX-License-Identifier: MIT
#include "source/descriptors.hpp"

#include <new>

#include "base/check.hpp"
#include "base/config.hpp"

namespace tarn {

static_assert(static_cast<int>(SpanKind::idle) == 0);  // So is memory that is no descriptor yet.

void Descriptors::push(Spares& spares, Span* span) noexcept {
  span->next = spares.first;
  spares.first = span;
  ++spares.count;
}

Span* Descriptors::pop(Spares& spares) noexcept {
  Span* const span = spares.first;
  spares.first = span->next;
  --spares.count;
  return span;
}

bool Descriptors::make(std::uint8_t group) noexcept {
  void* const record = memory_.allocate(descriptor_bytes);
  if (record == nullptr) return false;
  Span* const span = new (record) Span;
  span->group = group;
  push(spares_[group], span);
  return true;
}

// Another group's spare one, which stays that group's; false when nobody has any.
bool Descriptors::borrow(std::uint8_t group) noexcept {
  for (std::size_t other = 0; other < thread_groups; ++other) {
    if (other == group || spares_[other].first == nullptr) continue;
    push(spares_[group], pop(spares_[other]));
    return true;
  }
  return false;
}

bool Descriptors::provide(int count) noexcept {
  const std::uint8_t group = thread_group;
  while (spares_[group].count < count) {
    if (!make(group) && !borrow(group)) return false;
  }
  return true;
}

Span* Descriptors::take() noexcept {
  Spares& spares = spares_[thread_group];
  TARN_ASSERT(spares.first != nullptr);
  return pop(spares);
}

void Descriptors::give(Span* span) noexcept {
  span->set_kind(SpanKind::idle);
  push(spares_[span->group], span);
}

void Descriptors::forget_spares() noexcept {
  memory_.repair();
  spares_ = {};
}

}  // namespace tarn
