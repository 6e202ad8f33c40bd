// ring: the word of a purgeable, and the list of the purgeables of one heap whose blocks are there.
//
//   word:  | pins ... | - | asking | filling | used | there | known |    0: not registered
//             from bit 8              16        8      4       2       1
//
//   state         word                    what happens
//   vanished      known                   a lock gives null
//   there         known there             a lock adds a pin and `used`, an unlock takes a pin
//   filling       known filling 1 pin     one thread has it; its unlock makes it `there`
//     asking      filling asking          that thread has no block yet; it is allocating one
//
// A thread takes a block by clearing `there` with a compare-and-swap in a word without pins. Links
// and blocks are written under the rings' lock, and so are words, except for pins and `used`.
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

extern os::Lock rings_lock;  // Of all rings.

// The number of forks that have left a ring half-changed. A purgeable with another number is on no
// ring, whatever its links say.
extern std::uint32_t rings_epoch;

// How many forks lie between the first process and this one. A thread that began to fill something
// before the last of them may be gone.
extern std::uint32_t rings_forks;

// Whether a living thread is filling it. If a fork has left that thread behind, the purgeable
// vanishes here. pre: the lock is held
bool is_filling(tarn_purgeable& p) noexcept;

// pre for all: the lock is held. The child of a fork sees the list by its `next` links; each change
// of these is one store.
void ring_add(HeapRecord& record, tarn_purgeable& p) noexcept;
void ring_remove(tarn_purgeable& p) noexcept;  // If it is on one.
bool ring_check(const HeapRecord& record) noexcept;

}  // namespace tarn
