// bare: a pool, an arena and an object cache without an OS, over a static buffer, on a Cortex-M
// under QEMU. The last thing is a crime, which must be reported in words and end the image.
//
// SPDX-License-Identifier: MIT
#include "board.h"
#include "tarn/arena/arena.hpp"
#include "tarn/pool/object_cache.hpp"
#include "tarn/pool/pool.hpp"

namespace {

// Chunks one after the other; those that are released last are used again.
class Buffer {
 public:
  tarn::Chunk acquire(std::size_t bytes, std::size_t alignment) noexcept {
    const std::size_t at = (used_ + alignment - 1) & ~(alignment - 1);
    if (at > sizeof memory_ || bytes > sizeof memory_ - at) return {};
    used_ = at + bytes;
    ++out;
    return {memory_ + at, bytes};
  }
  void release(tarn::Chunk) noexcept {
    if (--out == 0) used_ = 0;
  }
  int out = 0;

 private:
  alignas(512) unsigned char memory_[6 * 1024];
  std::size_t used_ = 0;
};

Buffer buffer;

struct Reading {
  Reading* next;
  int value;
};

int sum_of(tarn::Pool& pool) {
  int sum = 0;
  pool.walk([&](void* p) { sum += static_cast<Reading*>(p)->value; });
  return sum;
}

void use_pool(tarn::Mode mode) {
  tarn::PoolOptions options;
  options.chunk_bytes = 512;
  options.name = "readings";
  options.mode = mode;
  tarn::Pool pool(sizeof(Reading), buffer, options);
  Reading* list = nullptr;
  for (int i = 1; i <= 40; ++i) {
    auto* const reading = static_cast<Reading*>(pool.try_allocate());
    REQUIRE(reading != nullptr);
    *reading = {list, i};
    list = reading;
  }
  REQUIRE(sum_of(pool) == 820 && pool.check());
  while (list != nullptr) {
    Reading* const next = list->next;
    pool.deallocate(list);
    list = next;
  }
  REQUIRE(pool.check() && pool.stats().live_blocks == 0 && pool.stats().chunks == 1);
  int most = 0;
  while (pool.try_allocate() != nullptr) ++most;
  REQUIRE(most > 50);  // And then null, without a word.
  REQUIRE(pool.allocate() == nullptr && pool.check());
}

void use_arena() {
  tarn::ArenaOptions options;
  options.chunk_bytes = 512;
  tarn::Arena arena(buffer, options);
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 20; ++i) {
      const tarn::ArenaScope scope(arena);
      int* const numbers = arena.create_array<int>(10);
      REQUIRE(numbers != nullptr && numbers[9] == 0);
      numbers[9] = round;
    }
    REQUIRE(arena.create<Reading>(Reading{nullptr, round}) != nullptr);
  }
  REQUIRE(arena.check());
  arena.reset();
  REQUIRE(arena.stats().used_bytes == 0);
}

void use_cache() {
  tarn::PoolOptions options;
  options.chunk_bytes = 512;
  tarn::ObjectCache<Reading> cache(buffer, 2, options);
  Reading* const a = cache.take();
  REQUIRE(a != nullptr);
  a->value = 5;
  cache.give(a);
  REQUIRE(cache.take()->value == 5 && cache.hits() == 1);
}

}  // namespace

extern "C" void tick() {}

extern "C" void tarn_bare_write(const char* text, std::size_t bytes) {
  char line[2] = {};
  for (std::size_t i = 0; i < bytes; ++i) {
    line[0] = text[i];
    board_print(line);
  }
}
extern "C" void tarn_bare_abort() { board_exit(7); }

int main() {
  use_pool(tarn::Mode::fast);
  use_pool(tarn::Mode::checked);
  use_arena();
  use_cache();
  REQUIRE(buffer.out == 0);
  board_print("passed\n");
  tarn::PoolOptions options;
  options.name = "readings";
  options.mode = tarn::Mode::checked;
  options.chunk_bytes = 512;
  tarn::Pool pool(16, buffer, options);
  void* const p = pool.allocate();
  pool.deallocate(p);
  pool.deallocate(p);
  return 0;
}
