// Separate and secret heaps: that their memory is theirs alone, what the kernel says of it, and
// that nothing of a secret is left where it was.
//
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "../support/child.hpp"
#include "heap.hpp"

namespace heaps {
namespace {

tarn_heap_options apart(unsigned flags, int threads = TARN_HEAP_SHARED,
                        const char* name = "vault") {
  tarn_heap_options made = options(threads, name);
  made.flags = flags;
  return made;
}

constexpr bool locks = TARN_TEST_DIVISOR == 1;

// The lines of smaps for the mapping that has the address; "" when none has.
std::string mapping_of(const void* p) {
  std::ifstream smaps("/proc/self/smaps");
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::istringstream words(line);
    if (line.find('-') != std::string::npos && words >> std::hex >> start >> dash >> end &&
        dash == '-') {
      inside = address >= start && address < end;
    }
    if (inside) text += line + "\n";
  }
  return text;
}

bool has_flag(const std::string& mapping, const std::string& flag) {
  const std::size_t at = mapping.find("VmFlags:");
  return at != std::string::npos &&
         (mapping.substr(at) + " ").find(" " + flag + " ") != std::string::npos;
}

// Of all mappings: which ones are a heap's cannot be told, as neighbours join.
std::size_t resident_of_process() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Blocks of a mixed page, of pages and large ones; filled.
std::vector<std::pair<void*, std::size_t>> blocks_of_each_kind(tarn_heap heap) {
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (const std::size_t bytes : {64u, 1000u, 5000u, 64u, 300000u}) {
    blocks.emplace_back(tarn_heap_allocate(heap, bytes), bytes);
  }
  make_grown_up(heap);
  for (int i = 0; i < 100; ++i) blocks.emplace_back(tarn_heap_allocate(heap, 200), 200);
  for (const auto& [p, bytes] : blocks) {
    EXPECT_NE(p, nullptr);
    fill(p, bytes, static_cast<unsigned>(bytes));
  }
  return blocks;
}

class Apart : public EachMode {};
INSTANTIATE_TEST_SUITE_P(Modes, Apart, every_mode);

TEST_P(Apart, SharesNoOsPageMappingWithOthers) {
  void* p = nullptr;
  {
    const Heap heap(apart(TARN_HEAP_SEPARATE, GetParam()));
    for (int i = 0; i < 1000; ++i) p = tarn_heap_allocate(heap, 3000);
    fill(p, 3000, 1);
    EXPECT_NE(mapping_of(p), "");
    errno = 0;
    EXPECT_EQ(tarn_heap_delete(heap), -1);
    EXPECT_EQ(errno, ENOTSUP);
  }
  // Its mapping has gone, although there may be another one by now that joins what was beside it.
  unsigned char resident = 0;
  auto* const page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) & ~(slice - 1));
  EXPECT_EQ(mincore(page, slice, &resident), -1);
}

TEST_P(Apart, IsSeenByName) {
  void* const probe = mmap(nullptr, slice, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool known = prctl(0x53564d41, 0, probe, slice, "probe") == 0;
  munmap(probe, slice);
  if (!known) GTEST_SKIP() << "this kernel shows no names (CONFIG_ANON_VMA_NAME)";
  const Heap heap(apart(TARN_HEAP_SEPARATE, GetParam(), "orders [1]"));
  EXPECT_NE(mapping_of(tarn_heap_allocate(heap, 10)).find("tarn: orders _1_"), std::string::npos);
}

TEST_P(Apart, TrimGivesMemoryBack) {
  const Heap heap(apart(TARN_HEAP_SEPARATE, GetParam()));
  std::vector<void*> blocks;
  for (int i = 0; i < 4000; ++i) {
    blocks.push_back(tarn_heap_allocate(heap, 3000));
    fill(blocks.back(), 3000, 2);
  }
  void* const kept = blocks.back();
  blocks.pop_back();
  const std::size_t before = resident_of_process();
  for (void* const p : blocks) tarn_free(p);
  tarn_heap_trim(heap, 0);
  EXPECT_TRUE(is_filled(kept, 3000, 2));
  EXPECT_LT(committed(heap), mib);
  EXPECT_LT(resident_of_process() + 10 * mib, before);  // Of eleven and a half.
  void* const again = tarn_heap_allocate_zeroed(heap, 1, 3 * mib);
  EXPECT_TRUE(is_zero(again, 3 * mib));
}

class Secrets : public EachMode {
 protected:
  tarn_heap_options secret() const { return apart(TARN_HEAP_SECRET, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Modes, Secrets, every_mode);

TEST_P(Secrets, AreLockedAndLeftOutOfDumpsAndForks) {
  const Heap heap(secret());
  for (const auto& [p, bytes] : blocks_of_each_kind(heap)) {
    const std::string mapping = mapping_of(p);
    EXPECT_TRUE(!locks || has_flag(mapping, "lo")) << mapping;
    EXPECT_TRUE(has_flag(mapping, "dd")) << mapping;
    EXPECT_TRUE(has_flag(mapping, "wf")) << mapping;
  }
}

// But for a link at the start of a block, which tells nothing.
TEST_P(Secrets, AreWipedWhenTheyAreFreed) {
  const Heap heap(secret());
  const auto blocks = blocks_of_each_kind(heap);
  void* const last = tarn_heap_allocate(heap, mib);
  fill(last, mib, 5);
  ASSERT_EQ(tarn_heap_reallocate(heap, last, 150000), last);
  EXPECT_TRUE(is_zero(static_cast<char*>(last) + 200000, mib - 200000));
  for (const auto& [p, bytes] : blocks) {
    tarn_free(p);
    if (bytes == 300000) continue;  // Its chunk may have gone back with it.
    EXPECT_TRUE(is_zero(static_cast<char*>(p) + sizeof(void*), bytes - sizeof(void*))) << bytes;
  }
  EXPECT_TRUE(is_filled(last, 150000, 5));
}

TEST_P(Secrets, AreWipedWhenTheHeapIsCleared) {
  const Heap heap(secret());
  std::vector<void*> blocks;  // In the first chunk, which stays.
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(tarn_heap_allocate(heap, 100));
    fill(blocks.back(), 100, 3);
  }
  EXPECT_EQ(tarn_heap_clear(heap), 0);
  for (const void* p : blocks) EXPECT_TRUE(is_zero(p, 100));
  EXPECT_EQ(blocks_of_each_kind(heap).size(), 105u);
}

TEST_P(Secrets, ShrinkWithoutATrace) {
  const Heap heap(secret());
  void* const young = tarn_heap_allocate(heap, 1000);
  fill(young, 1000, 6);
  ASSERT_EQ(tarn_heap_reallocate(heap, young, 16), young);
  EXPECT_TRUE(is_zero(static_cast<char*>(young) + 16, 984));
  make_grown_up(heap);
  for (const std::size_t bytes : {std::size_t{5000}, 300 * kib}) {
    void* const p = tarn_heap_allocate(heap, bytes);
    fill(p, bytes, 7);
    const std::size_t shorter = bytes * 2 / 3 + 1;
    ASSERT_EQ(tarn_heap_reallocate(heap, p, shorter), p);
    EXPECT_TRUE(is_filled(p, shorter, 7));
    EXPECT_TRUE(is_zero(static_cast<char*>(p) + shorter, bytes - shorter));
  }
}

TEST_P(Secrets, MoveWithoutATrace) {
  const Heap heap(secret());
  make_grown_up(heap);
  void* const p = tarn_heap_allocate(heap, 500);
  fill(p, 500, 4);
  void* const moved = tarn_heap_reallocate(heap, p, 3000);
  ASSERT_NE(moved, p);
  EXPECT_TRUE(is_filled(moved, 500, 4));
  EXPECT_TRUE(is_zero(static_cast<char*>(p) + sizeof(void*), 500 - sizeof(void*)));
}

TEST_P(Secrets, AreZeroInTheChildOfAFork) {
  const Heap heap(secret());
  auto blocks = blocks_of_each_kind(heap);
  for (std::size_t i = 20; i < 60; ++i) tarn_free(blocks[i].first);
  blocks.erase(blocks.begin() + 20, blocks.begin() + 60);
  const int status = support::status_of_child([&] {
    int failed = 0;
    for (const auto& [p, bytes] : blocks) {
      if (!is_zero(p, bytes)) failed |= 1;
    }
    if (blocks_of_each_kind(heap).size() != 105) failed |= 2;
    for (const auto& [p, bytes] : blocks) tarn_free(p);
    if (locks && !has_flag(mapping_of(tarn_heap_allocate(heap, 200)), "lo")) failed |= 4;
    if (tarn_heap_clear(heap) != 0 || tarn_heap_allocate(heap, 200) == nullptr) failed |= 8;
    if (tarn_heap_destroy(heap) != 0) failed |= 16;
    return failed;
  });
  EXPECT_EQ(status, 0) << "the child's failures, as bits: " << status / 256;
  for (const auto& [p, bytes] : blocks) {
    EXPECT_TRUE(is_filled(p, bytes, static_cast<unsigned>(bytes)));
  }
}

TEST_P(Secrets, AreRefusedWhereNothingCanBeLocked) {
  if (!locks) GTEST_SKIP() << "mlock does nothing under sanitizers";
  const int status = support::status_of_child([&] {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_MEMLOCK, &none) != 0) std::_Exit(2);
    if (getuid() == 0 && setuid(65534) != 0) std::_Exit(3);
    const tarn_heap_options wanted = secret();
    errno = 0;
    const bool refused = is_none(tarn_heap_create(&wanted)) && errno == EPERM;
    return refused ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

// What can be locked is limited: the heap is out of memory then, and goes on.
TEST_P(Secrets, AtTheLimitOfLockedMemory) {
  if (!locks) GTEST_SKIP() << "mlock does nothing under sanitizers";
  const int status = support::status_of_child([&] {
    const rlimit some{512 * kib, 512 * kib};
    if (setrlimit(RLIMIT_MEMLOCK, &some) != 0) std::_Exit(2);
    if (getuid() == 0 && setuid(65534) != 0) std::_Exit(3);
    const tarn_heap_options wanted = secret();
    const tarn_heap heap = tarn_heap_create(&wanted);
    if (is_none(heap)) std::_Exit(4);
    std::vector<void*> blocks;
    while (void* const p = tarn_heap_allocate(heap, 4000)) blocks.push_back(p);
    if (errno != ENOMEM || blocks.size() < 50 || blocks.size() > 130) std::_Exit(5);
    for (void* const p : blocks) tarn_free(p);
    return tarn_heap_allocate(heap, 4000) != nullptr ? 0 : 6;
  });
  EXPECT_EQ(status, 0) << "exit status " << status / 256;
}

}  // namespace
}  // namespace heaps
