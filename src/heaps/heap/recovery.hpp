// recovery: how heaps ask for memory that others could give, and tell who gives it what becomes of
// blocks. Who gives it is the room recover, on a higher floor: it puts its functions here when
// there is first something to be had. Until then an allocation that fails has failed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/records/record.hpp"

namespace tarn {

// Whose memory is wanted: of all heaps (null), or of `top`, and of those below it?
struct RecoveryScope {
  HeapRecord* top = nullptr;
  bool below = true;
};

struct RecoveryHooks {
  // Recovers `wanted` bytes, if it can; returns the bytes. Calls owners: no lock held, the thread
  // is neither busy nor inside. errno is kept. What is spare has been looked for where the scope
  // is one heap.
  std::size_t (*recover)(const RecoveryScope& scope, std::size_t wanted,
                         bool for_allocation) noexcept;
  // The heap's blocks are about to end, or to be malloc's. It is closed.
  void (*blocks_end)(HeapRecord& record, bool deleted) noexcept;
  // In the child of a fork. The record may be one that is not in use; malloc's is the first.
  void (*repair)(HeapRecord& record) noexcept;
};

// Release when it is put there, once; acquire by who reads it.
extern std::atomic<const RecoveryHooks*> recovery_hooks;

// Recovers memory for a request that failed `tries` times before; false when nothing came, so that
// trying again is of no use. What is wanted doubles each time: small blocks that come back may
// empty no page. pre: as RecoveryHooks::recover
bool recover_for(const RecoveryScope& scope, std::size_t bytes, int tries) noexcept;

// While this lives, no owner is asked for what the calling thread allocates: the thread is amid a
// change of something that an owner's callback might change, too.
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

// Tells the hooks, if there are any.
inline void tell_blocks_end(HeapRecord& record, bool deleted) noexcept {
  const RecoveryHooks* const hooks = recovery_hooks.load(std::memory_order_acquire);
  if (hooks != nullptr) hooks->blocks_end(record, deleted);
}

}  // namespace tarn
