// watchers on Linux. AddressSanitizer's functions are there if the program was built with it, so
// they are weak here, as in tarn/detail/watch.h, which knows Valgrind's requests.
//
// SPDX-License-Identifier: MIT
#include "platform/os/watchers.hpp"

#include <atomic>
#include <cstdint>
#include <initializer_list>

#include "platform/base/list.hpp"
#include "platform/os/thread.hpp"
#include "tarn/detail/watch.h"

extern "C" {
[[gnu::weak]] void __asan_set_error_report_callback(void (*callback)(const char* report));
[[gnu::weak]] void* __asan_get_report_address(void);
[[gnu::weak]] void __asan_report_error(void* pc, void* bp, void* sp, void* address, int is_write,
                                       std::size_t bytes);
}

namespace tarn::os {

namespace {

// The request's answer; 0 where no Valgrind runs.
std::uintptr_t ask(std::uintptr_t request, const void* a, std::uintptr_t b = 0,
                   std::uintptr_t c = 0) noexcept {
  return tarn_watch_ask(request, reinterpret_cast<std::uintptr_t>(a), b, c);
}

std::uintptr_t word(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

bool has_asan() noexcept { return __asan_poison_memory_region != nullptr; }

// 0: not asked yet; 1: no; 2: yes. Every thread that asks gets the same answer.
std::atomic<int> memcheck{0};

// Its other tools (callgrind, massif) do not answer memcheck's requests, and see programs as they
// are without it.
bool has_memcheck() noexcept {
  int known = memcheck.load(std::memory_order_relaxed);
  if (known == 0) {
    static const char readable = 0;
    known = ask(TARN_WATCH_MAKE_DEFINED, &readable, 1) != 0 ? 2 : 1;
    memcheck.store(known, std::memory_order_relaxed);
  }
  return known == 2;
}

constinit Lock all_lock;
constinit List<Watched> all;
constinit std::atomic<bool> prepared{false};

// Called when the process is about to end, by whichever thread: without the lock.
void explain_report(const char*) {
  const void* const address = __asan_get_report_address();
  for (const Watched* watched = all.head(); watched != nullptr; watched = watched->next) {
    if (watched->explain(watched->owner, address)) return;
  }
}

}  // namespace

bool watched() noexcept { return has_asan() || has_memcheck(); }

bool watches_calls() noexcept { return has_memcheck(); }

void watch_pool_begin(const void* pool) noexcept {
  if (has_memcheck()) ask(TARN_WATCH_CREATE_MEMPOOL, pool);
}

void watch_pool_end(const void* pool) noexcept {
  if (has_memcheck()) ask(TARN_WATCH_DESTROY_MEMPOOL, pool);
}

void watch_close(const void* start, std::size_t bytes) noexcept {
  if (has_asan()) __asan_poison_memory_region(start, bytes);
  if (has_memcheck()) ask(TARN_WATCH_MAKE_NOACCESS, start, bytes);
}

void watch_open(const void* start, std::size_t bytes) noexcept {
  if (has_asan()) __asan_unpoison_memory_region(start, bytes);
  if (has_memcheck()) ask(TARN_WATCH_MAKE_UNDEFINED, start, bytes);
}

void watch_leave(const void* start, std::size_t bytes) noexcept {
  if (has_asan()) __asan_unpoison_memory_region(start, bytes);
  if (has_memcheck()) ask(TARN_WATCH_MAKE_DEFINED, start, bytes);
}

void watch_allocated(const void* pool, const void* block, std::size_t bytes) noexcept {
  if (has_asan()) __asan_unpoison_memory_region(block, bytes);
  if (has_memcheck()) ask(TARN_WATCH_MEMPOOL_ALLOC, pool, word(block), bytes);
}

void watch_freed(const void* pool, const void* block, std::size_t bytes) noexcept {
  if (has_asan()) __asan_poison_memory_region(block, bytes);
  if (has_memcheck()) ask(TARN_WATCH_MEMPOOL_FREE, pool, word(block));
}

void watch_add(Watched* watched) noexcept {
  if (process_on_fork_once(prepared, [] { all_lock.recover_after_fork(); })) {
    if (__asan_set_error_report_callback != nullptr) {
      __asan_set_error_report_callback(explain_report);
    }
  }
  Locked locked(all_lock);
  all.push_front(watched);
}

void watch_remove(Watched* watched) noexcept {
  Locked locked(all_lock);
  all.remove(watched);
}

WatchedName watch_name(const void* start, std::size_t bytes, const char* kind,
                       const char* name) noexcept {
  if (!has_memcheck()) return 0;
  char text[96];
  std::size_t length = 0;
  for (const char* words : {kind, " \"", name != nullptr ? name : "", "\""}) {
    while (*words != '\0' && length + 1 < sizeof text) text[length++] = *words++;
  }
  text[length] = '\0';
  return ask(TARN_WATCH_CREATE_BLOCK, start, bytes, word(text));  // It keeps a copy.
}

void watch_forget(WatchedName name) noexcept {
  if (has_memcheck()) ask(TARN_WATCH_DISCARD, nullptr, name);
}

void watch_report(const void* address, const void* site) noexcept {
  if (__asan_report_error == nullptr) return;
  void* const frame = __builtin_frame_address(0);
  __asan_report_error(const_cast<void*>(site), frame, frame, const_cast<void*>(address), 0, 1);
}

}  // namespace tarn::os
