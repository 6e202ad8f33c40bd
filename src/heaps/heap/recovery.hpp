// recovery: how heaps ask for memory that others could give, and report what becomes of their
// blocks. The room watch/recover, in a higher tier, answers: it puts its functions here when there
// is first something to be had. Until then an allocation that fails has failed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/records/record.hpp"

namespace tarn {

// Whose memory is wanted: that of all heaps (top null), or of `top` and, if `below`, of its
// descendants.
struct RecoveryScope {
  HeapRecord* top = nullptr;
  bool below = true;
};

struct RecoveryHooks {
  // Recovers `wanted` bytes if it can, and returns the bytes. Calls owners, so no lock is held and
  // the thread is neither busy nor inside. Keeps errno. Where the scope is one heap, its spare
  // memory has been given before.
  std::size_t (*recover)(const RecoveryScope& scope, std::size_t wanted,
                         bool for_allocation) noexcept;
  // The heap's blocks are about to end, or to become malloc's. The calling thread holds it
  // exclusively.
  void (*blocks_end)(HeapRecord& record, bool deleted) noexcept;
  // Called in the child of a fork for each record, malloc's first. The record may be unused.
  void (*repair)(HeapRecord& record) noexcept;
};

// Written once, with release; read with acquire.
extern std::atomic<const RecoveryHooks*> recovery_hooks;

// Recovers memory for a request that failed `tries` times before; false when nothing came, so that
// trying again is of no use. What is wanted doubles each time: small blocks that come back may
// empty no page. pre: as RecoveryHooks::recover
bool recover_for(const RecoveryScope& scope, std::size_t bytes, int tries) noexcept;

// While this lives, no owner is asked for what the calling thread allocates: the thread is in the
// middle of a change that an owner's callback might make, too.
class WithoutOwners {
 public:
  WithoutOwners() noexcept { ++depth_; }
  ~WithoutOwners() { --depth_; }
  WithoutOwners(const WithoutOwners&) = delete;
  WithoutOwners& operator=(const WithoutOwners&) = delete;

  static bool is_wanted() noexcept { return depth_ != 0; }

 private:
  static TARN_INITIAL_EXEC __thread int depth_;
};

// Calls the hook blocks_end, if there are hooks.
inline void tell_blocks_end(HeapRecord& record, bool deleted) noexcept {
  const RecoveryHooks* const hooks = recovery_hooks.load(std::memory_order_acquire);
  if (hooks != nullptr) hooks->blocks_end(record, deleted);
}

}  // namespace tarn
