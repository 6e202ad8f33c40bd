// grants: how pools and arenas deal with their sources: which one a mode asks for, and chunks that
// are looked at before they are used.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bits.hpp"
#include "os/process.hpp"
#include "os/watchers.hpp"
#include "report/report.hpp"
#include "tarn/source/source.h"

namespace tarn {

// What tarn_pool_mode, tarn_arena_mode and their likes have in common.
enum class GrantMode : unsigned { fast, checked, guarded, passthrough };

// Under a tool that watches memory, what would be fast is checked.
inline GrantMode mode_in_force(int asked) noexcept {
  const auto mode = static_cast<GrantMode>(asked);
  return mode == GrantMode::fast && os::watched() ? GrantMode::checked : mode;
}

// Each block in a chunk of its own, which the source looks after.
inline bool is_lone(GrantMode mode) noexcept { return mode >= GrantMode::guarded; }

// The source for a mode; `wanted` may be null. Without an `acquire`, where there is none: for which
// fail_without_source() has the error.
inline tarn_source source_for(GrantMode mode, const tarn_source* wanted) noexcept {
  if (mode == GrantMode::passthrough) return tarn_source_malloc();
  if (mode == GrantMode::guarded) return tarn_source_guarded();
  return wanted != nullptr ? *wanted : tarn_source_default();
}
inline int fail_without_source(GrantMode mode) noexcept {
  return os::fail(is_lone(mode) ? os::Error::unsupported : os::Error::invalid);
}

// A chunk as the source's contract promises it; anything else is reported. Null data: none.
inline tarn_chunk acquire_from(const tarn_source& source, std::size_t bytes,
                               std::size_t alignment) noexcept {
  const tarn_chunk chunk = source.acquire(source.context, bytes, alignment);
  if (chunk.data == nullptr) return {};
  if (chunk.bytes < bytes || !is_aligned(chunk.data, alignment)) {
    report_chunk(chunk.data, chunk.bytes, bytes, alignment);
  }
  return chunk;
}

inline void release_to(const tarn_source& source, tarn_chunk chunk) noexcept {
  if (source.release != nullptr) source.release(source.context, chunk);
}

}  // namespace tarn
