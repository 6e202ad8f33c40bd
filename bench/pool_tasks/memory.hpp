// Where the pools that are measured take their memory from: sources (tarn/source/source.hpp), so
// that all of them have the same pages, and that count what is held.
//
// WarmMemory has been written before; what goes back is handed out again, the last first. So what
// is measured over it is the pool, not the kernel. ColdMemory is fresh from the kernel.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../meter/meter.hpp"
#include "../meter/process.h"
#include "tarn/source/source.hpp"

namespace tarn {

// How far behind p the next aligned address is: 0 where p is aligned.
inline std::size_t bytes_to_aligned(const char* p, std::size_t alignment) {
  return (~reinterpret_cast<std::uintptr_t>(p) + 1) & (alignment - 1);
}

inline char* aligned(char* p, std::size_t alignment) { return p + bytes_to_aligned(p, alignment); }

class Memory {
 public:
  virtual Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept = 0;
  virtual void release(Chunk chunk) noexcept = 0;
  std::size_t held_bytes() const { return held_bytes_; }

 protected:
  ~Memory() = default;
  std::size_t held_bytes_ = 0;
};

class WarmMemory final : public Memory {
 public:
  explicit WarmMemory(std::size_t bytes)
      : bytes_(bytes), begin_(static_cast<char*>(reserve(bytes))) {
    rewind();
  }
  ~WarmMemory() { unreserve(begin_, bytes_); }
  WarmMemory(const WarmMemory&) = delete;
  WarmMemory& operator=(const WarmMemory&) = delete;

  // As in the beginning, whatever is held.
  void rewind() {
    cursor_ = begin_;
    released_count_ = 0;
    held_bytes_ = 0;
  }

  Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept override {
    held_bytes_ += bytes;
    for (std::size_t at = released_count_; at-- > 0;) {
      const Chunk chunk = released_[at];
      const auto* const data = static_cast<const char*>(chunk.data);
      if (chunk.bytes != bytes || bytes_to_aligned(data, alignment) != 0) continue;
      for (--released_count_; at < released_count_; ++at) released_[at] = released_[at + 1];
      return chunk;
    }
    char* const data = aligned(cursor_, alignment);
    if (data > begin_ + bytes_ || bytes > static_cast<std::size_t>(begin_ + bytes_ - data)) {
      fail("the warm memory is used up: use a smaller size");
    }
    cursor_ = data + bytes;
    return {data, bytes};
  }

  void release(Chunk chunk) noexcept override {
    held_bytes_ -= chunk.bytes;
    if (released_count_ == released_.size()) fail("more chunks were released than were foreseen");
    released_[released_count_++] = chunk;
  }

 private:
  std::size_t bytes_;
  char* begin_;
  char* cursor_ = nullptr;
  std::array<Chunk, 4096> released_;
  std::size_t released_count_ = 0;
};

class ColdMemory final : public Memory {
 public:
  Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept override {
    if (alignment > page_bytes) bytes += alignment;
    held_bytes_ += bytes;
    auto* const data = static_cast<char*>(reserve(bytes, 0));
    return {aligned(data, alignment), bytes};
  }
  void release(Chunk chunk) noexcept override { held_bytes_ -= chunk.bytes; }  // It ends soon.
};

}  // namespace tarn
