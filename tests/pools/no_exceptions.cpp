// What the C++ faces do without exceptions where they throw with them: null, or false.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstdlib>

#include "tarn/arena/scratch.hpp"
#include "tarn/arena/shared_arena.hpp"
#include "tarn/heap/tlsf.hpp"
#include "tarn/pool/array_pool.hpp"
#include "tarn/pool/fixed_allocator.hpp"
#include "tarn/pool/object_cache.hpp"
#include "tarn/pool/pool.hpp"
#include "tarn/pool/static_pool.hpp"

namespace {

void require(bool what, int line) {
  if (what) return;
  std::printf("no_exceptions.cpp:%d\n", line);
  std::exit(1);
}
#define REQUIRE(what) require(what, __LINE__)

struct Nothing {
  tarn::Chunk acquire(std::size_t, std::size_t) noexcept { return {}; }
  void release(tarn::Chunk) noexcept {}
};

struct Object {
  ~Object() { ++ended; }
  static inline int ended = 0;
  int value = 5;
};

void pools() {
  Nothing nothing;
  tarn::Pool pool(40, nothing);
  REQUIRE(pool && pool.allocate() == nullptr && pool.allocate(8, 8) == nullptr);
  tarn::Pool senseless(0);
  REQUIRE(!senseless && senseless.allocate() == nullptr && !senseless.reserve(1));
  tarn::Pool moved(std::move(pool));
  REQUIRE(moved && !pool && pool.allocate() == nullptr);
  tarn::ObjectPool<Object> objects(nothing);
  REQUIRE(objects.create() == nullptr && objects.try_create() == nullptr);
  tarn::ObjectCache<Object> cache(nothing);
  REQUIRE(cache.take() == nullptr && cache.borrow().get() == nullptr);
  tarn::FixedAllocator blocks(40, 100, nothing);
  REQUIRE(blocks.allocate() == nullptr && blocks.check());
  tarn::StaticPool<8, 1> fixed;
  REQUIRE(fixed.allocate() != nullptr && fixed.allocate() == nullptr);
  tarn::ArrayPool<1, 8> array;
  REQUIRE(array.allocate() != nullptr && array.allocate() == nullptr);
  tarn::StaticTlsfHeap<256> heap;
  REQUIRE(heap.allocate(1000) == nullptr && heap.reallocate(nullptr, 1000) == nullptr);
}

void arenas() {
  Nothing nothing;
  tarn::Arena arena(nothing);
  REQUIRE(arena && arena.allocate(1) == nullptr && arena.allocate_zeroed(1, 1) == nullptr);
  REQUIRE(arena.create<Object>() == nullptr && arena.create_array<Object>(3) == nullptr);
  REQUIRE(arena.create<int>(1) == nullptr && arena.create_array<int>(3) == nullptr);
  REQUIRE(arena.copy("text") == nullptr && arena.format("%d", 1) == nullptr);
  REQUIRE(arena.resize(nullptr, 0, 10) == nullptr);
  arena.on_release([] {});
  arena.reset();
  tarn::ArenaOptions senseless;
  senseless.chunk_bytes = 1000;
  senseless.chunk_bytes_max = 10;
  tarn::Arena none(senseless);
  REQUIRE(!none && none.allocate(1) == nullptr);
  tarn::SharedArena shared(senseless);
  REQUIRE(shared.allocate(1) == nullptr);
  tarn::ArenaFront front(shared);
  REQUIRE(front->allocate(1) == nullptr);
}

void scratch() {
  tarn::Scratch<int, 4> buffer(SIZE_MAX / 2);
  REQUIRE(buffer.data() == nullptr && buffer.size() == 0 && buffer.capacity() == 0);
  REQUIRE(buffer.try_grow(3) && buffer.data() != nullptr && buffer.size() == 3);
  buffer[2] = 7;
  buffer.grow(SIZE_MAX / 2);
  REQUIRE(buffer.size() == 3 && buffer[2] == 7);
}

}  // namespace

int main() {
  pools();
  arenas();
  scratch();
  REQUIRE(Object::ended == 0);
}
