// source_contract: how pools and arenas deal with their sources: which one a mode asks for, and
// chunks that are looked at before they are used.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "platform/base/bits.hpp"
#include "platform/os/process.hpp"
#include "platform/os/watchers.hpp"
#include "platform/report/options.hpp"
#include "platform/report/report.hpp"
#include "tarn/source/mode.hpp"
#include "tarn/source/source.h"

namespace tarn {

// Under a tool that watches memory, what would be fast is checked.
inline Mode mode_in_force(int asked) noexcept {
  const auto mode = static_cast<Mode>(asked);
  return mode == Mode::fast && os::watched() ? Mode::checked : mode;
}

// Each block in a chunk of its own, which the source looks after.
inline bool is_lone(Mode mode) noexcept { return mode >= Mode::guarded; }

// The source for a mode; `wanted` may be null. Without an `acquire`, where there is none: for which
// fail_without_source() has the error.
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
