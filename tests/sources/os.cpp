// Sources of the operating system's pages: what tarn/source/os_source.hpp promises.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/os_source.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "../support/threads.hpp"
#include "sources_conformance.hpp"
#include "tarn/arena/arena.hpp"
#include "tarn/heap/heap.hpp"
#include "tarn/pool/pool.hpp"

namespace sources {
namespace {

using tarn::Chunk;
using tarn::OsSource;
using tarn::OsSourceOptions;

constexpr std::size_t gib = std::size_t{1} << 30;

struct OfTheSystem {
  static constexpr std::size_t bytes_max = 100'000;
  static constexpr std::size_t alignment_max = std::size_t{1} << 21;
  static constexpr std::size_t chunks = 20;
  OsSource source;
  bool nothing_lost() const {
    const auto stats = source.stats();
    return stats.chunks == 0 && stats.held_bytes == 0 && stats.kept_bytes == 0;
  }
};

// The lines of /proc/self/smaps of the mapping that an address lies in.
std::string smaps_of(const void* p) {
  const auto address = reinterpret_cast<std::uintptr_t>(p);
  std::ifstream file("/proc/self/smaps");
  std::string line;
  std::string found;
  bool inside = false;
  while (std::getline(file, line)) {
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    char dash = 0;
    std::istringstream words(line);
    if (line.find(':') > line.find('-') && words >> std::hex >> first >> dash >> last) {
      inside = first <= address && address < last;
    }
    if (inside) found += line + "\n";
  }
  return found;
}

bool is_mapped(void* p) { return msync(p, 1, MS_ASYNC) == 0 || errno != ENOMEM; }

std::size_t resident(void* p, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(mincore(p, bytes, pages.data()), 0);
  std::size_t count = 0;
  for (const unsigned char page : pages) count += page & 1u;
  return count * 4096;
}

TEST(OsSource, AlignsUpToAGibibyte) {
  OsSource source;
  for (std::size_t alignment = 1; alignment <= gib; alignment *= 2) {
    const Chunk chunk = source.acquire(5000, alignment);
    ASSERT_NE(chunk.data, nullptr) << alignment;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunk.data) % alignment, 0u);
    EXPECT_EQ(chunk.bytes, 8192u);
    std::memset(chunk.data, 1, chunk.bytes);
    EXPECT_EQ(source.stats().held_bytes, 8192u);
    source.release(chunk);
    EXPECT_FALSE(is_mapped(chunk.data)) << alignment;
  }
  EXPECT_EQ(source.stats().acquired, 31u);
}

TEST(OsSource, IsZeroAndNotBacked) {
  OsSource source;
  const Chunk chunk = source.acquire(1 << 20, 4096);
  EXPECT_EQ(resident(chunk.data, 1 << 20), 0u);
  for (std::size_t i = 0; i < chunk.bytes; ++i) ASSERT_EQ(static_cast<char*>(chunk.data)[i], 0);
  source.release(chunk);
}

TEST(OsSource, HugePagesAreAskedFor) {
  OsSourceOptions options;
  options.huge_pages = true;
  OsSource source(options);
  EXPECT_EQ(source.chunk_bytes(), std::size_t{2} << 20);
  const Chunk chunk = source.acquire(3 << 20, 1);
  EXPECT_EQ(chunk.bytes, std::size_t{4} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(chunk.data) % (2 << 20), 0u);
  const std::string said = smaps_of(chunk.data);
  EXPECT_NE(said.find(" hg"), std::string::npos) << said;
  source.release(chunk);
}

TEST(OsSource, PopulatedChunksAreBacked) {
  OsSourceOptions options;
  options.populate = true;
  OsSource source(options);
  const Chunk chunk = source.acquire(1 << 20, 1);
  EXPECT_EQ(resident(chunk.data, 1 << 20), std::size_t{1} << 20);
  EXPECT_EQ(*static_cast<char*>(chunk.data), 0);
  source.release(chunk);
}

TEST(OsSource, LockedChunksStay) {
  OsSourceOptions options;
  options.lock = true;
  OsSource source(options);
  const Chunk chunk = source.acquire(16384, 1);
  ASSERT_NE(chunk.data, nullptr);
  // Sanitizers make nothing of such calls; then this test sees nothing of its own one, either.
  const int kind = MAP_PRIVATE | MAP_ANONYMOUS;
  void* const known = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, kind, -1, 0);
  ASSERT_EQ(mlock(known, 4096), 0);
  const bool seen = smaps_of(known).find(" lo") != std::string::npos;
  EXPECT_EQ(smaps_of(chunk.data).find(" lo") != std::string::npos, seen);
  munmap(known, 4096);
  source.release(chunk);
  EXPECT_FALSE(is_mapped(chunk.data));
}

// Where the kernel has the call, node 0 is always there, and node 1023 is not.
TEST(OsSource, MemoryOfANode) {
  OsSourceOptions options;
  options.node = 1023;
  EXPECT_THROW(OsSource{options}, tarn::InvalidOptions);
  EXPECT_EQ(errno, ENOTSUP);
  options.node = 100'000;
  EXPECT_THROW(OsSource{options}, tarn::InvalidOptions);
  options.node = 0;
  std::ifstream maps("/proc/self/numa_maps");
  try {
    OsSource source(options);
    const Chunk chunk = source.acquire(1 << 20, 1);
    std::memset(chunk.data, 1, chunk.bytes);
    std::ostringstream address;
    address << std::hex << reinterpret_cast<std::uintptr_t>(chunk.data);
    std::string line;
    while (std::getline(maps, line) && line.find(address.str()) == std::string::npos) {
    }
    EXPECT_NE(line.find("bind:0"), std::string::npos) << line;
    source.release(chunk);
  } catch (const tarn::InvalidOptions&) {
    EXPECT_EQ(errno, ENOTSUP);
    EXPECT_FALSE(maps.is_open()) << "the kernel knows nodes";
  }
}

TEST(OsSource, NumbersAreExact) {
  OsSource source;
  EXPECT_EQ(source.acquire(SIZE_MAX, 1).data, nullptr);
  EXPECT_EQ(source.acquire(1, 0).data, nullptr);
  EXPECT_EQ(source.acquire(1, 3).data, nullptr);
  EXPECT_EQ(source.acquire(1, std::size_t{1} << 63).data, nullptr);
  EXPECT_EQ(source.stats().refused, 4u);
  const Chunk a = source.acquire(0, 1);
  const Chunk b = source.acquire(4097, 1);
  EXPECT_EQ(source.stats().held_bytes, 3 * 4096u);
  source.release(a);
  source.release({});
  source.release(b);
  EXPECT_EQ(source.stats().held_bytes, 0u);
  EXPECT_EQ(source.stats().held_bytes_peak, 3 * 4096u);
}

TEST(OsSource, PoolsArenasAndHeapsLiveInIt) {
  OsSource source;
  {
    tarn::Pool pool(100, source);
    for (int i = 0; i < 10'000; ++i) std::memset(pool.allocate(), 1, 100);
    tarn::Arena arena(source);
    for (int i = 0; i < 10'000; ++i) std::memset(arena.allocate(100), 1, 100);
    const tarn::SourceRef named(source);
    tarn::HeapOptions options;
    options.source = &named.get();
    EXPECT_EQ(named.get().zeroed, 1);
    tarn::Heap heap(options);
    for (int i = 0; i < 10'000; ++i) std::memset(heap.allocate(100), 1, 100);
    EXPECT_GT(source.stats().held_bytes, 3'000'000u);
  }
  EXPECT_EQ(source.stats().held_bytes, 0u);
}

TEST(OsSource, AnyThread) {
  OsSource source;
  support::in_threads(4, [&source] {
    for (int i = 0; i < 300; ++i) {
      const Chunk chunk = source.acquire(8192, 1 << (12 + i % 10));
      std::memset(chunk.data, i, chunk.bytes);
      source.release(chunk);
    }
  });
  EXPECT_EQ(source.stats().acquired, 1200u);
  EXPECT_EQ(source.stats().held_bytes, 0u);
}

}  // namespace
}  // namespace sources

namespace conformance {
INSTANTIATE_TYPED_TEST_SUITE_P(Os, Sources, sources::OfTheSystem);
}  // namespace conformance
