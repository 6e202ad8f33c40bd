// cache_test: a thread that allocates and frees through its cache, as a program does.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "actor.hpp"
#include "engine/threads/cache_care.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn {

class CacheTest : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 96;
  static constexpr std::size_t size_class = class_of(bytes);
  static constexpr std::size_t carved = slice_bytes / bytes;  // What a fresh page gives at a time.
  static constexpr std::size_t freed_first = 15;
  static constexpr std::size_t freed_least = 8;
  static constexpr std::size_t large_bytes = 48 * 1024;  // Of which 128 KiB hold two.

  // The record may have served another test.
  CacheTest() {
    cache().care = {};
    for (CachedList& list : cache().lists) list.room = 0;
  }
  ~CacheTest() override {
    os::fake::fail_at(0, false);
    for (void* block : live_) free(block);
    actor_.end();
    expect_nothing_in_use();
  }

  ThreadCache& cache() { return actor_.record().cache; }
  std::size_t count(std::size_t c = size_class) { return cache().count(c); }
  std::size_t unreached(std::size_t c = size_class) { return cache().count_unreached(c); }
  std::size_t freed(std::size_t c = size_class) { return count(c) - unreached(c); }
  Page* at_hand() { return actor_.current(bytes); }

  // As a program does, through the cache.
  void allocate(std::size_t blocks, std::size_t each = bytes) {
    actor_.run([&] {
      for (; blocks != 0; --blocks) live_.push_back(tarn::allocate(each));
    });
  }
  void free(void* block) {
    actor_.run([&] { deallocate(block); });
  }
  void free_last(std::size_t blocks) {
    for (; blocks != 0; --blocks) {
      free(live_.back());
      live_.pop_back();
    }
  }
  template <class Body>
  void run_busy(Body body) {
    actor_.run([&] {
      Busy busy(*current_thread);
      body(*current_thread);
    });
  }
  void age() { run_busy(cache_age); }
  void empty() { run_busy(cache_empty); }
  // Until malloc finds nothing at hand, and once more, so that the list is filled again.
  void fill_again() { allocate(count() + 1); }

  Actor actor_;
  std::vector<void*> live_;
};

}  // namespace tarn
