// pools: one pool of nodes over one source after another: a static buffer, a file, and part of a
// file, counted. The code that uses the pool does not change.
//
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <cstring>

#include "tarn/pool/pool.hpp"
#include "tarn/source/adaptors.hpp"
#include "tarn/source/buffer_source.hpp"
#include "tarn/source/file_source.hpp"

namespace {

struct Reading {
  Reading* before;
  long time;
  double value;
};

// Makes as many readings as the pool has room for, at most `most`. All of them end together.
std::size_t take_readings(tarn::Pool& pool, std::size_t most) {
  Reading* last = nullptr;
  std::size_t count = 0;
  while (count < most) {
    void* const memory = pool.try_allocate();
    if (memory == nullptr) break;
    last = new (memory) Reading{last, static_cast<long>(count), 20.5};
    ++count;
  }
  while (last != nullptr) {
    Reading* const before = last->before;
    pool.deallocate(last);
    last = before;
  }
  return count;
}

// It has 2,000 bytes of memory in all, and makes no call of a heap or the system.
void over_a_static_buffer() {
  static tarn::StaticBuffer<2000> buffer;
  tarn::Pool pool(sizeof(Reading), buffer);
  const std::size_t count = take_readings(pool, 1'000'000);
  std::printf("static buffer of 2000 bytes: %zu readings\n", count);
}

// Memory that the system may write to a file when it is short of memory, and a chunk that the next
// run of the program finds.
void over_a_file(const char* path) {
  tarn::FileSourceOptions options;
  options.create = true;
  tarn::FileSource file(path, options);
  if (file.root() == nullptr) {
    const tarn::Chunk chunk = file.acquire(sizeof(long), alignof(long));
    std::memset(chunk.data, 0, sizeof(long));
    file.set_root(chunk.data);
  }
  const long runs = ++*static_cast<long*>(file.root());
  tarn::Pool pool(sizeof(Reading), file);
  const std::size_t count = take_readings(pool, 100'000);
  std::printf("file, run %ld: %zu readings\n", runs, count);
}

// Several users of one source, each with a ceiling, and how much they used.
void counted_and_limited(const char* path) {
  tarn::FileSource file(path);
  tarn::Limited<tarn::FileSource&> all(1'000'000, file);
  tarn::Counted<tarn::Limited<decltype(all)&>> mine(std::size_t{300'000}, all);
  std::size_t count = 0;
  {
    tarn::Pool pool(sizeof(Reading), mine);
    count = take_readings(pool, 100'000);
  }
  const tarn::Counts& counts = mine.counts();
  std::printf(
      "at most 300000 bytes of it: %zu readings in %llu chunks, %llu bytes at most, "
      "%llu left\n",
      count, static_cast<unsigned long long>(counts.taken),
      static_cast<unsigned long long>(counts.bytes_peak),
      static_cast<unsigned long long>(counts.live));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  try {
    over_a_static_buffer();
    over_a_file(argv[1]);
    over_a_file(argv[1]);
    counted_and_limited(argv[1]);
  } catch (const tarn::FileError& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
  }
  return 0;
}
