// hidden: what a search found, and blocks that are lost, of tests with gtest.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

#include "apart.hpp"
#include "tarn/diagnose/unreachable.hpp"
#include "tarn/tarn.h"

namespace tarn {

// Where the test's frame will be, nothing is left of tests before.
class CleanStack : public testing::Test {
 protected:
  void SetUp() override { scrub(); }
};

// ThreadSanitizer keeps addresses of accesses in memory of its own.
inline bool under_tsan() {
#if defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

struct Seen {
  Hidden start;
  std::size_t bytes;
  std::uint64_t heap;
  bool is_direct;
  const void* site;
};

struct SeenAll {
  std::vector<Seen> blocks;
  tarn_unreachable_result result{};
  int error = 0;

  bool has(Hidden p) const { return find(p) != nullptr; }
  const Seen* find(Hidden p) const {
    for (const Seen& s : blocks) {
      if (s.start == p) return &s;
    }
    return nullptr;
  }
};

inline SeenAll search(UnreachableSearch how = {}) {
  if (under_tsan()) how.strict();
  return apart([&how] {
    SeenAll all;
    const Unreachable found = how.find([&all](const UnreachableBlock& b) {
      all.blocks.push_back({Hidden(b.start), b.bytes, b.heap.id, b.is_direct != 0, b.site});
    });
    all.error = found.error();
    all.result = *found;
    return all;
  });
}

inline SeenAll search_in(std::initializer_list<tarn_heap> heaps, UnreachableSearch how = {}) {
  return search(how.heaps(heaps.begin(), heaps.size()));
}

// A zeroed block that somebody is about to know. What is behind the bytes is read, too.
inline void* zeroed(tarn_heap heap, std::size_t bytes) {
  void* const p = tarn_heap_allocate(heap, bytes);
  if (p != nullptr) std::memset(p, 0, tarn_malloc_usable_size(p));
  return p;
}

// As above, and nobody has it.
inline Hidden lose(tarn_heap heap, std::size_t bytes) {
  return apart([=] { return Hidden(zeroed(heap, bytes)); });
}

inline void give(Hidden p) {
  apart([=] { tarn_free(p.get()); });
}
inline void destroy(tarn_heap heap) {
  apart([=] { tarn_heap_destroy(heap); });
}

// Memory of the program's own, in no module. With nothing on both sides: the kernel would make one
// mapping of it and of thread-local variables beside it, say, which are a root.
class Pages {
 public:
  explicit Pages(std::size_t bytes)
      : bytes_(bytes),
        start_(mmap(nullptr, bytes + 2 * side_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0)) {
    char* const around = static_cast<char*>(start_);
    start_ = around + side_;
    munmap(around, side_);
    munmap(around + side_ + bytes, side_);
  }
  ~Pages() { munmap(start_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  template <class T = void>
  T* get() const {
    return static_cast<T*>(start_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t side_ = 64 * 1024;
  std::size_t bytes_;
  void* start_;
};

// A heap at addresses that nothing in the process has had before, and at which no mapping begins or
// ends: stacks of threads that have ended, and lists of tools, have none of them by chance.
class FreshHeap {
 public:
  FreshHeap() {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.region = all_.get<char>() + used_;
    options.region_bytes = each_;
    used_ += each_;
    heap_ = tarn_heap_create(&options);
  }
  ~FreshHeap() { destroy(heap_); }
  FreshHeap(const FreshHeap&) = delete;
  FreshHeap& operator=(const FreshHeap&) = delete;

  operator tarn_heap() const { return heap_; }

 private:
  static constexpr std::size_t each_ = 1 << 20;
  static inline Pages all_{16 * each_};
  static inline std::size_t used_ = 0;
  tarn_heap heap_;
};

}  // namespace tarn
