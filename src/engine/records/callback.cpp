// callback: see callback.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/callback.hpp"

#include "platform/base/check.hpp"

namespace tarn {

namespace {
TARN_INITIAL_EXEC __thread const Callback* innermost = nullptr;
}  // namespace

Callback::Callback(const HeapRecord& heap, CallbackFor what) noexcept
    : heap_(heap), what_(what), outer_(innermost) {
  TARN_ASSERT(!runs(heap, what));
  innermost = this;
}

Callback::~Callback() {
  TARN_ASSERT(innermost == this);
  innermost = outer_;
}

bool Callback::runs(const HeapRecord& heap, CallbackFor what) noexcept {
  const Callback* c = innermost;
  while (c != nullptr && (&c->heap_ != &heap || c->what_ != what)) c = c->outer_;
  return c != nullptr;
}

}  // namespace tarn
