// sources: sources for the tests of pools: one that counts and can be told to fail.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "tarn/detail/align.hpp"
#include "tarn/source/mode.hpp"
#include "tarn/source/source.hpp"

namespace pools {

// Memory of aligned_alloc, full of rubbish; knows what is out, and refuses from the n-th call on.
class CountingSource {
 public:
  tarn::Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    ++calls;
    if (calls > allowed || bytes > bytes_max) return {};
    const std::size_t size = tarn::align_up(bytes, alignment);
    void* const data = std::aligned_alloc(alignment, size);
    if (data == nullptr) return {};
    for (std::size_t i = 0; i < size; i += 64) static_cast<unsigned char*>(data)[i] = 0xa5;
    chunks[data] = bytes + extra_bytes(size - bytes);
    last_alignment = alignment;
    return {data, chunks[data]};
  }
  void release(tarn::Chunk chunk) noexcept {
    const auto found = chunks.find(chunk.data);
    ASSERT_NE(found, chunks.end());
    ASSERT_EQ(found->second, chunk.bytes);
    chunks.erase(found);
    ++released;
    std::free(chunk.data);
  }
  std::size_t extra_bytes(std::size_t most) const { return generous ? most : 0; }

  std::map<void*, std::size_t> chunks;
  std::size_t calls = 0;
  std::size_t released = 0;
  std::size_t allowed = SIZE_MAX;
  std::size_t bytes_max = SIZE_MAX;
  std::size_t last_alignment = 0;
  bool generous = false;
};

// Tests that hold in every mode.
template <class Options>
class InEachMode : public testing::TestWithParam<tarn::Mode> {
 protected:
  static Options options() {
    Options options;
    options.name = "tested";
    options.mode = GetParam();
    return options;
  }
};
inline const auto every_mode = testing::Values(tarn::Mode::fast, tarn::Mode::checked);
inline const char* mode_name(const testing::TestParamInfo<tarn::Mode>& info) {
  return info.param == tarn::Mode::fast ? "fast" : "checked";
}

}  // namespace pools
