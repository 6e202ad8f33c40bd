// shared_memory: memory for shared pools in tests: one mapping that processes inherit, and a pool
// over it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tarn/pool/shared_array_pool.hpp"

namespace array_pools {

// Shared with children; zero.
class Mapping {
 public:
  explicit Mapping(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) std::abort();
  }
  ~Mapping() { munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  tarn::ArrayMemory memory() const { return {data_, bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

// A formatted pool, and the memory of both its parts.
class SharedPoolMemory {
 public:
  SharedPoolMemory(std::size_t block_count, std::size_t block_bytes, std::size_t members_max)
      : notes_(tarn::SharedArrayPool::bookkeeping_bytes(block_count, block_bytes, members_max)),
        blocks_(block_count * block_bytes) {
    if (tarn::SharedArrayPool::format(notes_.memory(), block_count, block_bytes, members_max,
                                      true) != TARN_ARRAY_OK) {
      std::abort();
    }
  }

  tarn::SharedArrayPool attach(std::uint64_t identity) const {
    return tarn::SharedArrayPool::attach(notes_.memory(), blocks_.memory(), identity);
  }
  const Mapping& notes() const { return notes_; }
  const Mapping& blocks() const { return blocks_; }

 private:
  Mapping notes_;
  Mapping blocks_;
};

}  // namespace array_pools
