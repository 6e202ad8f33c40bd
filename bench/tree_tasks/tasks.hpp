// Tasks: what is measured of a contestant. Each runs in a process of its own and prints one JSON
// object; times are of the processor, in ns a node.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "../meter/figures.hpp"
#include "../meter/meter.hpp"
#include "../meter/process.h"
#include "contestants.hpp"
#include "plan.hpp"

namespace tarn {

inline void must(bool done, const char* what) {
  if (!done) fail(what);
}

// Seconds of the processor, and of the wall clock.
template <class Body>
Usage usage_of(Body body) {
  const Usage before = usage_now();
  body();
  return usage_now() - before;
}

inline std::size_t& ended() {
  static std::size_t count = 0;
  return count;
}

inline int count_end(void*) { return ++ended(), 0; }

template <class Contestant>
void build(const Plan& plan, void* root, Destructor destructor) {
  void** const made = plan.made();
  std::size_t i = 0;
  for (const PlannedNode& node : plan) {
    void* const parent = node.parent == i ? root : made[node.parent];
    if (node.is_string) {
      made[i] = Contestant::string(parent, plan.text(node.bytes));
    } else {
      made[i] = destructor == nullptr ? Contestant::allocate(parent, node.bytes)
                                      : Contestant::allocate_object(parent, node.bytes, destructor);
      if (made[i] == nullptr) break;
      *static_cast<std::size_t*>(made[i]) = i;
    }
    ++i;
  }
  must(i == plan.count(), "out of memory");
}

// Build and dispose, twice: on memory that is new to the process, and again.
template <class Contestant>
void life(const Plan& plan, Destructor destructor) {
  const double nodes = static_cast<double>(plan.count());
  const double asked = static_cast<double>(plan.bytes());
  const auto ns = [&](double seconds) { return seconds * 1e9 / nodes; };
  const auto faults = [&](const Usage& usage) {
    return static_cast<double>(usage.minor_faults) / nodes;
  };
  const auto begin = static_cast<double>(footprint().resident_bytes);

  void* root = nullptr;
  Usage used[4];
  double resident = 0;
  double held = 0;
  double peak = 0;
  for (const int again : {0, 1}) {
    used[2 * again] = usage_of([&] {
      root = Contestant::root({plan.count(), plan.bytes()});
      build<Contestant>(plan, root, destructor);
    });
    if (again == 0) {
      peak = static_cast<double>(peak_kib()) / 1024;
      resident = static_cast<double>(footprint().resident_bytes) - begin;
      held = static_cast<double>(Contestant::held_bytes(root));
    }
    used[2 * again + 1] = usage_of([&] { must(Contestant::dispose(root), "it stayed"); });
  }
  must(destructor == nullptr || ended() == 2 * plan.count(), "not all destructors were called");
  print({{"nodes", nodes},
         {"asked", asked / nodes},
         {"build", ns(used[0].cpu)},
         {"dispose", ns(used[1].cpu)},
         {"rebuild", ns(used[2].cpu)},
         {"redispose", ns(used[3].cpu)},
         {"build_wall", ns(used[0].wall)},
         {"dispose_wall", ns(used[1].wall)},
         {"rebuild_wall", ns(used[2].wall)},
         {"redispose_wall", ns(used[3].wall)},
         {"build_faults", faults(used[0])},
         {"dispose_faults", faults(used[1])},
         {"rebuild_faults", faults(used[2])},
         {"redispose_faults", faults(used[3])},
         {"overhead", (held - asked) / nodes},
         {"resident_overhead", (resident - asked) / nodes},
         {"peak_mib", peak}});
}

// All children of one node are moved below another one: the oldest first; then back, in the order
// of the plan's parents, which is to be random.
template <class Contestant>
void steal(const Plan& plan) {
  void* const root = Contestant::root({plan.count() + 2, plan.bytes()});
  void* const from = Contestant::allocate(root, 8);
  void* const to = Contestant::allocate(root, 8);
  std::size_t count = 0;
  void** const made = plan.made();
  for (const PlannedNode& node : plan) {
    made[count] = Contestant::allocate(from, node.bytes);
    must(made[count++] != nullptr, "out of memory");
  }
  bool done = true;
  const Usage in_order = usage_of([&] {
    for (std::size_t i = 0; i < count; ++i) done &= Contestant::steal(to, made[i]);
  });
  for (std::size_t i = count; i-- > 1;) {  // Shuffled: a plan's parent is one of those before.
    void* const swapped = made[i];
    made[i] = made[plan.begin()[i].parent];
    made[plan.begin()[i].parent] = swapped;
  }
  const Usage shuffled = usage_of([&] {
    for (std::size_t i = 0; i < count; ++i) done &= Contestant::steal(from, made[i]);
  });
  must(done && Contestant::dispose(root), "it stayed");
  const double ns = 1e9 / static_cast<double>(count);
  print({{"in_order", in_order.cpu * ns},
         {"shuffled", shuffled.cpu * ns},
         {"in_order_wall", in_order.wall * ns},
         {"shuffled_wall", shuffled.wall * ns}});
}

// What callgrind counts, by these names: the second time.
template <class Contestant>
[[gnu::noinline]] void* counted_build(const Plan& plan, Destructor destructor) {
  void* const root = Contestant::root({plan.count(), plan.bytes()});
  build<Contestant>(plan, root, destructor);
  return root;
}

template <class Contestant>
[[gnu::noinline]] void counted_dispose(void* root) {
  must(Contestant::dispose(root), "it stayed");
}

template <class Contestant>
void count(const Plan& plan, Destructor destructor) {
  void* const first = Contestant::root({plan.count(), plan.bytes()});
  build<Contestant>(plan, first, destructor);
  must(Contestant::dispose(first), "it stayed");
  counted_dispose<Contestant>(counted_build<Contestant>(plan, destructor));
  print({{"nodes", static_cast<double>(plan.count())}});
}

}  // namespace tarn
