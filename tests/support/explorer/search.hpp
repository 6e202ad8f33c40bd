// search: which thread makes the next step, so that every order is tried in which two steps touch
// the same place and one of them writes; other orders look the same to all threads. This is dynamic
// partial-order reduction by source sets, with sleep sets (Abdulla, Aronsson, Jonsson, Sagonas,
// POPL 2014). Nothing is kept but the turns of the last run: going back means running again.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace explorer {

inline constexpr unsigned threads_max = 8;

// For each thread, how many steps of the run are known to come before: one more than the number of
// its last step among them.
using Clock = std::array<std::uint32_t, threads_max>;

inline void join(Clock& clock, const Clock& other) {
  for (unsigned i = 0; i < threads_max; ++i) {
    if (other[i] > clock[i]) clock[i] = other[i];
  }
}

// How a step is seen by others. An exchange that compares is an update until it has failed, and
// `lock` is one that is made only while nobody has the lock.
enum class Kind : std::uint8_t { read, write, update, lock, unlock };

struct Access {
  std::uintptr_t place = 0;
  Kind kind = Kind::read;
  constexpr bool writes() const { return kind != Kind::read; }
};
constexpr bool depend(Access a, Access b) {
  return a.place == b.place && (a.writes() || b.writes());
}

constexpr unsigned bit(unsigned thread) { return 1u << thread; }
inline unsigned lowest(unsigned mask) { return static_cast<unsigned>(__builtin_ctz(mask)); }

inline constexpr std::uint32_t steps_most = 20'000;  // Of a run: else it does not end.

// A moment before a step.
struct Node {
  const void* site = nullptr;  // Of the step that was made.
  unsigned enabled = 0;
  unsigned wanted = 0;  // Who is to make the step, in one run or another.
  unsigned asleep = 0;  // Whose step here has been tried, or would be nothing new.
  unsigned chosen = 0;
};

// The turns of a run, for the next one. It is written in one process and read in others.
struct Turns {
  std::uint32_t count = 0;
  std::array<Node, steps_most> nodes;

  // Leads to the next order that is to be tried. False when there is none.
  bool advance() {
    for (; count != 0; --count) {
      Node& node = nodes[count - 1];
      node.asleep |= bit(node.chosen);
      const unsigned rest = node.wanted & ~node.asleep;
      if (rest == 0) continue;
      node.chosen = lowest(rest);
      node.site = nullptr;
      return true;
    }
    return false;
  }
};

// One run.
class Search {
 public:
  static constexpr std::uint32_t never = UINT32_MAX;

  // first: which thread goes first, of those of which it makes no difference. all: make all orders.
  Search(Turns& turns, unsigned first, bool all) : turns_(turns), first_(first), all_(all) {}

  // Whose step is next. `enabled` is not empty; next[i] is the access that i is about to make, if
  // it is enabled. `current` goes on if it makes no difference.
  unsigned choose(unsigned enabled, const std::array<Access, threads_max>& next, unsigned current) {
    const auto depth = static_cast<std::uint32_t>(steps_.size());
    if (depth < turns_.count) {
      const unsigned chosen = turns_.nodes[depth].chosen;
      if ((enabled & bit(chosen)) != 0) return chosen;
      has_diverged_ = true;
    }
    const unsigned usual = preferred(enabled, current);
    if (is_redundant_ || has_diverged_) return usual;
    Node node;
    node.enabled = enabled;
    if (depth != 0 && !all_) {
      const unsigned asleep = turns_.nodes[depth - 1].asleep & enabled;
      for (unsigned rest = asleep; rest != 0; rest &= rest - 1) {
        if (!depend(next[lowest(rest)], steps_.back().access)) node.asleep |= bit(lowest(rest));
      }
    }
    const unsigned awake = enabled & ~node.asleep;
    if (awake == 0) {  // Whatever comes has been tried in another order.
      is_redundant_ = true;
      return usual;
    }
    node.chosen = preferred(awake, current);
    node.wanted = all_ ? enabled : bit(node.chosen);
    turns_.nodes[turns_.count++] = node;
    return node.chosen;
  }

  // What the thread does from here on comes after that.
  void come_after(unsigned thread, const Clock& clock) { join(clocks_[thread], clock); }
  // So does its step, which was the last one; but it might have been made before.
  void came_after(unsigned thread, const Clock& clock) {
    come_after(thread, clock);
    join(steps_.back().clock, clock);
  }
  const Clock& clock(unsigned thread) const { return clocks_[thread]; }

  // The chosen thread has made the access.
  void made(unsigned thread, Access access, const void* site) {
    const Clock before = clocks_[thread];
    const auto number = static_cast<std::uint32_t>(steps_.size());
    Place& place = places_[access.place];
    std::array<std::uint32_t, threads_max + 1> found;
    std::size_t count = 0;
    Clock& clock = clocks_[thread];
    const auto meet = [&](std::uint32_t step) {
      if (step == never) return;
      join(clock, steps_[step].clock);
      const unsigned other = steps_[step].thread;
      if (other != thread && before[other] <= step) found[count++] = step;
    };
    meet(place.written);
    if (access.kind == Kind::lock) {
      // Not before the lock was given back, but before it was taken.
      const bool was_taken = place.taken != never && count != 0;
      count = 0;
      if (was_taken && before[steps_[place.taken].thread] <= place.taken) {
        found[count++] = place.taken;
      }
    }
    if (access.writes()) {
      for (const std::uint32_t read : place.read) meet(read);
      const std::uint32_t taken = place.taken;
      place = Place{};
      place.written = number;
      place.taken = access.kind == Kind::unlock ? taken : number;
    } else {
      place.read[thread] = number;
    }
    clock[thread] = number + 1;
    steps_.push_back({thread, access, clock});
    if (is_redundant_ || has_diverged_) return;
    Node& node = turns_.nodes[number];
    if (node.site != nullptr && node.site != site) has_diverged_ = true;
    node.site = site;
    for (std::size_t i = 0; i < count && !all_; ++i) {
      bool is_direct = true;
      for (std::size_t k = 0; k < count; ++k) is_direct = is_direct && !leads(found[i], found[k]);
      if (is_direct) want_reversed(found[i], thread);
    }
  }

  // The last step that wrote to the place, or `never`.
  std::uint32_t last_written(std::uintptr_t place) const {
    const auto found = places_.find(place);
    return found == places_.end() ? never : found->second.written;
  }
  std::uint32_t steps() const { return static_cast<std::uint32_t>(steps_.size()); }
  unsigned thread_of(std::uint32_t step) const { return steps_[step].thread; }
  // The same turns have not led to the same steps.
  bool has_diverged() const { return has_diverged_; }
  // Other turns lead to a run that looks the same to all threads.
  bool is_redundant() const { return is_redundant_; }

 private:
  struct Step {
    unsigned thread;
    Access access;
    Clock clock;  // The steps that come before it in each order that looks the same, and itself.
  };
  struct Place {
    Place() { read.fill(never); }
    std::uint32_t written = never;
    std::uint32_t taken = never;                  // Of a lock: when it was taken last.
    std::array<std::uint32_t, threads_max> read;  // Since then.
  };

  unsigned preferred(unsigned mask, unsigned current) const {
    if ((mask & bit(current)) != 0) return current;
    const unsigned later = mask & ~(bit(first_) - 1);
    return lowest(later != 0 ? later : mask);
  }

  bool leads(std::uint32_t step, std::uint32_t to) const {
    return step != to && steps_[to].clock[steps_[step].thread] > step;
  }

  // The last step, of `thread`, is to be made before `step` in some run: so one of those who can go
  // first in what does not depend on `step` must have its turn there.
  void want_reversed(std::uint32_t step, unsigned thread) {
    std::array<std::uint32_t, threads_max> first;
    first.fill(never);
    for (std::uint32_t i = step + 1; i < steps_.size(); ++i) {
      std::uint32_t& known = first[steps_[i].thread];
      const bool is_last = i + 1 == steps_.size();
      if (known == never && (is_last || !leads(step, i))) known = i;
    }
    unsigned initial = 0;
    for (unsigned q = 0; q < threads_max; ++q) {
      if (first[q] == never) continue;
      bool is_initial = true;
      for (unsigned r = 0; r < threads_max; ++r) {
        is_initial = is_initial && (r == q || first[r] == never || !leads(first[r], first[q]));
      }
      if (is_initial) initial |= bit(q);
    }
    Node& node = turns_.nodes[step];
    initial &= node.enabled;
    if (initial == 0 || (initial & (node.wanted | node.asleep)) != 0) return;
    node.wanted |= (initial & bit(thread)) != 0 ? bit(thread) : bit(lowest(initial));
  }

  Turns& turns_;
  const unsigned first_;
  const bool all_;
  std::vector<Step> steps_;
  std::unordered_map<std::uintptr_t, Place> places_;
  std::array<Clock, threads_max> clocks_{};
  bool is_redundant_ = false;
  bool has_diverged_ = false;
};

}  // namespace explorer
