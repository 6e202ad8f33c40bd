// stacks: where the library notes how the program came to a call. One address stands for a whole
// stack of calls: the stack is kept once, and those who note it keep the address where they would
// keep a return address.
//
//   site ---at()---> kept stack: calls, the innermost first     (without room: the site itself)
//
// Kept stacks stay until the process ends, in up to 32 MiB. No lock: any thread, in a signal
// handler, in the child of a fork.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/stack/unwind.hpp"

namespace tarn {

// What at() returned, as calls: return addresses.
class CallStack {
 public:
  explicit CallStack(const void* at) noexcept;

  std::size_t size() const noexcept { return count_; }
  const void* operator[](std::size_t i) const noexcept { return calls()[i]; }
  // Valid while this is.
  const void* const* calls() const noexcept { return calls_ == nullptr ? &one_ : calls_; }

 private:
  const void* one_;
  const void* const* calls_ = nullptr;
  std::size_t count_;
};

class Stacks {
 public:
  static constexpr std::size_t depth_most = 64;
  static constexpr std::size_t depth_default = 16;

  // How many calls a stack has at most; 0 and 1: only the site is noted.
  void set_depth(std::size_t calls) noexcept {
    depth_bits_.store(calls ^ depth_default, std::memory_order_relaxed);
  }
  std::size_t depth() const noexcept {
    return depth_bits_.load(std::memory_order_relaxed) ^ depth_default;
  }

  // What stands for the calls that led to `site`, the return address of a public function that the
  // calling function was called by; what at() has returned stays as it is, and null null. pre: the
  // caller holds no lock that a thread which loads a module may want
  const void* at(const void* site) noexcept;

  // What stands for the calls that led here, but for the library's own where that is a module by
  // itself. Null where the depth is 0 or 1.
  const void* here() noexcept;

  // As above, for the calls that led to where a thread was stopped. A return address for each, and
  // for `pc` the one behind its first byte.
  const void* at_stop(const FrameRegisters& stop) noexcept;

  // What stands for these calls. pre: count <= depth_most
  const void* keep(const void* const* calls, std::size_t count) noexcept;

  std::size_t kept_bytes() const noexcept;

 private:
  friend class CallStack;

  struct Kept;

  bool has(const void* at) const noexcept;
  std::byte* provide() noexcept;
  Kept* take(std::byte* base, std::size_t count) noexcept;

  std::atomic<std::size_t> depth_bits_{0};  // Zeros, as all of the object: it has no data to load.
  std::atomic<std::byte*> base_{nullptr};   // Lists by hash, and the stacks. Never given back.
  std::atomic<std::size_t> used_{0};        // Perhaps more than there is.
  std::atomic<bool> refused_{false};  // There was no memory for it: it is not asked for again.
};

extern Stacks stacks;

}  // namespace tarn
