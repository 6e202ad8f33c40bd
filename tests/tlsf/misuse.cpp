// Misuse of TLSF heaps: wrong frees are told before anything changes; overruns that reach a
// neighbour's header are, too; and check() sees each kind of damage.
//
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tarn/heap/tlsf.hpp"

namespace {

struct Told {
  std::string kind;
  const void* heap;
  const void* p;
  friend bool operator==(const Told&, const Told&) = default;
};
std::vector<Told> told;

}  // namespace

extern "C" void tarn_static_misuse(const char* kind, const void* heap, const void* p) {
  told.push_back({kind, heap, p});
}

namespace {

using Heap = tarn::StaticTlsfHeap<4000>;

TEST(TlsfMisuse, IsToldAndChangesNothing) {
  static Heap heap;
  static Heap other;
  told.clear();
  std::vector<Told> expected;
  heap.deallocate(&heap);  // Before the first allocation.
  expected.push_back({"invalid free", &heap, &heap});
  unsigned char* blocks[6];
  for (auto& block : blocks) {
    block = static_cast<unsigned char*>(heap.allocate(96));
    std::memset(block, 0xa4, 96);
  }
  int local = 0;
  const auto wrong = [&](void* p, const char* kind) {
    const auto before = heap.stats();
    heap.deallocate(p);
    EXPECT_EQ(heap.try_reallocate(p, 10), nullptr);
    expected.push_back({kind, &heap, p});
    expected.push_back({kind, &heap, p});
    EXPECT_TRUE(heap.check() && heap.stats().in_use_bytes == before.in_use_bytes);
  };
  for (std::size_t i = 1; i < 96; ++i) wrong(blocks[2] + i, "invalid free");
  wrong(other.allocate(20), "invalid free");
  wrong(&local, "invalid free");
  wrong(reinterpret_cast<void*>(UINTPTR_MAX), "invalid free");
  wrong(reinterpret_cast<void*>(std::uintptr_t{16}), "invalid free");
  for (int i : {1, 3, 2, 4, 0, 5}) {  // Alone, joined before, behind, on both sides, and at last.
    heap.deallocate(blocks[i]);
    wrong(blocks[i], "double free");
  }
  for (auto* block : blocks) wrong(block, "double free");
  EXPECT_EQ(told, expected);
}

TEST(TlsfMisuse, AnOverrunIntoAHeaderIsTold) {
  for (int which = 0; which < 4; ++which) {
    std::vector<unsigned char> memory(4000);
    tarn::TlsfHeap heap(memory.data(), memory.size());
    unsigned char* blocks[4];
    for (auto& block : blocks) block = static_cast<unsigned char*>(heap.allocate(40));
    heap.deallocate(blocks[2]);
    told.clear();
    unsigned char* const p = which < 2 ? blocks[1] : blocks[0];
    const unsigned char value = which % 2 == 0 ? 0 : 0xf1;
    const std::size_t bytes = heap.block_bytes_of(p);
    tarn_watch_end(memory.data(), memory.size());  // So that the heap itself gets to see it.
    std::memset(p, value, bytes + 1);
    EXPECT_FALSE(heap.check());
    heap.deallocate(p);
    ASSERT_EQ(told.size(), 1U) << which;
    EXPECT_NE(told[0].kind, "double free");
    EXPECT_EQ(heap.stats().blocks, 3U);
  }
}

// What looks like a live header inside a block passes for one only when what follows agrees.
TEST(TlsfMisuse, ABlockBehindAFreeOneSaysSo) {
  static Heap heap;
  unsigned char* blocks[3];
  for (auto& block : blocks) block = static_cast<unsigned char*>(heap.allocate(96));
  heap.deallocate(blocks[1]);
  unsigned char* const inside = blocks[0] + 4 * sizeof(std::size_t);
  const std::size_t forged = static_cast<std::size_t>(blocks[2] - inside) | TARN_TLSF_LIVE;
  std::memcpy(inside - sizeof forged, &forged, sizeof forged);
  told.clear();
  heap.deallocate(inside);
  EXPECT_EQ(told, (std::vector<Told>{{"invalid free", &heap, inside}}));
  EXPECT_TRUE(heap.check() && !heap.is_live(inside));
}

// Each word of what the heap itself keeps is damaged in turn: check() sees it.
TEST(TlsfMisuse, CheckSeesDamage) {
  alignas(16) static unsigned char memory[2048];
  static tarn::BasicTlsfHeap<2048, tarn::NoLock, 0> heap(memory, sizeof memory);
  void* blocks[6];
  for (void*& block : blocks) block = heap.allocate(100);
  for (int i : {1, 3}) heap.deallocate(blocks[i]);
  ASSERT_TRUE(heap.check());
  tarn_watch_end(memory, sizeof memory);
  const auto damage = [&](unsigned char* at, unsigned bit) {
    at[bit / 8] = static_cast<unsigned char>(at[bit / 8] ^ (1U << bit % 8));
  };
  std::vector<unsigned char*> words;
  constexpr std::size_t word = sizeof(std::size_t);
  for (void* block : blocks) words.push_back(static_cast<unsigned char*>(block) - word);
  for (int i : {1, 3}) {
    words.push_back(static_cast<unsigned char*>(blocks[i]));                 // next
    words.push_back(static_cast<unsigned char*>(blocks[i]) + word);          // before
    words.push_back(static_cast<unsigned char*>(blocks[i + 1]) - 2 * word);  // the last word
  }
  for (unsigned char* at : words) {
    for (unsigned bit = 0; bit < 12; ++bit) {
      if (word == 8 && bit == 3) continue;
      damage(at, bit);
      EXPECT_FALSE(heap.check()) << "word at " << at - memory << ", bit " << bit;
      damage(at, bit);
    }
  }
  EXPECT_TRUE(heap.check());
}

}  // namespace
