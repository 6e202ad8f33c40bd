// filled_blocks: the blocks that an allocator has handed out, each full of a value of its own. Two
// that overlap, and contents that something else has changed, are broken promises.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstring>
#include <map>

#include "input.hpp"

namespace tarn::fuzz {

struct FilledBlock {
  std::size_t bytes;
  unsigned char value;
};

class FilledBlocks {
 public:
  using Iterator = std::map<unsigned char*, FilledBlock>::iterator;

  void add(void* p, std::size_t bytes) {
    auto* const start = static_cast<unsigned char*>(p);
    const auto next = blocks_.lower_bound(start);
    TARN_REQUIRE(next == end() || (start != next->first && start + bytes <= next->first));
    TARN_REQUIRE(next == begin() || end_of(std::prev(next)) <= start);
    const FilledBlock block{bytes, ++value_};
    const std::size_t part = std::min(bytes, seen_bytes);
    std::memset(start, block.value, part);
    std::memset(start + bytes - part, block.value, part);
    blocks_[start] = block;
  }
  // It ends: the contents are looked at for the last time.
  void remove(Iterator block) {
    require_filled(block->first, block->second);
    blocks_.erase(block);
  }
  // Without a look: the contents are elsewhere.
  void forget(Iterator block) { blocks_.erase(block); }
  void clear() { blocks_.clear(); }

  static void require_filled(const void* p, const FilledBlock& block) {
    require_filled(p, block, block.bytes);
  }
  // The first bytes of it, at p by now.
  static void require_filled(const void* p, const FilledBlock& block, std::size_t bytes) {
    const auto* const at = static_cast<const unsigned char*>(p);
    const std::size_t part = std::min(block.bytes, seen_bytes);
    for (std::size_t i = 0; i < part && i < bytes; ++i) TARN_REQUIRE(at[i] == block.value);
    for (std::size_t i = block.bytes - part; i < bytes; ++i) TARN_REQUIRE(at[i] == block.value);
  }

  // The one that has the address; end() when none has.
  Iterator around(const void* p) {
    auto* const at = static_cast<unsigned char*>(const_cast<void*>(p));
    auto block = blocks_.upper_bound(at);
    return block != begin() && at < end_of(--block) ? block : end();
  }
  // pre of the next two: there is one
  Iterator from(unsigned char* p) {
    const auto block = blocks_.lower_bound(p);
    return block == end() ? begin() : block;
  }
  Iterator any(Input& input) { return from(begin()->first + input.below(100'000)); }

  Iterator begin() { return blocks_.begin(); }
  Iterator end() { return blocks_.end(); }
  std::size_t size() const { return blocks_.size(); }
  bool empty() const { return blocks_.empty(); }

 private:
  static constexpr std::size_t seen_bytes = 4096;  // So many are filled at each end of a block.

  static unsigned char* end_of(Iterator block) { return block->first + block->second.bytes; }

  std::map<unsigned char*, FilledBlock> blocks_;
  unsigned char value_ = 0;
};

}  // namespace tarn::fuzz
