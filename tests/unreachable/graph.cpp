// A graph of 10^5 blocks in heaps of all kinds, with pointers to their starts and into them, and
// roots of all kinds: what is found is what a model says, with all edges, and after each cut.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <random>
#include <thread>

#include "hidden.hpp"

namespace tarn {
namespace {

class UnreachableGraph : public CleanStack {};

constexpr std::size_t block_count = 100'000 / TARN_TEST_DIVISOR;
constexpr std::size_t roots_of_a_kind = 8;

using Place = void* volatile;

Place data[roots_of_a_kind];
thread_local Place thread_data[roots_of_a_kind];

struct Edge {
  std::size_t from;
  std::size_t slot;
  std::size_t to;
};

// A thread that has roots on its stack, in its thread-local data, and nowhere but in registers.
class Holder {
 public:
  void start() {
    thread_ = std::thread([this] { run(); });
    while (!ready_.load()) std::this_thread::yield();
  }
  void stop() {
    over_.store(true);
    thread_.join();
  }

  Place* stack() { return stack_; }
  Place* local() { return local_; }
  // Complements of what is to be in registers.
  std::atomic<std::uintptr_t> in_registers[3]{};

  // The registers hold what in_registers says when this returns.
  void load() {
    const int before = loads_.load();
    wanted_.store(before + 1);
    while (loads_.load() == before) std::this_thread::yield();
  }

 private:
  void run() {
    Place on_stack[roots_of_a_kind] = {};
    stack_ = on_stack;
    local_ = thread_data;
    ready_.store(true);
    while (!over_.load()) {
      while (wanted_.load() == loads_.load() && !over_.load()) std::this_thread::yield();
      scrub();
      hold();
    }
    scrub();
  }

  // Two general registers and a wide one, for as long as nothing else is wanted.
  void hold() {
    const int now = wanted_.load();
    std::uintptr_t a = in_registers[0].load();
    std::uintptr_t b = in_registers[1].load();
    std::uintptr_t c = in_registers[2].load();
    __asm__ volatile(
        "notq %[a]\n\t"
        "notq %[b]\n\t"
        "notq %[c]\n\t"
        "movq %[c], %%xmm7\n\t"
        "xorl %k[c], %k[c]\n\t"
        "movl %[now], %[loads]\n"
        "1:\n\t"
        "pause\n\t"
        "cmpb $0, %[over]\n\t"
        "jne 2f\n\t"
        "cmpl %[now], %[wanted]\n\t"
        "je 1b\n"
        "2:\n\t"
        "xorl %k[a], %k[a]\n\t"
        "xorl %k[b], %k[b]\n\t"
        "pxor %%xmm7, %%xmm7\n\t"
        : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [loads] "=m"(loads_)
        : [now] "r"(now), [wanted] "m"(wanted_), [over] "m"(over_)
        : "xmm7", "memory", "cc");
  }

  std::thread thread_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> over_{false};
  std::atomic<int> wanted_{0};
  std::atomic<int> loads_{0};
  Place* stack_ = nullptr;
  Place* local_ = nullptr;
};

class Graph {
 public:
  Graph() {
    for (const int mode : {TARN_MODE_FAST, TARN_MODE_FAST, TARN_MODE_CHECKED, TARN_MODE_GUARDED}) {
      tarn_heap_options options = TARN_HEAP_OPTIONS();
      options.mode = mode;
      options.threads = heaps_.size() == 1 ? TARN_HEAP_SERIALISED : TARN_HEAP_SHARED;
      heaps_.push_back(tarn_heap_create(&options));
    }
    tarn_heap_options separate = TARN_HEAP_OPTIONS();
    separate.flags = TARN_HEAP_SEPARATE;
    heaps_.push_back(tarn_heap_create(&separate));
    heaps_.push_back(tarn_heap_main());
    holder_.start();
    EXPECT_EQ(tarn_add_root(registered_.get(), registered_.bytes()), 0);
    apart([this] {
      make_blocks();
      make_edges();
      make_roots();
    });
    holder_.load();
  }
  ~Graph() {
    for (std::size_t i = 0; i < place_count; ++i) set(i, nullptr);
    holder_.stop();
    tarn_remove_root(registered_.get());
    apart([this] {
      for (const Hidden p : blocks_) tarn_free(p.get());
    });
    for (const tarn_heap heap : heaps_) {
      if (heap.id != tarn_heap_main().id) destroy(heap);
    }
  }

  void check(const char* when) {
    SeenAll seen = search();
    ASSERT_EQ(seen.error, 0);
    EXPECT_EQ(seen.result.threads_missed, 0u);
    EXPECT_GE(seen.result.threads_stopped, 1u);
    std::vector<Hidden> expected = unreached(), found;
    for (const Seen& s : seen.blocks) {
      // Blocks of others (the test's framework) are none of malloc's here.
      found.push_back(s.start);
    }
    std::sort(found.begin(), found.end());
    std::size_t wrong = 0;
    for (const Hidden p : expected) wrong += !std::binary_search(found.begin(), found.end(), p);
    EXPECT_EQ(wrong, 0u) << when << ": lost and not found, of " << expected.size();
    EXPECT_EQ(found.size(), expected.size()) << when;
  }

  void cut_edges(std::size_t count) {
    for (std::size_t i = 0; i < count && !edges_.empty(); ++i) {
      const std::size_t e = random_() % edges_.size();
      cut(e);
    }
  }
  void cut_root(std::size_t i) {
    set(i, nullptr);
    roots_[i] = none;
    holder_.load();
  }

  static constexpr std::size_t place_count = 5 * roots_of_a_kind + 3;

 private:
  static constexpr std::size_t none = SIZE_MAX;

  void make_blocks() {
    for (std::size_t i = 0; i < block_count; ++i) {
      std::size_t bytes = 32 + random_() % 200;
      if (i % 100 == 0) bytes = 2'000 + random_() % 8'000;
      if (i % 5'000 == 0) bytes = 200'000;
      tarn_heap heap = heaps_[random_() % heaps_.size()];
      if (i % 16 != 0 && heap.id == heaps_[3].id) heap = heaps_[0];  // Guarded ones are large.
      blocks_.push_back(Hidden(zeroed(heap, bytes)));
      bytes_.push_back(bytes);
    }
  }

  void write(std::size_t from, std::size_t slot, void* p) { blocks_[from].get<Place>()[slot] = p; }

  // Most have an edge from a block before them, so all can be reached from the first; others are
  // added at random.
  void make_edges() {
    std::vector<std::size_t> used(block_count);
    const auto add = [&](std::size_t from, std::size_t to) {
      if (used[from] + 1 > bytes_[from] / sizeof(void*)) return;
      // From the end, so that few words are next to what a tree has at the start.
      const std::size_t slot = bytes_[from] / sizeof(void*) - ++used[from];
      const std::size_t inside = random_() % 3 == 0 ? random_() % bytes_[to] : 0;
      write(from, slot, blocks_[to].get<char>() + inside);
      edges_.push_back({from, slot, to});
    };
    for (std::size_t i = 1; i < block_count; ++i) {
      add(random_() % i, i);
      if (random_() % 4 == 0) add(random_() % block_count, random_() % block_count);
    }
  }

  void set(std::size_t i, void* p) {
    const std::size_t j = i % roots_of_a_kind;
    switch (i / roots_of_a_kind) {
      case 0: data[j] = p; break;
      case 1: thread_data[j] = p; break;
      case 2: registered_.get<Place>()[100 * j] = p; break;
      case 3: holder_.stack()[j] = p; break;
      case 4: holder_.local()[j] = p; break;
      default: holder_.in_registers[j].store(~reinterpret_cast<std::uintptr_t>(p));
    }
  }

  // Each root of another block; those that nothing leads to, first of all.
  void make_roots() {
    roots_.assign(place_count, none);
    std::vector<bool> led_to(block_count);
    for (const Edge& e : edges_) led_to[e.to] = true;
    std::vector<std::size_t> heads;
    for (std::size_t i = 0; i < block_count; ++i) {
      if (!led_to[i]) heads.push_back(i);
    }
    for (std::size_t i = 0; i < place_count; ++i) {
      const std::size_t b = i < heads.size() ? heads[i] : random_() % block_count;
      roots_[i] = b;
      set(i, blocks_[b].get<char>() + (i % 2 == 0 ? 0 : bytes_[b] - 1));
    }
    // All others that nothing leads to, from a block with many pointers.
    for (std::size_t i = place_count; i < heads.size(); ++i) link_somewhere(heads[i]);
  }

  void link_somewhere(std::size_t to) {
    const std::size_t slot = 100 + extra_++;
    ASSERT_LT(slot * sizeof(void*), bytes_[0] / 2);
    write(0, slot, blocks_[to].get<char>());
    edges_.push_back({0, slot, to});
  }

  void cut(std::size_t e) {
    apart([this, e] { write(edges_[e].from, edges_[e].slot, nullptr); });
    edges_[e] = edges_.back();
    edges_.pop_back();
  }

  std::vector<Hidden> unreached() const {
    std::vector<std::vector<std::size_t>> next(block_count);
    for (const Edge& e : edges_) next[e.from].push_back(e.to);
    std::vector<bool> reached(block_count);
    std::vector<std::size_t> left;
    const auto reach = [&](std::size_t i) {
      if (i == none || reached[i]) return;
      reached[i] = true;
      left.push_back(i);
    };
    for (const std::size_t i : roots_) reach(i);
    while (!left.empty()) {
      const std::size_t i = left.back();
      left.pop_back();
      for (const std::size_t to : next[i]) reach(to);
    }
    std::vector<Hidden> rest;
    for (std::size_t i = 0; i < block_count; ++i) {
      if (!reached[i]) rest.push_back(blocks_[i]);
    }
    return rest;
  }

  std::mt19937 random_{12345};
  std::vector<tarn_heap> heaps_;
  std::vector<Hidden> blocks_;
  std::vector<std::size_t> bytes_;
  std::vector<Edge> edges_;
  std::vector<std::size_t> roots_;  // Which block each leads to.
  Pages registered_{1 << 20};
  Holder holder_;
  std::size_t extra_ = 0;
};

TEST_F(UnreachableGraph, WhatIsFoundIsWhatAModelSays) {
  Graph graph;
  graph.check("all edges");
  for (int round = 0; round < 5; ++round) {
    graph.cut_edges(block_count / 200 << round);
    graph.check("edges cut");
  }
}

TEST_F(UnreachableGraph, WhatEachRootKeeps) {
  Graph graph;
  graph.check("all roots");
  graph.cut_edges(block_count / 2);
  for (std::size_t i = 0; i < Graph::place_count; i += i < 40 ? 8 : 1) {
    graph.cut_root(i);
    graph.check("a root cut");
  }
}

}  // namespace
}  // namespace tarn
