// recovery: see recovery.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/recovery.hpp"

#include "engine/layout/geometry.hpp"
#include "engine/records/gate.hpp"
#include "engine/records/thread.hpp"
#include "engine/upkeep/idle_purge.hpp"
#include "platform/base/check.hpp"

namespace tarn {

constinit std::atomic<const RecoveryHooks*> recovery_hooks{nullptr};

__thread int WithoutOwners::depth_ = 0;

namespace {

// What a ceiling leaves is not missing. A zone says nothing of the kind.
std::size_t left_under_ceiling(const RecoveryScope& scope) noexcept {
  if (scope.top == nullptr) return 0;
  const std::size_t ceiling = scope.top->limits.ceiling.load(std::memory_order_relaxed);
  if (ceiling == SIZE_MAX) return 0;
  const std::size_t committed = scope.top->limits.committed.load(std::memory_order_relaxed);
  return committed < ceiling ? ceiling - committed : 0;
}

std::size_t wanted_for(const RecoveryScope& scope, std::size_t bytes, int tries) noexcept {
  const std::size_t whole = align_up(bytes, slice_bytes);
  const std::size_t left = left_under_ceiling(scope);
  const std::size_t least = whole > left && whole - left > slice_bytes ? whole - left : slice_bytes;
  const int room = __builtin_clzl(least);
  TARN_ASSERT(tries >= 0 && least >= slice_bytes && room > 0);
  return least << (tries < room ? tries : room - 1);
}

}  // namespace

bool recover_for(const RecoveryScope& scope, std::size_t bytes, int tries) noexcept {
  if (bytes > request_bytes_max) return false;
  const RecoveryHooks* const hooks = recovery_hooks.load(std::memory_order_acquire);
  if (hooks == nullptr) {
    const bool may_be_kept = scope.top == nullptr || scope.top->everlasting;
    return may_be_kept && tries == 0 && bytes >> address_bits == 0 && give_kept_blocks(true);
  }
  // No recovery makes room for more than there is, nor in a heap that is being looked at.
  if (scope.top != nullptr && (bytes > scope.top->limits.ceiling.load(std::memory_order_relaxed) ||
                               (exclusive_to_this_thread(*scope.top) && scope.top->walking))) {
    return false;
  }
  TARN_ASSERT(is_at_rest());
  return hooks->recover(scope, wanted_for(scope, bytes, tries), true) != 0;
}

}  // namespace tarn
