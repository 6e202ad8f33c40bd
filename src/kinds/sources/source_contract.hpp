// source_contract: how pools and arenas deal with their sources: which source a mode needs, and how
// a chunk is checked before it is used.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/misuse.hpp"
#include "platform/report/options.hpp"
#include "tarn/source/mode.hpp"
#include "tarn/source/source.h"

namespace tarn {

// Under a tool that watches memory, fast pools and arenas are checked.
inline Mode mode_in_force(int asked) noexcept {
  const auto mode = static_cast<Mode>(asked);
  return mode == Mode::fast && os::watched() ? Mode::checked : mode;
}

// Whether each block has a chunk of its own, which the source guards.
inline bool is_lone(Mode mode) noexcept { return mode >= Mode::guarded; }

// The source for a mode; `wanted` may be null. If there is none, the source has no `acquire`, and
// fail_without_source() sets the error.
inline tarn_source source_for(Mode mode, const tarn_source* wanted, const char* function) noexcept {
  if (mode == Mode::passthrough) return tarn_source_malloc();
  if (mode == Mode::guarded) return tarn_source_guarded();
  if (wanted == nullptr) return tarn_source_default();
  return is_sized(*wanted, function, "TARN_SOURCE") ? *wanted : tarn_source{};
}
inline int fail_without_source(Mode mode, const char* function) noexcept {
  if (!is_lone(mode)) return os::fail(os::Error::invalid);
  report_refused_mode(static_cast<int>(mode), function, "the library has no such source here");
  return os::fail(os::Error::unsupported);
}

// Acquires a chunk, and reports one that breaks the source's contract. Null data: there is none.
inline tarn_chunk acquire_from(const tarn_source& source, std::size_t bytes,
                               std::size_t alignment) noexcept {
  TARN_ASSERT(is_power_of_two(alignment));
  const tarn_chunk chunk = source.acquire(source.context, bytes, alignment);
  if (chunk.data == nullptr) return {};
  if (chunk.bytes < bytes || !is_aligned(chunk.data, alignment)) {
    report_chunk(chunk.data, chunk.bytes, bytes, alignment);
  }
  return chunk;
}

inline void release_to(const tarn_source& source, tarn_chunk chunk) noexcept {
  TARN_ASSERT(chunk.data != nullptr);
  if (source.release != nullptr) source.release(source.context, chunk);
}

}  // namespace tarn
