// equilibrium: how many blocks are free for each live one when as many come as go. A step frees a
// random one of the live blocks and allocates another of a random size.
//
// D. E. Knuth's fifty-percent rule (The Art of Computer Programming, volume 1, 2.5) predicts 0.5
// for a heap that cuts and joins blocks, as glibc's does: its free chunks are what mallinfo2()
// counts, without those in the thread's cache, 7 for each of 64 sizes at most.
//
// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <vector>

#include "../meter/meter.hpp"
#include "../workloads/random.hpp"
#include "maker.hpp"
#include "task.hpp"

namespace tarn {
namespace {

struct Blocks {
  double live, free;
};

class OfTarn {
 public:
  explicit OfTarn(const char* path) {
    find(open_library(path), "tarn_heap_get_stats", get_stats_);
    Maker::open(path);
    heap_ = Maker::create();
  }
  void* allocate(std::size_t bytes) { return Maker::allocate(heap_, bytes); }
  void deallocate(void* p) { Maker::deallocate(p); }
  Blocks blocks() const {
    tarn_heap_stats stats = TARN_HEAP_STATS();
    if (get_stats_(heap_, &stats) != 0) fail("no statistics");
    return {static_cast<double>(stats.live_blocks), static_cast<double>(stats.free_blocks)};
  }

 private:
  using Maker = TarnHeaps<TARN_HEAP_SHARED>;
  decltype(&tarn_heap_get_stats) get_stats_;
  tarn_heap heap_{};
};

class OfGlibc {
 public:
  explicit OfGlibc(std::size_t live) : live_(live) {}
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void deallocate(void* p) { std::free(p); }
  Blocks blocks() const {
    const struct mallinfo2 info = mallinfo2();
    return {static_cast<double>(live_), static_cast<double>(info.ordblks + info.smblks)};
  }

 private:
  std::size_t live_;
};

template <class Heap>
void measure(Heap heap, std::size_t steps, std::size_t live, std::size_t bytes_max) {
  Random random(1);
  std::vector<void*> slots(live, nullptr);
  const auto put = [&](std::size_t at) {
    slots[at] = heap.allocate(random.between(1, bytes_max));
    if (slots[at] == nullptr) fail("out of memory: use a smaller size");
  };
  for (std::size_t at = 0; at < live; ++at) put(at);
  double sum = 0;
  constexpr int looks = 10;
  for (int look = -looks; look < looks; ++look) {  // The first half is not looked at.
    for (std::size_t i = 0; i < steps / (2 * looks); ++i) {
      const std::size_t at = random.below(live);
      heap.deallocate(slots[at]);
      put(at);
    }
    const Blocks now = heap.blocks();
    if (look >= 0) sum += now.free / now.live;
  }
  print({{"free_per_live", sum / looks}});
}

}  // namespace

bool task_equilibrium(const Request& request) {
  const std::size_t steps = request.number(0, 5000000);
  const std::size_t live = request.number(1, 20000);
  const std::size_t bytes_max = request.number(2, 1024);
  if (request.maker == "tarn") {
    measure(OfTarn(request.library), steps, live, bytes_max);
  } else if (request.maker == "glibc") {
    measure(OfGlibc(live), steps, live, bytes_max);
  } else {
    return false;
  }
  return true;
}

}  // namespace tarn
