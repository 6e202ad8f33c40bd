// span: a run of slices and the descriptor that stands for it. Descriptors lie in pieces of their
// own (metadata.hpp), apart from the memory that they describe, and are never freed, only reused: a
// late look at one finds a span that says `idle`, not an unmapped page.
//
//   descriptor, 128 bytes:   | Span: what the store needs, 64 | Page: what the heap needs, 64 |
//
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "platform/base/check.hpp"

namespace tarn {

enum class SpanKind : std::uint8_t {
  idle,       // The descriptor is spare (or stands for memory that is not ours: the foreign span).
  clean,      // Free, in the store. Reads as zero, and is not backed as far as the store knows.
  dirty,      // Free, in the store; backed.
  purging,    // Free, being purged outside the lock, on the list Store::purging_.
  unmapping,  // Likewise: its memory is gone and its addresses are about to go.
  lost,       // A fork has left it half-changed: no thread uses it.
  page,       // Blocks of one class.
  mixed,      // The first blocks of a heap, of all sizes.
  large,      // One block.
  kept,       // A large block that was freed, and that its last thread keeps.
  moving,     // A large block that the OS is moving: no address leads to it.
  checked,    // Places of one size for checked blocks (heaps/checked/checks.hpp).
  lone,       // One checked block, perhaps before an inaccessible page.
  notes,      // What is known of the blocks in a checked span.
};

// True for blocks of a heap whose mode checks them.
constexpr bool is_checked(SpanKind kind) noexcept {
  return kind == SpanKind::checked || kind == SpanKind::lone;
}

// What a span is used for begins and ends with `large`, the kind of a span that is out of the store
// and is nobody's as yet. For assertions: what a fork's child repairs is not asked.
constexpr bool may_become(SpanKind from, SpanKind to) noexcept {
  switch (to) {
    case SpanKind::page:
    case SpanKind::mixed:
    case SpanKind::checked:
    case SpanKind::lone:
    case SpanKind::notes:
    case SpanKind::kept:
    case SpanKind::moving: return from == SpanKind::large;
    case SpanKind::unmapping: return from == SpanKind::purging;
    case SpanKind::lost: return from == SpanKind::clean || from == SpanKind::dirty;
    default: return true;
  }
}

struct alignas(cache_line_bytes) Span {
  std::byte* base = nullptr;  // First byte.
  std::uint32_t slices = 0;
  std::atomic<SpanKind> kind{SpanKind::idle};  // The span's owner writes; free() reads racily.
  bool zeroed = false;     // The memory was clean when it was taken, or has been purged since.
  std::uint8_t group = 0;  // The group of threads whose descriptor it is (descriptors.hpp).
  union {
    std::uint64_t stamp_ms = 0;  // Dirty: when it was given back.
    Span* next_of_heap;          // Page, large, checked, lone: the list of all that a heap has.
  };
  Span* next = nullptr;  // Store: its bin. Page: its queue. Idle: the spare list.
  Span* prev = nullptr;
  Span* newer = nullptr;  // Dirty, purging: their lists. Page: the mail list (newer only).
  union {
    Span* older = nullptr;
    Span* prev_of_heap;
  };
  // Page: see engine/pages/remote.hpp. Purging, unmapping: the thread that does it. Else 0.
  std::atomic<std::uint64_t> remote{0};

  std::size_t bytes() const noexcept { return std::size_t{slices} << slice_shift; }
  std::byte* end() const noexcept { return base + bytes(); }
  // pre: p lies in the span; else the result is out of its bounds.
  std::size_t offset_of(const void* p) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(p) - base);
  }
  SpanKind kind_now() const noexcept { return kind.load(std::memory_order_relaxed); }
  void set_kind(SpanKind k) noexcept {
    TARN_ASSERT(may_become(kind_now(), k));
    kind.store(k, std::memory_order_relaxed);
  }
};

inline constexpr std::size_t descriptor_bytes = 128;
static_assert(sizeof(Span) == cache_line_bytes);
static_assert(alignof(Span) == cache_line_bytes);

}  // namespace tarn
