// blocks: blocks that know what is in them, random numbers, and the end of a stress test:
// everything was freed, so nothing may be live.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "tarn/tarn.h"

namespace stress {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "stress: %s\n", what);
  std::abort();
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1d >> 16;
  }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(next() % count); }

  // Mostly small, some of the stepped classes, few large.
  std::size_t block_bytes() {
    const std::size_t kind = below(256);
    if (kind == 0) return below(600'000) + 1;
    if (kind < 8) return below(20'000) + 1;
    return below(400) + 1;
  }

 private:
  std::uint64_t state_;
};

// Owned memory filled from its first to its last byte with what its address and size say.
class Block {
 public:
  Block() = default;
  explicit Block(std::size_t bytes) : Block(tarn_malloc(bytes), bytes) {}
  static Block aligned(std::size_t alignment, std::size_t bytes) {
    void* const p = tarn_aligned_alloc(alignment, bytes);
    require(reinterpret_cast<std::uintptr_t>(p) % alignment == 0, "a block is not aligned");
    return Block(p, bytes);
  }
  static Block zeroed(std::size_t bytes) {
    auto* const p = static_cast<unsigned char*>(tarn_calloc(1, bytes));
    for (std::size_t i = 0; p != nullptr && i < bytes; i += step(bytes)) {
      require(p[i] == 0, "calloc gave a block that is not zero");
    }
    return Block(p, bytes);
  }
  Block(Block&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(other.bytes_), mark_(other.mark_) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    std::swap(mark_, other.mark_);
    return *this;
  }
  ~Block() {
    verify(bytes_);
    tarn_free(start_);
  }

  void resize(std::size_t bytes) {
    if (start_ == nullptr) return;
    verify(bytes_);
    void* const p = tarn_realloc(start_, bytes);
    require(p != nullptr, "out of memory");
    start_ = static_cast<unsigned char*>(p);
    verify(bytes < bytes_ ? bytes : bytes_);
    bytes_ = bytes;
    fill();
  }
  void verify() const { verify(bytes_); }
  explicit operator bool() const { return start_ != nullptr; }

 private:
  Block(void* p, std::size_t bytes) : start_(static_cast<unsigned char*>(p)), bytes_(bytes) {
    require(p != nullptr, "out of memory");
    require(reinterpret_cast<std::uintptr_t>(p) % 16 == 0, "a block is not aligned to 16");
    require(tarn_malloc_usable_size(p) >= bytes, "a block is smaller than asked for");
    fill();
  }
  // Small blocks are checked byte by byte, large ones here and there and at the end.
  static std::size_t step(std::size_t bytes) { return bytes <= 512 ? 1 : 127; }
  unsigned char at(std::size_t i) const { return static_cast<unsigned char>(mark_ + i % 253); }

  void fill() {
    mark_ = reinterpret_cast<std::uintptr_t>(start_) >> 4 ^ bytes_;
    for (std::size_t i = 0; i < bytes_; i += step(bytes_)) start_[i] = at(i);
    start_[bytes_ - 1] = at(bytes_ - 1);
  }
  // As filled for bytes_; the first `bytes` of it.
  void verify(std::size_t bytes) const {
    if (start_ == nullptr) return;
    for (std::size_t i = 0; i < bytes; i += step(bytes_)) {
      require(start_[i] == at(i), "a block was written to by somebody else");
    }
    require(bytes < bytes_ || start_[bytes_ - 1] == at(bytes_ - 1),
            "the last byte of a block was written to by somebody else");
  }

  unsigned char* start_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t mark_ = 0;
};

// argv[1]: percent of the full number of rounds.
inline int rounds(int full, int argc, char** argv) {
  const int percent = argc > 1 ? std::atoi(argv[1]) : 100;
  const int count = full * percent / 100;
  return count > 0 ? count : 1;
}

// After all threads have been joined and all blocks are gone.
inline int finish(const char* name) {
  tarn_malloc_trim(0);
  const auto account = std::make_unique<tarn_account>();
  require(tarn_process_account(account.get(), sizeof *account) == 0, "no account");
  require(account->live_bytes == 0, "bytes are live that were freed");
  require(account->large_live_blocks == 0, "large blocks are live that were freed");
  for (std::size_t i = 0; i < account->class_count; ++i) {
    require(account->classes[i].live_blocks == 0, "blocks are live that were freed");
  }
  std::printf("%s: %llu KiB stay committed of at most %llu\n", name,
              static_cast<unsigned long long>(account->committed_bytes >> 10),
              static_cast<unsigned long long>(account->committed_bytes_peak >> 10));
  require(account->committed_bytes == 0, "memory stays committed although everything was freed");
  return 0;
}

}  // namespace stress
