// os_source: chunks straight from the OS. See tarn/source/os_source.h.
//
// The fields that change are counters, and `kept`: the head of a list, through their first bytes,
// of the ranges that the OS did not take back. A thread that looks at that list takes all of it.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/os_source.h"

#include <cstdint>

#include "engine/layout/geometry.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"
#include "platform/report/options.hpp"

namespace tarn {

namespace {

constexpr std::size_t bytes_max = PTRDIFF_MAX / 2;

struct Kept {
  Kept* next;
  std::size_t bytes;
};

void add(std::uint64_t& counter, std::uint64_t n) noexcept {
  // Relaxed, here and below: the numbers order nothing.
  __atomic_fetch_add(&counter, n, __ATOMIC_RELAXED);
}

std::uint64_t read(const std::uint64_t& counter) noexcept {
  return __atomic_load_n(&counter, __ATOMIC_RELAXED);
}

bool has(const tarn_os_source& source, unsigned flag) noexcept {
  return (source.options.flags & flag) != 0;
}

std::size_t grain_of(const tarn_os_source& source) noexcept {
  if (has(source, TARN_OS_SOURCE_HUGE)) return os::huge_page_bytes;
  const std::size_t page = os::page_bytes();
  return page < slice_bytes ? slice_bytes : page;
}

void keep(tarn_os_source& source, void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(bytes >= sizeof(Kept) && is_aligned(start, alignof(Kept)));
  auto* const kept = static_cast<Kept*>(start);
  void* head = __atomic_load_n(&source.kept, __ATOMIC_RELAXED);
  kept->bytes = bytes;
  do {
    kept->next = static_cast<Kept*>(head);
    // Release: pairs with the acquire in retry(), which reads the range's words.
  } while (!__atomic_compare_exchange_n(&source.kept, &head, start, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
  add(source.kept_bytes, bytes);
}

void give_back(tarn_os_source& source, void* start, std::size_t bytes) noexcept {
  if (bytes == 0 || os::vm_release(start, bytes)) return;
  os::vm_purge(start, bytes);
  keep(source, start, bytes);
}

// Tries once more to give back what the OS has refused to take.
void retry(tarn_os_source& source) noexcept {
  if (TARN_LIKELY(__atomic_load_n(&source.kept, __ATOMIC_RELAXED) == nullptr)) return;
  // Acquire: pairs with the release in keep().
  auto* kept = static_cast<Kept*>(
      __atomic_exchange_n(&source.kept, static_cast<void*>(nullptr), __ATOMIC_ACQUIRE));
  while (kept != nullptr) {
    Kept* const next = kept->next;
    const std::size_t bytes = kept->bytes;
    TARN_ASSERT(bytes >= sizeof(Kept));
    add(source.kept_bytes, 0 - std::uint64_t{bytes});
    if (!os::vm_release(kept, bytes)) keep(source, kept, bytes);
    kept = next;
  }
}

// If the OS aligns too little, more is reserved and both ends go back.
char* reserve(tarn_os_source& source, std::size_t bytes, std::size_t alignment) noexcept {
  auto* const start = static_cast<char*>(os::vm_reserve(bytes));
  if (start == nullptr || is_aligned(start, alignment)) return start;
  give_back(source, start, bytes);
  const std::size_t more = bytes + alignment;
  auto* const wide = static_cast<char*>(os::vm_reserve(more));
  if (wide == nullptr) return nullptr;
  const std::size_t before = (0 - address_of(wide)) & (alignment - 1);
  TARN_ASSERT(before + bytes <= more && is_aligned(wide + before, alignment));
  give_back(source, wide, before);
  give_back(source, wide + before + bytes, more - before - bytes);
  return wide + before;
}

// Does what the options ask for, in an order that works: the node is set before there is memory.
bool prepare(const tarn_os_source& source, void* start, std::size_t bytes) noexcept {
  const tarn_os_source_options& options = source.options;
  if (options.name != nullptr) os::vm_name(start, bytes, options.name);
  return (!has(source, TARN_OS_SOURCE_HUGE) || os::vm_prefer_huge(start, bytes)) &&
         (!has(source, TARN_OS_SOURCE_NODE) || os::vm_bind(start, bytes, options.node)) &&
         (!has(source, TARN_OS_SOURCE_HIDE) || os::vm_hide(start, bytes)) &&
         (!has(source, TARN_OS_SOURCE_POPULATE) || os::vm_populate(start, bytes)) &&
         (!has(source, TARN_OS_SOURCE_LOCK) || os::vm_lock(start, bytes));
}

void note_held(tarn_os_source& source, std::size_t bytes) noexcept {
  add(source.chunks, 1);
  add(source.acquired, 1);
  const std::uint64_t held =
      __atomic_add_fetch(&source.held_bytes, std::uint64_t{bytes}, __ATOMIC_RELAXED);
  std::uint64_t peak = read(source.held_bytes_peak);
  while (held > peak && !__atomic_compare_exchange_n(&source.held_bytes_peak, &peak, held, true,
                                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

tarn_chunk acquire(tarn_os_source& source, std::size_t bytes, std::size_t alignment) noexcept {
  const bool sound = source.options.bytes != 0 && is_power_of_two(alignment);
  if (!sound || bytes > bytes_max || alignment > bytes_max) return {};
  const std::size_t grain = grain_of(source);
  bytes = align_up(bytes == 0 ? 1 : bytes, grain);
  if (alignment < grain) alignment = grain;
  TARN_ASSERT(is_power_of_two(grain) && bytes % grain == 0);
  char* const start = reserve(source, bytes, alignment);
  if (start == nullptr) return {};
  if (prepare(source, start, bytes)) return {start, bytes};
  give_back(source, start, bytes);
  return {};
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

TARN_EXPORT int tarn_os_source_init(tarn_os_source* source, const tarn_os_source_options* options) {
  constexpr unsigned known = TARN_OS_SOURCE_HUGE | TARN_OS_SOURCE_POPULATE | TARN_OS_SOURCE_LOCK |
                             TARN_OS_SOURCE_NODE | TARN_OS_SOURCE_HIDE;
  *source = {};
  tarn_os_source_options wanted = TARN_OS_SOURCE_OPTIONS();
  if (options != nullptr) wanted = *options;
  if (!is_sized(wanted, "tarn_os_source_init", "TARN_OS_SOURCE_OPTIONS") ||
      (wanted.flags & ~known) != 0 || wanted.chunk_bytes > bytes_max) {
    return os::fail(os::Error::invalid);
  }
  source->options = wanted;
  if (wanted.flags == 0) return 0;
  if (wanted.chunk_bytes == 0 && has(*source, TARN_OS_SOURCE_HUGE)) {
    source->options.chunk_bytes = os::huge_page_bytes;
  }
  const std::size_t grain = grain_of(*source);
  char* const start = reserve(*source, grain, grain);
  const bool can = start != nullptr && prepare(*source, start, grain);
  if (start != nullptr) give_back(*source, start, grain);
  if (can) return 0;
  tarn_os_source_destroy(source);
  return os::fail(start == nullptr ? os::Error::no_memory : os::Error::unsupported);
}

TARN_EXPORT std::size_t tarn_os_source_destroy(tarn_os_source* source) {
  retry(*source);
  const std::uint64_t lost = read(source->kept_bytes);
  *source = {};
  return static_cast<std::size_t>(lost);
}

TARN_EXPORT tarn_chunk tarn_os_source_acquire(tarn_os_source* source, std::size_t bytes,
                                              std::size_t alignment) {
  retry(*source);
  const tarn_chunk chunk = acquire(*source, bytes, alignment);
  if (chunk.data == nullptr) {
    add(source->refused, 1);
  } else {
    note_held(*source, chunk.bytes);
  }
  return chunk;
}

TARN_EXPORT void tarn_os_source_release(tarn_os_source* source, tarn_chunk chunk) {
  if (chunk.data == nullptr) return;
  retry(*source);
  TARN_ASSERT(read(source->chunks) != 0 && read(source->held_bytes) >= chunk.bytes);
  add(source->chunks, UINT64_MAX);
  add(source->held_bytes, 0 - std::uint64_t{chunk.bytes});
  give_back(*source, chunk.data, chunk.bytes);
}

TARN_EXPORT int tarn_os_source_get_stats(const tarn_os_source* source,
                                         tarn_os_source_stats* stats) {
  if (stats == nullptr || !is_sized(*stats, "tarn_os_source_get_stats", "TARN_OS_SOURCE_STATS")) {
    return os::fail(os::Error::invalid);
  }
  stats->chunks = read(source->chunks);
  stats->held_bytes = read(source->held_bytes);
  stats->held_bytes_peak = read(source->held_bytes_peak);
  stats->acquired = read(source->acquired);
  stats->refused = read(source->refused);
  stats->kept_bytes = read(source->kept_bytes);
  return 0;
}

TARN_EXPORT tarn_source tarn_os_source_get(tarn_os_source* source) {
  tarn_source made = TARN_SOURCE();
  made.acquire = [](void* self, std::size_t bytes, std::size_t alignment) {
    return tarn_os_source_acquire(static_cast<tarn_os_source*>(self), bytes, alignment);
  };
  made.release = [](void* self, tarn_chunk chunk) {
    tarn_os_source_release(static_cast<tarn_os_source*>(self), chunk);
  };
  made.context = source;
  made.chunk_bytes = source->options.chunk_bytes;
  made.zeroed = 1;
  return made;
}

}  // extern "C"
