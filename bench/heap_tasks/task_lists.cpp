// Five lists of strings, grown in turn (S0.13's program at rest), in one malloc or in a heap each.
// pages: how many pages of the operating system each list lies in. traverse: a walk along each, for
// cachegrind. holes: what is left when one of them goes away. drop: how long it takes that they go.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>
#include <memory>

#include "../meter/meter.hpp"
#include "../workloads/random.hpp"
#include "maker.hpp"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t list_count = 5;

struct Node {
  Node* before;
  Node* after;
  char* text;
};

template <class Maker>
class List {
 public:
  List() : heap_(Maker::create()) {}

  void append(Random& random) {
    const std::size_t length = random.between(1, 64);
    auto* const node = static_cast<Node*>(take<Maker>(heap_, sizeof(Node)));
    auto* const text = static_cast<char*>(take<Maker>(heap_, length + 1));
    std::memset(text, 'a' + static_cast<int>(random.below(13)), length);
    text[length] = '\0';
    *node = Node{last_, nullptr, text};
    (last_ != nullptr ? last_->after : first_) = node;
    last_ = node;
    ++count_;
    bytes_ += sizeof(Node) + length + 1;
  }

  void drop_first() {
    if (first_ == nullptr) return;
    Node* const node = first_;
    first_ = node->after;
    (first_ != nullptr ? first_->before : last_) = nullptr;
    --count_;
    bytes_ -= sizeof(Node) + std::strlen(node->text) + 1;
    Maker::deallocate(node->text);
    Maker::deallocate(node);
  }

  void grow_by_one(Random& random) { random.below(5) == 0 ? drop_first() : append(random); }

  // In one step where there is a heap; else one after the other.
  void end() {
    if constexpr (Maker::has_heaps) {
      Maker::destroy(heap_);
    } else {
      for (Node* node = first_; node != nullptr;) {
        Node* const next = node->after;
        Maker::deallocate(node->text);
        Maker::deallocate(node);
        node = next;
      }
    }
    first_ = last_ = nullptr;
  }

  std::size_t compare_all(const char* value) const {
    std::size_t compared = 0;
    for (const Node* node = first_; node != nullptr; node = node->after) {
      compared += std::strcmp(node->text, value) != 0;
    }
    return compared;
  }

  std::unique_ptr<PageSet> pages() const {
    auto set = std::make_unique<PageSet>(0, 4 * count_ + 1);
    for (const Node* node = first_; node != nullptr; node = node->after) {
      set->add(node, sizeof *node);
      set->add(node->text, std::strlen(node->text) + 1);
    }
    set->settle();
    return set;
  }

  std::size_t count() const { return count_; }
  std::size_t bytes() const { return bytes_; }

 private:
  typename Maker::Heap heap_;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;  // Asked for, of what lives.
};

template <class Maker>
using Lists = std::array<List<Maker>, list_count>;

template <class Maker>
void grow(Lists<Maker>& lists, std::size_t iterations) {
  Random random(13);
  for (std::size_t i = 0; i < iterations; ++i) {
    for (List<Maker>& list : lists) list.grow_by_one(random);
  }
}

template <class Maker>
std::array<std::unique_ptr<PageSet>, list_count> pages_of(const Lists<Maker>& lists) {
  std::array<std::unique_ptr<PageSet>, list_count> sets;
  for (std::size_t at = 0; at < list_count; ++at) sets[at] = lists[at].pages();
  return sets;
}

using PageSets = std::array<std::unique_ptr<PageSet>, list_count>;

// The pages of all of them but one, or of all.
std::unique_ptr<PageSet> together(const PageSets& sets, std::size_t but = list_count) {
  std::size_t additions = 1;
  for (const auto& set : sets) additions += set->count();
  auto all = std::make_unique<PageSet>(0, additions);
  for (std::size_t at = 0; at < list_count; ++at) {
    if (at == but) continue;
    for (const std::uint64_t page : *sets[at]) {
      all->add(reinterpret_cast<const void*>(page * page_bytes), 1);
    }
  }
  all->settle();
  return all;
}

struct Pages {
  std::size_t iterations;

  template <class Maker>
  void run() const {
    Lists<Maker> lists;
    grow<Maker>(lists, iterations);
    const PageSets sets = pages_of<Maker>(lists);
    double sum = 0, most = 0, bytes = 0;
    for (std::size_t at = 0; at < list_count; ++at) {
      const auto count = static_cast<double>(sets[at]->count());
      sum += count;
      most = count > most ? count : most;
      bytes += static_cast<double>(lists[at].bytes());
    }
    print({{"pages_each", sum / list_count},
           {"pages_most", most},
           {"pages_all", static_cast<double>(together(sets)->count())},
           {"asked_pages", bytes / page_bytes}});
  }
};

struct Traverse {
  std::size_t iterations, traversals;

  template <class Maker>
  void run() const {
    Lists<Maker> lists;
    grow<Maker>(lists, iterations);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < traversals; ++i) {
      for (const List<Maker>& list : lists) compared += list.compare_all("zebra");
    }
    std::size_t count = 0;
    for (const List<Maker>& list : lists) count += list.count();
    print({{"elements", static_cast<double>(count)}, {"compared", static_cast<double>(compared)}});
  }
};

struct Holes {
  std::size_t iterations;

  template <class Maker>
  void run() const {
    constexpr std::size_t leaving = 2;
    Lists<Maker> lists;
    grow<Maker>(lists, iterations);
    const PageSets sets = pages_of<Maker>(lists);
    const std::unique_ptr<PageSet> staying = together(sets, leaving);
    const auto left_bytes = static_cast<double>(lists[leaving].bytes());
    const Footprint full = footprint();
    lists[leaving].end();
    const Footprint after = footprint();
    Maker::trim();
    const Footprint trimmed = footprint();
    const auto returned = [&](const Footprint& now) {
      return static_cast<double>(full.resident_bytes - now.resident_bytes) / left_bytes * 100;
    };
    print({{"pages_kept_percent", static_cast<double>(sets[leaving]->count_shared_with(*staying)) /
                                      static_cast<double>(sets[leaving]->count()) * 100},
           {"returned_percent", returned(after)},
           {"returned_trimmed_percent", returned(trimmed)},
           {"left_mib", left_bytes / 0x1p20}});
  }
};

struct Drop {
  std::size_t iterations;

  template <class Maker>
  void run() const {
    Lists<Maker> lists;
    grow<Maker>(lists, iterations);
    const Usage before = usage_now();
    for (List<Maker>& list : lists) list.end();
    const Usage used = usage_now() - before;
    print({{"wall_ms", used.wall * 1e3}, {"cpu_ms", used.cpu * 1e3}});
  }
};

}  // namespace

bool task_pages(const Request& request) {
  return with_maker(request.maker, request.library, Pages{request.number(0, 300000)});
}

bool task_traverse(const Request& request) {
  return with_maker(request.maker, request.library,
                    Traverse{request.number(0, 200000), request.number(1, 1)});
}

bool task_holes(const Request& request) {
  return with_maker(request.maker, request.library, Holes{request.number(0, 300000)});
}

bool task_drop(const Request& request) {
  return with_maker(request.maker, request.library, Drop{request.number(0, 300000)});
}

}  // namespace tarn
