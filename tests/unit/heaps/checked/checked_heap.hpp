// checked_heap: a heap in one of the modes, asked as the rest of the library asks it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "engine/records/limits.hpp"
#include "engine/spans/page_map.hpp"
#include "heaps/checked/checks.hpp"
#include "heaps/checked/guard.hpp"
#include "heaps/checked/places.hpp"
#include "heaps/heap/exclusive.hpp"
#include "heaps/operations/life.hpp"
#include "survey.hpp"

namespace tarn {

// While it lives the store has no free memory: who wants some asks the OS.
class NothingFree {
 public:
  NothingFree() {
    for (std::vector<Run> runs = free_runs(); !runs.empty(); runs = free_runs()) {
      Span* const span = take_span(runs.front().slices);
      if (span == nullptr) break;
      spans_.push_back(span);
    }
    EXPECT_TRUE(free_runs().empty());
  }
  ~NothingFree() {
    for (Span* const span : spans_) give_span(span);
  }
  NothingFree(const NothingFree&) = delete;
  NothingFree& operator=(const NothingFree&) = delete;

 private:
  std::vector<Span*> spans_;
};

inline constexpr FreeCall test{"test", nullptr};  // Who calls.

class CheckedHeapTest : public testing::Test {
 protected:
  explicit CheckedHeapTest(int mode) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.mode = mode;
    heap_ = heap_create(&options);
    EXPECT_NE(heap_.record, nullptr);
  }
  ~CheckedHeapTest() override {
    EXPECT_TRUE(heap_clear(heap_, true, "test"));
    EXPECT_TRUE(store.check());
    try_unopened();
    EXPECT_EQ(slices_in_use(), in_use_before_) << "spans have gone astray";
  }

  static std::size_t slices_in_use() {
    std::size_t slices = 0;
    store.for_each_span([&](const Span* span) {
      const SpanKind kind = span->kind_now();
      const bool is_in_use = kind == SpanKind::large || kind == SpanKind::notes || is_checked(kind);
      slices += is_in_use ? span->slices : 0;
    });
    return slices;
  }

  HeapRecord& record() { return *static_cast<HeapRecord*>(heap_.record); }
  Checks& checks() { return *record().checks; }
  static Page* page_of(const void* p) { return static_cast<Page*>(page_map.span_of(p)); }

  Attempt attempt(const Request& request) {
    const Visit visit(record(), heap_.id);
    return checks_allocate(record(), request);
  }
  void* allocate(std::size_t bytes, std::size_t alignment = block_align) {
    return attempt({.bytes = bytes, .alignment = alignment, .function = "test"}).block;
  }
  void free(void* p) { checks_free(page_of(p), p, {"free", nullptr}); }

  tarn_heap heap_{};

 private:
  std::size_t in_use_before_ = slices_in_use();
};

}  // namespace tarn
