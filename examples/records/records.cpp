// records: a logger that keeps 16 records, of 20 to 300 bytes each, and replaces one of them each
// time. Its heap lies in .bss and is as large as the worst-case bound requires, so no record can be
// refused, in whatever order they come and go.
//
//   records COUNT
//
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tarn/heap/tlsf.hpp"

namespace {

constexpr std::size_t kept = 16, bytes_min = 20, bytes_max = 300;
constexpr std::size_t live_max = kept * tarn::TlsfHeap::room_bytes(bytes_max);

tarn::StaticTlsfHeap<tarn::TlsfHeap::worst_case_bytes(live_max, bytes_max, kept)> heap;

std::size_t random_below(std::size_t n) {
  static std::uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return (state >> 8) % n;
}

}  // namespace

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 1000;
  void* records[kept] = {};
  long refused = 0;
  for (long i = 0; i < count; ++i) {
    void*& record = records[random_below(kept)];
    heap.deallocate(record);
    const std::size_t bytes = bytes_min + random_below(bytes_max - bytes_min + 1);
    record = heap.try_allocate(bytes);
    if (record == nullptr) {
      ++refused;
    } else {
      std::memset(record, 1, bytes);
    }
  }
  const std::size_t peak = heap.stats().peak_bytes;
  for (void* record : records) heap.deallocate(record);
  std::printf("%ld records kept, %ld refused, %zu bytes in use\n", count, refused,
              heap.stats().in_use_bytes);
  std::printf("at most %zu bytes were in use, of %zu\n", peak, heap.stats().bytes);
  return refused == 0 && heap.check() ? 0 : 1;
}
