// innocent: a long day in the lives of pools and heaps, in which nothing is wrong: whatever a tool
// says of it is false.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "tarn/heap/tlsf.hpp"
#include "tarn/pool/region_array_pool.hpp"
#include "tarn/pool/static_heap.hpp"
#include "tarn/standard/array_allocator.hpp"

extern "C" void c_innocent();

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("not so: %s\n", what);
  std::exit(1);
}
#define EXPECT(holds) expect(holds, #holds)

struct Block {
  unsigned char* p;
  std::size_t bytes;
  unsigned char mark;
};

void fill(const Block& block) { std::memset(block.p, block.mark, block.bytes); }
bool is_whole(const Block& block) {
  for (std::size_t i = 0; i < block.bytes; ++i) {
    if (block.p[i] != block.mark) return false;
  }
  return true;
}

// take(random) gives bytes that are ours, or null; give(block) ends it.
template <class Take, class Give>
void live(unsigned seed, int steps, Take take, Give give) {
  std::minstd_rand random(seed);
  std::vector<Block> blocks;
  for (int i = 0; i < steps; ++i) {
    Block block{};
    if (random() % 5 < 3) block = take(random);
    if (block.p != nullptr) {
      block.mark = static_cast<unsigned char>(random());
      fill(block);
      blocks.push_back(block);
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      EXPECT(is_whole(blocks.back()));
      give(blocks.back());
      blocks.pop_back();
    }
    if (random() % 150 == 0) {
      for (; !blocks.empty(); blocks.pop_back()) give(blocks.back());
    }
  }
  for (const Block& block : blocks) {
    EXPECT(is_whole(block));
    give(block);
  }
}

template <class Pool>
void live_in(Pool& pool, std::size_t bytes, int steps = 1000) {
  live(
      static_cast<unsigned>(bytes), steps,
      [&](auto&) {
        return Block{static_cast<unsigned char*>(pool.try_allocate()), bytes, 0};
      },
      [&](const Block& block) { pool.deallocate(block.p); });
  void* const a = pool.try_allocate();
  void* const b = pool.try_allocate();
  std::memset(a, 1, bytes);
  std::memset(b, 2, bytes);
  pool.deallocate(a);
  pool.for_each([&](void* p) {
    EXPECT(p == b && static_cast<unsigned char*>(p)[bytes - 1] == 2);
    pool.deallocate(p);
  });
  EXPECT(pool.check());
}

// In static memory, on the stack, in the heap, and again where one was; the last is not emptied.
template <class Pool>
void place(std::size_t bytes) {
  static Pool in_bss;
  live_in(in_bss, bytes);
  {
    Pool on_stack;
    live_in(on_stack, bytes);
    std::memset(on_stack.try_allocate(), 3, bytes);
  }
  unsigned char plain[sizeof(Pool)];
  std::memset(plain, 4, sizeof plain);
  EXPECT(plain[sizeof plain / 2] == 4);
  for (int i = 0; i < 3; ++i) {
    auto in_heap = std::make_unique<Pool>();
    live_in(*in_heap, bytes);
    std::memset(in_heap->try_allocate(), 5, bytes);
  }
  alignas(Pool) static unsigned char memory[sizeof(Pool) + 64];
  for (std::size_t i = 0; i < 3; ++i) {
    Pool* const pool = ::new (memory + i * alignof(Pool) % 64) Pool;
    live_in(*pool, bytes);
    std::memset(pool->try_allocate(), 6, bytes);
    pool->~Pool();
    std::memset(memory, 0x77, sizeof memory);
    EXPECT(memory[sizeof memory / 2] == 0x77);
  }
}

template <std::size_t bytes>
void pools_of() {
  using tarn::ArrayChecks;
  place<tarn::StaticPool<bytes, 60>>(bytes);
  place<tarn::StaticPool<bytes, 200>>(bytes);
  place<tarn::StaticPool<bytes, 60, 16>>(bytes);
  place<tarn::StaticPool<bytes, 60, 1>>(bytes);
  place<tarn::StaticPool<bytes, 200, 1, tarn::LockFree>>(bytes);
  place<tarn::StaticPool<bytes, 60, 8, tarn::LockFree>>(bytes);
  place<tarn::StaticPool<bytes, 60, 8, std::mutex>>(bytes);
  place<tarn::ArrayPool<60, bytes>>(bytes);
  place<tarn::ArrayPool<300, bytes, 1, tarn::OverflowNull>>(bytes);
  place<tarn::ArrayPool<7, bytes, 1, tarn::OverflowNew>>(bytes);
  place<tarn::ArrayPool<300, bytes, 32, tarn::OverflowThrow, ArrayChecks::exact>>(bytes);
}

// Neighbours in one granule, from several threads.
template <class Pool>
void share(std::size_t bytes, unsigned threads) {
  static Pool in_bss;
  Pool on_stack;
  for (Pool* const pool : {&in_bss, &on_stack}) {
    std::vector<std::thread> running;
    for (unsigned t = 0; t < threads; ++t) {
      running.emplace_back([=] {
        live(
            t + 1, 3000,
            [&](auto&) {
              return Block{static_cast<unsigned char*>(pool->try_allocate()), bytes, 0};
            },
            [&](const Block& block) { pool->deallocate(block.p); });
      });
    }
    for (std::thread& thread : running) thread.join();
    EXPECT(pool->check() && pool->in_use() == 0);
  }
}

void classes() {
  static tarn::StaticHeap<tarn::Class<1, 50>, tarn::Class<3, 50>, tarn::Class<24, 50>,
                          tarn::Class<100, 20>>
      heap;
  live(
      1, 8000,
      [](auto& random) {
        const std::size_t bytes = random() % 101;
        auto* const p = static_cast<unsigned char*>(heap.try_allocate(bytes));
        return Block{p, heap.block_bytes_of(p), 0};  // All of it may be used.
      },
      [](const Block& block) { heap.deallocate(block.p); });
  EXPECT(heap.check());
}

template <class Heap>
void sizes(Heap& heap) {
  live(
      2, 4000,
      [&](auto& random) {
        std::size_t bytes = random() % 200;
        const std::size_t alignment = std::size_t{1} << random() % 7;
        auto* p = static_cast<unsigned char*>(heap.try_allocate(bytes, alignment));
        if (p != nullptr && random() % 3 == 0) {
          std::memset(p, 9, bytes);
          const std::size_t other = random() % 300;
          if (void* const moved = heap.try_reallocate(p, other)) {
            p = static_cast<unsigned char*>(moved);
            for (std::size_t i = 0; i < other && i < bytes; ++i) EXPECT(p[i] == 9);
            bytes = other;
          }
        }
        if (p != nullptr && random() % 3 == 0) bytes = heap.block_bytes_of(p);
        if (random() % 32 == 0) EXPECT(heap.check() && heap.stats().largest_bytes < 100000);
        return Block{p, bytes, 0};
      },
      [&](const Block& block) { heap.deallocate(block.p); });
  std::memset(heap.try_allocate(10), 1, 10);
  std::memset(heap.try_allocate(60), 2, 60);
  heap.for_each([&](void* p, std::size_t bytes) {
    std::memset(p, 3, bytes);
    heap.deallocate(p);
  });
  EXPECT(heap.check() && heap.stats().blocks == 0);
  std::memset(heap.try_allocate(50), 4, 50);
}

void heaps() {
  static tarn::StaticTlsfHeap<8192> in_bss;
  static unsigned char memory[9000];
  sizes(in_bss);
  for (int i = 0; i < 2; ++i) {
    tarn::StaticTlsfHeap<8192> on_stack;
    sizes(on_stack);
    auto in_heap = std::make_unique<tarn::StaticTlsfHeap<8192>>();
    sizes(*in_heap);
    std::unique_ptr<unsigned char[]> more(new unsigned char[5001]);
    tarn::TlsfHeap heap(memory + i, sizeof memory - 1);
    EXPECT(heap.add_region(more.get() + i, 5000));
    sizes(heap);  // The region that goes first is gone before the heap is.
    tarn_watch_end(memory, sizeof memory);
    std::memset(memory, 5, sizeof memory);
    EXPECT(memory[100] == 5);
    more.reset(new unsigned char[5001]());
    EXPECT(more[4000] == 0);
  }
  unsigned char local[4000];
  tarn::TlsfHeap heap(local, sizeof local);
  sizes(heap);
}

// The same ranges for one pool after another, watched or not, and for nothing of the kind.
template <class Index>
void regions(std::size_t bytes, std::size_t count, Index) {
  alignas(8) static unsigned char notes[20000];
  static unsigned char blocks[20000];
  for (int i = 0; i < 6; ++i) {
    auto pool = tarn::RegionArrayPool::make({notes, sizeof notes}, blocks + i, count, bytes, i > 2);
    EXPECT(static_cast<bool>(pool));
    void* const before = pool.try_allocate();
    std::memset(before, 7, bytes);
    void* const gone = pool.try_allocate();
    std::memset(pool.try_allocate(), 8, bytes);
    pool.deallocate(gone);
    if (i % 3 != 1) pool.watch();
    EXPECT(static_cast<unsigned char*>(before)[bytes - 1] == 7);
    pool.deallocate(before);
    pool.for_each([&](void* p) { pool.deallocate(p); });
    live_in(pool, bytes);
    std::memset(pool.try_allocate(), 9, bytes);
    if (i < 4) continue;  // What attaches has it all open.
    tarn_watch_end(blocks, sizeof blocks);
    std::memset(blocks, 1, sizeof blocks);
  }
}

// A walker of a free block's own: what of the innocent's is nested in a block.
void nested() {
  static tarn::StaticTlsfHeap<20000> outer;
  for (int i = 0; i < 4; ++i) {
    using Pool = tarn::StaticPool<24, 30>;
    auto* const memory = static_cast<unsigned char*>(outer.try_allocate(2000));
    Pool* const pool = ::new (memory) Pool;
    live_in(*pool, 24);
    std::memset(pool->try_allocate(), 1, 24);
    outer.deallocate(memory);  // Without a word to the pool.
    auto* const plain = static_cast<unsigned char*>(outer.try_allocate(2000));
    std::memset(plain, 2, 2000);
    EXPECT(plain[1999] == 2);
    outer.deallocate(plain);
  }
}

tarn::StaticPool<40, 10>& late_pool();

// Static objects use a pool until the end, and read what they wrote.
struct Late {
  unsigned char* p = nullptr;
  ~Late() {
    EXPECT(p[39] == 8);
    late_pool().deallocate(p);
    void* const again = late_pool().try_allocate();
    std::memset(again, 1, 40);
    late_pool().deallocate(again);
  }
};
Late late;
tarn::StaticPool<40, 10> ends_first;
tarn::StaticPool<40, 10>& late_pool() { return ends_first; }

}  // namespace

int main() {
  late.p = static_cast<unsigned char*>(late_pool().try_allocate());
  std::memset(late.p, 8, 40);
  pools_of<1>();
  pools_of<3>();
  pools_of<8>();
  pools_of<24>();
  pools_of<64>();
  share<tarn::StaticPool<1, 40, 1, tarn::LockFree>>(1, 3);
  share<tarn::StaticPool<3, 100, 1, tarn::LockFree>>(3, 2);
  share<tarn::StaticPool<24, 100, 8, tarn::LockFree>>(24, 3);
  share<tarn::StaticPool<20, 100, 8, tarn::LockFree>>(20, 2);
  share<tarn::StaticPool<3, 100, 1, std::mutex>>(3, 2);
  classes();
  heaps();
  regions(1, 200, 0);
  regions(3, 300, 0);
  regions(24, 300, 0);
  nested();
  c_innocent();
  return 0;
}
