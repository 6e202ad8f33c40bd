// ring: the word of a purgeable, and the list of those of one heap whose blocks are there.
//
//   word:  | pins ... | - | asking | filling | used | there | known |    0: not registered
//             from bit 8              16        8      4       2       1
//
//   vanished      known                   lock gives null
//   there         known there             lock: one pin more, used; unlock: one less
//   filling       known filling 1 pin     one thread has it; unlock: there
//       asking    and it has no block yet: it allocates, perhaps in owners' callbacks
//
// A thread takes `there` away by compare and swap from a word without pins: the block is then its
// own. Links and blocks are written under the rings' lock; so are words, but for pins and `used`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/records/record.hpp"
#include "platform/os/thread.hpp"
#include "tarn/heap/recover.h"

namespace tarn {

inline constexpr std::uint64_t word_known = 1;
inline constexpr std::uint64_t word_there = 2;
inline constexpr std::uint64_t word_used = 4;
inline constexpr std::uint64_t word_filling = 8;
inline constexpr std::uint64_t word_asking = 16;
inline constexpr std::uint64_t word_pin = 256;

using PurgeableWord = std::atomic_ref<std::uint64_t>;
inline PurgeableWord word_of(tarn_purgeable& p) noexcept { return PurgeableWord(p.word); }

extern os::Lock rings_lock;

// Counts the forks that have left a ring half-changed: a purgeable with another number is on no
// ring, whatever its links say.
extern std::uint32_t rings_epoch;

// How many forks lie between the first process and this one: a thread that began to fill something
// before the last of them may be gone.
extern std::uint32_t rings_forks;

// Under the lock. Whether a living thread fills it. If a fork has left that thread behind, the
// purgeable has vanished.
bool is_filling(tarn_purgeable& p) noexcept;

// All under the lock. A fork sees the list by its `next` links, each change of which is one store.
void ring_add(HeapRecord& record, tarn_purgeable& p) noexcept;
void ring_remove(tarn_purgeable& p) noexcept;  // If it is on one.
bool ring_check(const HeapRecord& record) noexcept;

}  // namespace tarn
