// descriptors: see descriptors.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/spans/descriptors.hpp"

#include <new>

#include "platform/base/check.hpp"
#include "platform/base/config.hpp"

namespace tarn {

static_assert(static_cast<int>(SpanKind::idle) == 0);  // So is memory that is no descriptor yet.

namespace {
// When a group has more spare descriptors than this, others borrow from it instead of making more:
// threads that are large one after the other would each leave their own behind. They take 1 MiB,
// and describe half a GiB of busy pages.
constexpr int plenty = 8192;

// As many as a piece has are lent at once, so that two groups that borrow do not get every second
// one.
constexpr int lent_at_once = Records::piece_bytes / descriptor_bytes;
}  // namespace

bool Descriptors::make(std::uint8_t group) noexcept {
  TARN_ASSERT(group < thread_groups);
  void* const record = memory_.allocate(descriptor_bytes);
  if (record == nullptr) return false;
  Span* const span = new (record) Span;
  span->group = group;
  spares_[group].push(span);
  return true;
}

// Takes spare ones from a group that has more than so many. They stay that group's. False when no
// group has.
bool Descriptors::borrow(std::uint8_t group, int more_than) noexcept {
  TARN_ASSERT(more_than >= 0);
  for (std::size_t other = 0; other < thread_groups; ++other) {
    if (other == group || spares_[other].count <= more_than) continue;
    for (int i = 0; i < lent_at_once && spares_[other].count > more_than; ++i) {
      spares_[group].push(spares_[other].pop());
    }
    return true;
  }
  return false;
}

bool Descriptors::provide(int count) noexcept {
  const std::uint8_t group = thread_group;
  TARN_ASSERT(group < thread_groups && count > 0);
  while (spares_[group].count < count) {
    if (!borrow(group, plenty) && !make(group) && !borrow(group, 0)) return false;
  }
  return true;
}

void Descriptors::forget_spares() noexcept {
  memory_.repair();
  spares_ = {};
}

bool Descriptors::check() const noexcept {
  for (const Spares& spares : spares_) {
    int counted = 0;
    for (const Span* s = spares.first; s != nullptr; s = s->next) {
      if (s->kind_now() != SpanKind::idle || ++counted > spares.count) return false;
    }
    if (counted != spares.count) return false;
  }
  return true;
}

}  // namespace tarn
