// recover: what the files of this room share. tarn/recover.h says what the functions promise,
// docs/design/recover.md how it works.
//
// Locks: a heap's gate, then this room's, then the registry's. Two locks: one of the list of
// reclaimers, one of all rings of purgeables; nobody holds both. Neither is held while an owner is
// called or a block freed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/recovery.hpp"
#include "os/thread.hpp"
#include "tarn/recover.h"

namespace tarn {

// Written by any thread, without order: sums for reports.
class Sum {
 public:
  void add(std::uint64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct RecoverSums {
  Sum recoveries;
  Sum by_allocations;
  Sum by_allocations_in_vain;
  Sum spare_bytes;
  Sum callbacks;
  Sum callbacks_in_vain;
  Sum reclaimed_bytes;
  Sum purged;
  Sum purged_bytes;
  Sum refills;
};
extern RecoverSums recover_sums;

// Has allocations that fail come here. Called by each registration.
void know_recovery() noexcept;

// Asks owners in the scope, until they have given `wanted`. Returns the bytes. No lock held.
std::size_t ask_owners(const RecoveryScope& scope, std::size_t wanted) noexcept;

// Has blocks in the scope vanish, until `wanted` bytes have. Returns the bytes. No lock held.
std::size_t purge_blocks(const RecoveryScope& scope, std::size_t wanted) noexcept;

// RecoveryHooks has these.
void purgeables_end(HeapRecord& record, bool deleted) noexcept;
void repair_purgeables(HeapRecord& record) noexcept;
void repair_reclaimers() noexcept;

}  // namespace tarn
