// recovery: see recovery.hpp.
//
// SPDX-License-Identifier: MIT
#include "heap/recovery.hpp"

#include "heap/closing.hpp"
#include "layout/geometry.hpp"

namespace tarn {

constinit std::atomic<const RecoveryHooks*> recovery_hooks{nullptr};

namespace {

std::size_t wanted_for(std::size_t bytes, int tries) noexcept {
  const std::size_t least = bytes < slice_bytes ? slice_bytes : align_up(bytes, slice_bytes);
  const int room = __builtin_clzl(least);
  return least << (tries < room ? tries : room - 1);
}

}  // namespace

bool recover_for(const RecoveryScope& scope, std::size_t bytes, int tries) noexcept {
  const RecoveryHooks* const hooks = recovery_hooks.load(std::memory_order_acquire);
  if (hooks == nullptr || bytes > request_bytes_max) return false;
  // No recovery makes room for more than there is, nor in a heap that is being looked at.
  if (scope.top != nullptr && (bytes > scope.top->limits.ceiling ||
                               (closed_by_this_thread(*scope.top) && scope.top->walking))) {
    return false;
  }
  return hooks->recover(scope, wanted_for(bytes, tries)) != 0;
}

}  // namespace tarn
