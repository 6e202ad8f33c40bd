// Eight threads over 64 heaps: blocks of all sizes come and go, are handed from thread to thread,
// and whole heaps are cleared, destroyed and made anew, or counted. When all threads rest, what the
// heaps say is live is what the threads hold.
//
// A heap's own lock here is what a program needs, too: a free must come before the destruction.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "../support/threads.hpp"
#include "blocks.hpp"
#include "tarn/heap/heap.h"

namespace {

constexpr unsigned threads_count = 8;
constexpr unsigned heaps_count = 64;
constexpr int checkpoints = 10;

struct Held {
  unsigned char* p = nullptr;
  std::size_t bytes = 0;
  std::uint64_t generation = 0;  // Of its heap's blocks.
  unsigned heap = 0;
  unsigned char mark = 0;
};

struct Site {
  std::shared_mutex alive;  // Shared: the heap's blocks stay; alone: they may end.
  tarn_heap heap{};
  std::uint64_t generation = 1;
  std::vector<std::uint64_t> kept;  // Generations whose blocks outlived their heap.
  std::size_t ceiling = 0;
  tarn_fixed fixed{};
  std::size_t fixed_bytes = 0;
};

struct Mailbox {
  std::mutex mutex;
  std::vector<Held> blocks;
};

std::array<Site, heaps_count> sites;
std::array<Mailbox, threads_count> mailboxes;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "heaps: %s\n", what);
  std::abort();
}

// Every heap is in the next mode; or all are fast.
#ifdef TARN_STRESS_MODES
int mode_of(unsigned i) { return static_cast<int>(i / 4 % 4); }
#else
int mode_of(unsigned) { return TARN_MODE_FAST; }
#endif

// Every fourth is serialised, every eighth has a ceiling, every third a class table.
void make(Site& site, unsigned i) {
  static constexpr std::size_t table[] = {16, 48, 64, 208, 1024, 4096, 40960};
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  if (i % 3 == 0) {
    options.class_bytes = table + i % 2;
    options.class_count = 6;
  }
  options.name = i % 2 == 0 ? "stress" : nullptr;
  options.threads = i % 4 == 3 ? TARN_HEAP_SERIALISED : TARN_HEAP_SHARED;
  options.mode = mode_of(i);
  site.ceiling = i % 8 == 1 ? 300'000 : 0;
  options.ceiling_bytes = site.ceiling;
  site.heap = tarn_heap_create(&options);
  if (site.heap.record == nullptr) give_up("no heap");
  site.fixed_bytes = 20 + 4 * (i % 7);
  site.fixed = tarn_heap_fixed(site.heap, site.fixed_bytes, 4);
  if (site.fixed.record == nullptr) give_up("no blocks of one size");
}

void verify(const Held& held) {
  if (held.p[0] != held.mark || held.p[held.bytes - 1] != held.mark) give_up("contents");
}

bool is_current(const Held& held) { return sites[held.heap].generation == held.generation; }

bool is_kept(const Held& held) {
  const std::vector<std::uint64_t>& kept = sites[held.heap].kept;
  return std::find(kept.begin(), kept.end(), held.generation) != kept.end();
}

void put_back(const Held& held) {
  const std::shared_lock<std::shared_mutex> guard(sites[held.heap].alive);
  if (!is_current(held) && !is_kept(held)) return;
  verify(held);
  if (is_kept(held) && tarn_heap_owns(tarn_heap_main(), held.p) == 0) give_up("not malloc's");
  tarn_free(held.p);
}

void take(unsigned i, stress::Random& random, std::vector<Held>& own) {
  Site& site = sites[i];
  const std::shared_lock<std::shared_mutex> guard(site.alive);
  Held held;
  held.heap = i;
  held.generation = site.generation;
  const std::size_t kind = random.below(400);
  held.bytes = 1 + random.below(kind < 8 ? 300'000 : kind < 50 ? 3'000 : 200);
  held.mark = static_cast<unsigned char>(random.below(256));
  const std::size_t form = random.below(10);
  if (form < 3) held.bytes = site.fixed_bytes;
  held.p = static_cast<unsigned char*>(form < 3 ? tarn_fixed_allocate(site.fixed)
                                       : form == 3
                                           ? tarn_heap_allocate_aligned(site.heap, 64, held.bytes)
                                           : tarn_heap_allocate(site.heap, held.bytes));
  if (held.p == nullptr) {
    if (site.ceiling == 0) give_up("out of memory");
    return;
  }
  held.p[0] = held.p[held.bytes - 1] = held.mark;
  own.push_back(held);
}

void resize(Held& held, stress::Random& random) {
  Site& site = sites[held.heap];
  const std::shared_lock<std::shared_mutex> guard(site.alive);
  if (!is_current(held)) return;
  const std::size_t bytes = 1 + random.below(2'000);
  void* const p = tarn_heap_reallocate(site.heap, held.p, bytes);
  if (p == nullptr) return;
  held.p = static_cast<unsigned char*>(p);
  if (held.p[0] != held.mark) give_up("contents moved");
  held.bytes = bytes;
  held.p[bytes - 1] = held.mark;
}

struct Seen {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  std::uint64_t promised = 0;  // By the pages.
};

int count_item(const tarn_heap_item* item, void* context) {
  auto* const seen = static_cast<Seen*>(context);
  if (item->kind == TARN_HEAP_PAGE) {
    seen->promised += item->live_blocks;
    return 0;
  }
  if (item->kind == TARN_HEAP_LARGE_BLOCK) ++seen->promised;
  ++seen->blocks;
  seen->bytes += item->bytes;
  return 0;
}

// Other threads may be freeing: what pages say and what blocks say is one look at each page.
void walk(unsigned i) {
  Site& site = sites[i];
  const std::shared_lock<std::shared_mutex> guard(site.alive);
  Seen seen;
  if (tarn_heap_walk(site.heap, 0, count_item, &seen) != 0) give_up("no walk");
  if (seen.blocks != seen.promised) give_up("a page has other blocks than it says");
}

void take_by_malloc(unsigned i, stress::Random& random, std::vector<Held>& own) {
  Site& site = sites[i];
  const std::shared_lock<std::shared_mutex> guard(site.alive);
  const tarn_heap before = tarn_heap_set_default(site.heap);
  Held held;
  held.heap = i;
  held.generation = site.generation;
  held.bytes = 1 + random.below(500);
  held.mark = 7;
  held.p = static_cast<unsigned char*>(tarn_malloc(held.bytes));
  tarn_heap_set_default(before);
  if (held.p == nullptr) return;
  if (tarn_heap_owns(site.heap, held.p) == 0) give_up("malloc served from another heap");
  held.p[0] = held.p[held.bytes - 1] = held.mark;
  own.push_back(held);
}

void ask(unsigned i) {
  Site& site = sites[i];
  const std::shared_lock<std::shared_mutex> guard(site.alive);
  tarn_heap_stats stats = TARN_HEAP_STATS();
  if (tarn_heap_get_stats(site.heap, &stats) != 0) give_up("no statistics");
  if (site.ceiling != 0 && stats.committed_bytes_peak > site.ceiling) give_up("ceiling exceeded");
}

enum class End { clear, destroy, keep_blocks };

void end(unsigned i, End how) {
  Site& site = sites[i];
  const std::unique_lock<std::shared_mutex> guard(site.alive);
  const std::uint64_t generation = site.generation++;
  switch (how) {
    case End::clear:
      if (tarn_heap_clear(site.heap) != 0) give_up("not cleared");
      return;
    case End::destroy:
      if (tarn_heap_destroy(site.heap) != 0) give_up("not destroyed");
      break;
    case End::keep_blocks:
      if (tarn_heap_delete(site.heap) != 0) give_up("not deleted");
      site.kept.push_back(generation);
      break;
  }
  make(site, i);
}

void step(unsigned id, stress::Random& random, std::vector<Held>& own) {
  const auto i = static_cast<unsigned>(random.below(heaps_count));
  const std::size_t dice = random.below(1'000);
  if (dice < 2) return end(i, dice == 0 ? End::clear : End::destroy);
  if (dice == 2 && random.below(4) == 0) return end(i, End::keep_blocks);
  if (dice < 6) return ask(i);
  if (dice < 9) return walk(i);
  if (dice < 10) {
    const std::shared_lock<std::shared_mutex> guard(sites[i].alive);
    tarn_heap_trim(sites[i].heap, 0);
    return;
  }
  if (dice < 60) return take_by_malloc(i, random, own);
  if (dice < 500 || own.empty()) return take(i, random, own);
  std::swap(own[random.below(own.size())], own.back());
  if (dice < 600) return resize(own.back(), random);
  const Held held = own.back();
  own.pop_back();
  if (dice < 800) return put_back(held);
  Mailbox& other = mailboxes[random.below(threads_count)];
  Mailbox& mine = mailboxes[id];
  std::vector<Held> received;
  {
    const std::lock_guard<std::mutex> guard(other.mutex);
    other.blocks.push_back(held);
  }
  {
    const std::lock_guard<std::mutex> guard(mine.mutex);
    received.swap(mine.blocks);
  }
  for (const Held& block : received) put_back(block);
}

// All threads rest.
void check_counts(const std::vector<std::vector<Held>>& owns) {
  std::array<std::uint64_t, heaps_count> held{};
  const auto count = [&](const std::vector<Held>& blocks) {
    for (const Held& block : blocks) {
      if (!is_current(block)) continue;
      verify(block);
      ++held[block.heap];
    }
  };
  for (const std::vector<Held>& own : owns) count(own);
  for (const Mailbox& box : mailboxes) count(box.blocks);
  for (unsigned i = 0; i < heaps_count; ++i) {
    tarn_heap_stats stats = TARN_HEAP_STATS();
    tarn_heap_get_stats(sites[i].heap, &stats);
    Seen seen;
    tarn_heap_walk(sites[i].heap, 0, count_item, &seen);
    if (seen.blocks != stats.live_blocks || seen.bytes != stats.live_bytes) {
      give_up("a walk and the statistics differ");
    }
    if (stats.live_blocks != held[i]) {
      std::fprintf(stderr, "heaps: heap %u: %llu live, %llu held\n", i,
                   static_cast<unsigned long long>(stats.live_blocks),
                   static_cast<unsigned long long>(held[i]));
      std::abort();
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = stress::rounds(125'000, argc, argv);
  for (unsigned i = 0; i < heaps_count; ++i) make(sites[i], i);
  std::vector<std::vector<Held>> owns(threads_count);
  const auto checkpoint = [&]() noexcept { check_counts(owns); };
  std::barrier<decltype(checkpoint)> rest(threads_count, checkpoint);
  support::in_threads(threads_count, [&](unsigned id) {
    stress::Random random(id + 1);
    for (int c = 0; c < checkpoints; ++c) {
      for (int round = 0; round < rounds / checkpoints; ++round) step(id, random, owns[id]);
      rest.arrive_and_wait();
    }
  });
  for (const std::vector<Held>& own : owns) std::for_each(own.begin(), own.end(), put_back);
  for (const Mailbox& box : mailboxes) {
    std::for_each(box.blocks.begin(), box.blocks.end(), put_back);
  }
  for (const Site& site : sites) tarn_heap_destroy(site.heap);
  return stress::finish("heaps");
}
