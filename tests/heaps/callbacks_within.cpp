// What a heap calls, and allocates: from malloc, while that heap is the thread's default, or from
// that heap by name. None of it may call itself without end.
//
// SPDX-License-Identifier: MIT
#include "heap.hpp"

namespace heaps {
namespace {

class CallbacksWithin : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, CallbacksWithin, every_mode);

// Calls of one of the functions below, and how deep they got.
struct Depth {
  int calls = 0;
  int depth = 0;
  int most = 0;
  tarn_heap served_by{};  // What malloc served them from.

  // What every function here does. Deeper than the limit it would be without end.
  void enter() {
    ++calls;
    if (++depth > most) most = depth;
    if (depth < 10) {
      void* const p = tarn_malloc(5'000);
      served_by = tarn_heap_of(p);
      tarn_free(p);
      tarn_free(tarn_malloc(200 * kib));
    }
    --depth;
  }
};

std::size_t reclaim_with_malloc(tarn_heap, std::size_t, void* context) {
  static_cast<Depth*>(context)->enter();
  return 0;
}
void mark_with_malloc(tarn_heap, std::size_t, void* context) {
  static_cast<Depth*>(context)->enter();
}
tarn_chunk acquire_with_malloc(void* context, std::size_t bytes, std::size_t alignment) {
  static_cast<Depth*>(context)->enter();
  return {std::aligned_alloc(alignment, bytes), bytes};
}
void release_with_malloc(void* context, tarn_chunk chunk) {
  static_cast<Depth*>(context)->enter();
  std::free(chunk.data);
}

void expect_served_by_malloc(const Depth& depth, const char* what) {
  EXPECT_GT(depth.calls, 0) << what;
  EXPECT_EQ(depth.most, 1) << what;
  EXPECT_TRUE(same(depth.served_by, tarn_heap_main())) << what;
}

TEST_P(CallbacksWithin, AreServedByMallocsHeapWhateverTheDefaultIs) {
  Depth reclaim;
  {
    const Heap heap(reclaiming(GetParam(), mib, reclaim_with_malloc, &reclaim));
    const tarn::DefaultHeap scope{tarn::HeapRef(heap)};
    while (tarn_malloc(4'000) != nullptr) {
    }
    EXPECT_TRUE(same(tarn_heap_set_default(heap), heap)) << "the default is what it was";
  }
  expect_served_by_malloc(reclaim, "reclaim");

  Depth mark;
  {
    const Heap heap(marked(GetParam(), mib, mark_with_malloc, &mark));
    const tarn::DefaultHeap scope{tarn::HeapRef(heap)};
    for (int i = 0; i < 400; ++i) EXPECT_NE(tarn_malloc(4'000), nullptr);
  }
  expect_served_by_malloc(mark, "soft mark");
}

TEST_P(CallbacksWithin, SourcesAreServedByMallocsHeapWhateverTheDefaultIs) {
  Depth acquire;
  Depth release;
  struct Both {
    Depth* acquire;
    Depth* release;
  } both{&acquire, &release};
  tarn_source source = TARN_SOURCE();
  source.acquire = [](void* context, std::size_t bytes, std::size_t alignment) {
    return acquire_with_malloc(static_cast<Both*>(context)->acquire, bytes, alignment);
  };
  source.release = [](void* context, tarn_chunk chunk) {
    release_with_malloc(static_cast<Both*>(context)->release, chunk);
  };
  source.context = &both;
  source.chunk_bytes = 64 * kib;
  tarn_heap_options wanted = options(GetParam());
  wanted.source = &source;
  const tarn_heap heap = tarn_heap_create(&wanted);
  const tarn_heap before = tarn_heap_set_default(heap);
  for (int i = 0; i < 1'000; ++i) EXPECT_NE(tarn_malloc(2'000), nullptr);
  EXPECT_EQ(tarn_heap_destroy(heap), 0);
  tarn_heap_set_default(before);
  expect_served_by_malloc(acquire, "acquire");
  expect_served_by_malloc(release, "release");
}

// Each in the heap that calls it, by name.
struct Own {
  tarn_heap heap{};
  int calls = 0;
  int refused = 0;
  std::vector<void*> blocks;
};

std::size_t reclaim_in_own_heap(tarn_heap heap, std::size_t, void* context) {
  auto* const own = static_cast<Own*>(context);
  if (++own->calls > 10) return 0;
  if (tarn_heap_allocate(heap, 900 * kib) == nullptr) ++own->refused;
  return 0;
}

TEST_P(CallbacksWithin, ReclaimThatAllocatesFromItsHeapIsNotCalledWithinItself) {
  Own own;
  const Heap heap(reclaiming(GetParam(), mib, reclaim_in_own_heap, &own));
  ASSERT_NE(tarn_heap_allocate(heap, 900 * kib), nullptr);
  EXPECT_EQ(tarn_heap_allocate(heap, 900 * kib), nullptr);
  EXPECT_EQ(own.calls, 1);
  EXPECT_EQ(own.refused, 1);
  EXPECT_EQ(tarn_heap_allocate(heap, 900 * kib), nullptr);
  EXPECT_EQ(own.calls, 2) << "called again afterwards";
}

// In turn: the first heap's callback asks the second, whose callback asks the first.
std::size_t reclaim_in_other_heap(tarn_heap, std::size_t, void* context) {
  auto* const own = static_cast<Own*>(context);
  if (++own->calls > 10) return 0;
  if (tarn_heap_allocate(own->heap, 900 * kib) == nullptr) ++own->refused;
  return 0;
}

TEST_P(CallbacksWithin, ReclaimsThatAskEachOthersHeapsEnd) {
  Own of_first;
  Own of_second;
  const Heap first(reclaiming(GetParam(), mib, reclaim_in_other_heap, &of_first));
  const Heap second(reclaiming(GetParam(), mib, reclaim_in_other_heap, &of_second));
  of_first.heap = second;
  of_second.heap = first;
  for (const tarn_heap heap : {first.handle(), second.handle()}) {
    ASSERT_NE(tarn_heap_allocate(heap, 900 * kib), nullptr);
  }
  EXPECT_EQ(tarn_heap_allocate(first, 900 * kib), nullptr);
  EXPECT_EQ(of_first.calls, 1);
  EXPECT_EQ(of_second.calls, 1);
  EXPECT_EQ(of_second.refused, 1) << "the first heap's callback is not called within itself";
}

// Goes below the mark, and passes it again.
void pass_again(tarn_heap heap, std::size_t, void* context) {
  auto* const own = static_cast<Own*>(context);
  if (++own->calls > 10) return;
  tarn_heap_deallocate(own->blocks.back());
  own->blocks.back() = tarn_heap_allocate(heap, mib);
}

TEST_P(CallbacksWithin, AMarkThatItsCallbackPassesIsCalledLater) {
  Own own;
  const Heap heap(marked(GetParam(), mib, pass_again, &own));
  own.blocks.push_back(tarn_heap_allocate(heap, mib));
  EXPECT_NE(tarn_heap_allocate(heap, 200 * kib), nullptr);
  EXPECT_EQ(own.calls, 1);
  EXPECT_NE(tarn_heap_allocate(heap, 200 * kib), nullptr);
  EXPECT_EQ(own.calls, 2);
}

}  // namespace
}  // namespace heaps
