// Forks while other threads are inside the store: they take, resize and give spans and trim all the
// time. In each child the store's invariants hold at once, after it has freed, resized and trimmed,
// and what it inherited is whole.
//
// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "../support/child.hpp"
#include "../support/threads.hpp"
#include "blocks.hpp"
#include "engine/store/store.hpp"

namespace {

// A thread claims a slot to work on its block: a child leaves alone what was claimed at the fork.
struct Slot {
  std::atomic<bool> claimed{false};
  stress::Block block;
};

std::array<Slot, 48> slots;
std::atomic<bool> stopping{false};
std::atomic<int> steps_done{0};
std::atomic<int> steps_allowed{0};

std::size_t size(stress::Random& random) {
  if (random.below(3) == 0) return random.below(30'000) + 1;
  return 130'000 + random.below(500'000);
}

void change(stress::Block& block, stress::Random& random) {
  if (!block) {
    block = stress::Block(size(random));
  } else if (random.below(3) == 0) {
    block = stress::Block();
  } else {
    block.resize(size(random));
  }
}

void step(stress::Random& random) {
  Slot& slot = slots[random.below(slots.size())];
  if (slot.claimed.exchange(true)) return;
  change(slot.block, random);
  slot.claimed = false;
  if (random.below(16) == 0) tarn_malloc_trim(0);
  ++steps_done;
}

void work(unsigned id) {
  stress::Random random(id + 11);
  while (!stopping) {
    if (steps_done < steps_allowed) {
      step(random);
    } else {
      ::usleep(50);
    }
  }
}

void check_store(const char* when) { stress::require(tarn::store.check(), when); }

[[noreturn]] void live_as_child(unsigned seed) {
  ::alarm(60);
  check_store("the child of a fork finds the store broken");
  stress::Random random(seed);
  for (Slot& slot : slots) {
    if (slot.claimed) continue;
    if (random.below(2) == 0) slot.block.resize(2 * size(random));
    slot.block = stress::Block();
  }
  check_store("the store is broken after the child freed what it inherited");
  for (int i = 0; i < 60; ++i) step(random);
  check_store("the store is broken after the child took and resized blocks");
  tarn_malloc_trim(0);
  check_store("the store is broken after the child trimmed it");
  ::_exit(0);
}

void fork_and_wait(int turn) {
  // The threads are still at work when enough has been done, each time at another point.
  const int before = steps_done;
  steps_allowed = before + 120;
  while (steps_done < before + turn % 40) std::this_thread::yield();
  const int status =
      support::status_of_child([turn] { live_as_child(static_cast<unsigned>(turn) + 1); });
  stress::require(status == 0, "the child of a fork failed");
}

}  // namespace

int main(int argc, char** argv) {
  const int forks = stress::rounds(80, argc, argv);
  support::Threads threads(4u, work);
  for (int turn = 0; turn < forks; ++turn) fork_and_wait(turn);
  stopping = true;
  threads.join();
  for (Slot& slot : slots) slot.block = stress::Block();
  check_store("the store is broken in the parent");
  return stress::finish("fork_inside");
}
