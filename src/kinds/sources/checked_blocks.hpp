// checked_blocks: what pools and arenas that check their blocks have in common: the bits of their
// state, the tools that watch them, the reports about them, and how often debug builds check them.
// The canary behind a block is in platform/base/fill.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <new>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/misuse.hpp"
#include "tarn/source/mode.h"

namespace tarn {

// The `state` of a pool or an arena holds its mode in the low bits, and these.
enum OwnerState : std::uint32_t {
  owner_mode_bits = 3,
  owner_own_bit = 4,  // This bit and the next are for states that only pools, or only arenas, have.
  owner_is_watched = 16,  // A tool is told of its blocks.
  owner_is_sound = 32,    // It was made from valid options.
};
static_assert(unsigned{TARN_MODE_PASSTHROUGH} <= unsigned{owner_mode_bits});

// A pool or an arena.
template <class T>
concept BlockOwner = requires(T owner) {
  owner.state;
  owner.watched;
  owner.name;
};

template <BlockOwner Owner>
unsigned mode_of(const Owner& owner) noexcept {
  return owner.state & owner_mode_bits;
}
template <BlockOwner Owner>
bool is_sound(const Owner& owner) noexcept {
  return (owner.state & owner_is_sound) != 0;
}
template <BlockOwner Owner>
bool is_watched(const Owner& owner) noexcept {
  return (owner.state & owner_is_watched) != 0;
}
// Whether each block has a chunk of its own, which the source guards.
template <BlockOwner Owner>
bool is_lone(const Owner& owner) noexcept {
  return mode_of(owner) == TARN_MODE_GUARDED || mode_of(owner) == TARN_MODE_PASSTHROUGH;
}

// While an owner is watched, a tool that finds a wrong access asks explain(owner, address) whether
// the address is the owner's. It must be unwatched before it is moved or ends.
template <BlockOwner Owner>
void watch_owner(Owner& owner, bool (*explain)(const void* owner, const void* address)) noexcept {
  static_assert(sizeof(os::Watched) <= sizeof(owner.watched));
  TARN_ASSERT(!is_watched(owner));
  owner.state |= owner_is_watched;
  os::watch_add(new (owner.watched) os::Watched{nullptr, nullptr, &owner, explain});
}
template <BlockOwner Owner>
void unwatch_owner(Owner& owner) noexcept {
  if (!is_watched(owner)) return;
  auto* const watched = std::launder(reinterpret_cast<os::Watched*>(owner.watched));
  TARN_ASSERT(watched->owner == &owner);
  os::watch_remove(watched);
  owner.state &= ~std::uint32_t{owner_is_watched};
}

// What every report says of the owner of the memory at p. Owner: anything that has a name.
template <class Owner>
OwnerReport report_of(const Owner& owner, const void* p) noexcept {
  OwnerReport report{};
  report.p = p;
  report.owner_name = owner.name;
  report.owner = &owner;
  return report;
}

// Reports that the program called `function` at `here` to free p, which is no live block of this
// owner.
template <class Owner>
[[noreturn]] void report_wrong_free(const Owner& owner, Misuse kind, const char* function,
                                    const void* p, const void* here) noexcept {
  OwnerReport report = report_of(owner, p);
  report.kind = kind;
  report.function = function;
  report.here = here;
  report_owner_misuse(report);
}

// For assertions where an owner acquires or releases chunks: whether it is to be checked now that
// it has done so for `chunks` of them. That is at powers of two, so that all these checks together
// cost about as much as the last one.
constexpr bool is_check_due(std::uint64_t chunks) noexcept {
  return is_power_of_two(static_cast<std::size_t>(chunks));
}

}  // namespace tarn
