// failing_source: where the fuzzed pools and arenas take their chunks: memory of aligned_alloc, of
// a bounded size, refused when told to; what is given back must be what was granted.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <map>

#include "input.hpp"
#include "tarn/detail/align.hpp"
#include "tarn/source/source.hpp"

namespace tarn::fuzz {

class FailingSource {
 public:
  Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    if (fails || total + bytes > 64 * 1024 * 1024) return {};
    const std::size_t size = align_up(bytes, alignment);
    void* const data = std::aligned_alloc(alignment, size);
    if (data == nullptr) return {};
    total += size;
    chunks[data] = size;
    return {data, generous ? size : bytes};
  }
  void release(Chunk chunk) noexcept {
    const auto found = chunks.find(chunk.data);
    TARN_REQUIRE(found != chunks.end());
    total -= found->second;
    chunks.erase(found);
    std::free(chunk.data);
  }
  std::map<void*, std::size_t> chunks;
  std::size_t total = 0;
  bool fails = false;
  bool generous = false;
};

}  // namespace tarn::fuzz
