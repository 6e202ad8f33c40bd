// image: static pools and heaps on a processor without an OS, from main, from a constructor before
// main, and from an interrupt handler at once. TARN_TEST_LOCK is the lock of what both share.
//
// SPDX-License-Identifier: MIT
#include "board.h"
#include "critical_section.hpp"
#include "tarn/pool/static_heap.hpp"

extern "C" int c_pools_work();

namespace {

using tarn::Class;
using Lock = TARN_TEST_LOCK;

struct Packet {
  std::uint32_t owner;  // 0: nobody.
  std::uint32_t words[4];
};

constexpr std::uint32_t packets = 40;  // Two words of bits, so that hints or lists are at work.
tarn::StaticObjectPool<Packet, packets, Lock> shared;
tarn::StaticPool<24, 70> pool;
tarn::StaticHeap<Class<16, 4>, Class<48, 3>, Class<160, 2>> heap;

struct BeforeMain {
  BeforeMain() noexcept : block(pool.try_allocate()) {}
  void* block;
} before_main;

volatile std::uint32_t misuses;
volatile bool inside;
std::uint32_t ticks, ticks_inside, refused;

struct Random {
  std::uint32_t state;
  std::uint32_t next(std::uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
  }
};

// Takes packets, marks them, and gives some back. A packet that has two owners is seen by its mark.
class User {
 public:
  constexpr User(std::uint32_t owner, std::uint32_t most)
      : owner_(owner), most_(most), random_{owner} {}

  void step() {
    if (count_ < most_ && random_.next(3) != 0) {
      Packet* const packet = shared.try_create();
      if (packet == nullptr) {
        ++refused;
        return;
      }
      REQUIRE(packet->owner == 0);
      packet->owner = owner_;
      for (std::uint32_t& word : packet->words) word = owner_;
      mine_[count_++] = packet;
    } else if (count_ != 0) {
      release(random_.next(count_));
    }
  }
  void release(std::uint32_t i) {
    Packet* const packet = mine_[i];
    mine_[i] = mine_[--count_];
    REQUIRE(packet->owner == owner_);
    for (std::uint32_t& word : packet->words) {
      REQUIRE(word == owner_);
      word = 0;
    }
    packet->owner = 0;
    shared.destroy(packet);
  }
  std::uint32_t count() const { return count_; }
  void release_all() {
    while (count_ != 0) release(count_ - 1);
  }

 private:
  std::uint32_t owner_;
  std::uint32_t most_;
  Random random_;
  std::uint32_t count_ = 0;
  Packet* mine_[packets] = {};
};

User* in_handler;

void try_pool() {
  REQUIRE(before_main.block != nullptr && pool.in_use() == 1);
  void* blocks[pool.blocks];
  for (std::size_t i = 1; i < pool.blocks; ++i) {
    blocks[i] = pool.try_allocate();
    REQUIRE(pool.index_of(blocks[i]) == i && tarn::is_aligned(blocks[i], 8));
  }
  REQUIRE(pool.try_allocate() == nullptr && pool.stats().failures == 1 && pool.check());
  for (std::size_t i = 1; i < pool.blocks; ++i) pool.deallocate(blocks[i]);
  pool.deallocate(blocks[5]);
  pool.deallocate(static_cast<char*>(before_main.block) + 1);
  pool.deallocate(&heap);
  REQUIRE(misuses == 3 && pool.in_use() == 1 && pool.check());
  pool.deallocate(before_main.block);
}

void try_heap() {
  void* blocks[3];
  for (void*& block : blocks) block = heap.try_allocate(20);
  REQUIRE(heap.try_allocate(48) == nullptr && heap.block_bytes_of(blocks[2]) == 48);
  for (void* block : blocks) heap.deallocate(block);
  heap.deallocate(blocks[0]);
  REQUIRE(misuses == 4 && heap.check());
}

// The handler strikes after another number of instructions each time.
void try_interrupts() {
  User user(1, packets - 5);
  User handler(2, packets - 5);
  in_handler = &handler;
  board_start_ticks(3);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    inside = true;
    user.step();
    inside = false;
  }
  board_stop_ticks();
  REQUIRE(shared.in_use() == user.count() + handler.count());
  REQUIRE(shared.check() && shared.stats().peak == packets);
  user.release_all();
  handler.release_all();
  REQUIRE(shared.in_use() == 0 && shared.check() && misuses == 4);
  board_print_number("interrupts: ", ticks);
  board_print_number("in the middle of an operation: ", ticks_inside);
  board_print_number("refused: ", refused);
  REQUIRE(ticks_inside > 1000 && refused > 100);
}

}  // namespace

extern "C" void tarn_static_misuse(const char*, const void*, const void*) { misuses = misuses + 1; }

extern "C" void tick() {
  static Random random{};
  ++ticks;
  if (inside) ++ticks_inside;
  for (std::uint32_t i = random.next(4); i != 0; --i) in_handler->step();
  board_start_ticks(2 + random.next(9));
}

int main() {
  try_pool();
  try_heap();
  REQUIRE(c_pools_work());
  try_interrupts();
  board_print("passed\n");
  return 0;
}
