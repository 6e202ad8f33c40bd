// The word of a purgeable (src/watch/recover/ring.hpp), every interleaving: threads that lock or
// fill it, that have it vanish, and that clear its heap. A turn is one atomic access, or what is
// done under the rings' lock up to the next one. And each of the mistakes below is found.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <vector>

#include "watch/recover/model/promises.hpp"

namespace tarn::model {
namespace {

using Byte = std::uint8_t;
constexpr Byte none = 0xff;
constexpr unsigned blocks_max = 8;

enum class Mistake {
  no_mistake,
  claim_stores,  // Who takes it away looks at the pins first, and stores afterwards.
  claim_ignores_pins,
  lock_adds,            // lock() adds its pin although the word has changed since it looked.
  shown_unfilled,       // A refill is there before it is filled.
  filled_twice,         // Who fills looks first, and says so afterwards.
  filled_into_nothing,  // The end of filling does not see that the heap has taken the block.
  purged_in_open_heap,  // The heap may be cleared between the claim and the free.
  clear_tells_nobody,
  cleared_before_said,  // The block is taken before the word says so.
  kept_on_ring,         // What has vanished is claimed again.
};

enum class Do : Byte { look, purge, clear };

struct Word {
  Byte there = 0;
  Byte used = 0;
  Byte filling = 0;
  Byte pins = 0;
  bool operator==(const Word&) const = default;
  std::uint32_t packed() const {
    return std::uint32_t{pins} << 24 | std::uint32_t{filling} << 16 | std::uint32_t{used} << 8 |
           there;
  }
};

struct Shared {
  Word word;
  Byte block = none;
  Byte on_ring = 0;
  Byte rings = none;  // Who has the lock,
  Byte gate = none;   // and the heap closed.
  Byte blocks = 0;    // That were ever allocated.
  std::array<Byte, blocks_max> alive{};
  std::array<Byte, blocks_max> filled{};
  std::array<Byte, blocks_max> users{};
  std::array<Byte, blocks_max> cleared{};
};

class Run {
 public:
  Run(const std::vector<std::vector<Do>>& programs, Mistake mistake)
      : mistake_(mistake), threads_(programs.size()) {
    tasks_.reserve(programs.size());
    for (Byte id = 0; id < programs.size(); ++id) {
      threads_[id].id = id;
      tasks_.push_back(program(threads_[id], programs[id]));
      threads_[id].begin(tasks_.back());
    }
  }

  unsigned enabled() const {
    unsigned mask = 0;
    for (unsigned i = 0; i < threads_.size(); ++i) {
      const Thread& t = threads_[i];
      const bool blocked = t.waits() && (t.for_gate ? shared_.gate : shared_.rings) != none;
      if (!t.done && !blocked) mask |= 1u << i;
    }
    return mask;
  }
  void turn(unsigned actor) {
    threads_[actor].turn();
    tasks_[actor].check();
  }
  std::uint64_t key() const {
    std::uint64_t hash = hash_of(shared_);
    for (const Thread& t : threads_) {
      hash = mixed(hash, t.history());
      hash = mixed(hash, t.for_gate * 4u + t.waits() * 2u + t.done);
    }
    return hash;
  }
  void finished() const {
    for (const Thread& t : threads_) require(t.done, "nobody can go on");
    require(shared_.rings == none && shared_.gate == none, "a lock is held for ever");
    const Word& word = shared_.word;
    require(word.pins == 0 && word.filling == 0, "a pin is left");
    require(word.there == 0 || shared_.block != none, "it is there, and no block");
    require(word.there == shared_.on_ring, "the word and the ring disagree");
    unsigned alive = 0;
    for (const Byte one : shared_.alive) alive += one;
    require(alive == word.there, "a block is lost");
    for (const Byte users : shared_.users) require(users == 0, "a block is in use");
  }

 private:
  struct Thread : Actor {
    Byte id = none;
    bool for_gate = false;
    bool done = false;
  };

  Task<void> program(Thread& t, std::vector<Do> what) {
    for (const Do one : what) {
      Scope scope(t);
      co_await t.step();
      switch (one) {
        case Do::look: co_await look(t); break;
        case Do::purge: co_await purge(t); break;
        case Do::clear: co_await clear(t); break;
      }
    }
    t.done = true;
  }

  Actor::Step take_rings(Thread& t) {
    t.for_gate = false;
    return t.wait();
  }
  Actor::Step take_gate(Thread& t) {
    t.for_gate = true;
    return t.wait();
  }

  // tarn_purgeable_lock, and refill when it has vanished; some use; unlock.
  Task<void> look(Thread& t) {
    co_await t.step();
    Word seen = shared_.word;
    t.saw(seen.packed());
    while (seen.there != 0) {
      co_await t.step();
      if (shared_.word == seen || is(Mistake::lock_adds)) {
        ++shared_.word.pins;
        shared_.word.used = 1;
        const Byte block = shared_.block;
        require(block != none, "locked, and no block");
        require(shared_.alive[block] != 0, "a locked block is dead");
        require(shared_.filled[block] != 0, "a block is seen before it is filled");
        co_await use(t, t.saw(block));
        co_await unlock(t);
        co_return;
      }
      seen = shared_.word;
      t.saw(seen.packed());
    }
    co_await refill(t);
  }

  Task<void> use(Thread& t, Byte block) {
    ++shared_.users[block];
    co_await t.step();
    require(shared_.alive[block] != 0 || shared_.cleared[block] != 0, "a block in use is freed");
    --shared_.users[block];
  }

  Task<void> unlock(Thread& t) {
    co_await t.step();
    require(shared_.word.pins != 0, "an unlock without a lock");
    --shared_.word.pins;
    if (t.saw(shared_.word.filling) == 0) co_return;
    co_await take_rings(t);
    const bool has_block = shared_.block != none || is(Mistake::filled_into_nothing);
    shared_.word = {has_block, has_block, 0, 0};
  }

  Task<void> refill(Thread& t) {
    co_await take_rings(t);
    if (t.saw(shared_.word != Word{})) co_return;
    if (is(Mistake::filled_twice)) co_await t.step();
    shared_.word = {0, 0, 1, 1};
    co_await t.step();
    const Byte block = t.saw(shared_.blocks++);
    require(block < blocks_max, "too many blocks for the model");
    shared_.alive[block] = 1;
    co_await take_rings(t);
    require(shared_.block == none || shared_.alive[shared_.block] == 0, "a block is lost");
    shared_.block = block;
    shared_.on_ring = 1;
    if (is(Mistake::shown_unfilled)) shared_.word.there = 1;
    co_await use(t, block);
    shared_.filled[block] = 1;
    co_await unlock(t);
  }

  // One heap, swept twice.
  Task<void> purge(Thread& t) {
    if (!is(Mistake::purged_in_open_heap)) {
      co_await take_gate(t);
      shared_.gate = t.id;
    }
    for (int sweep = 0; sweep < 2; ++sweep) {
      co_await take_rings(t);
      shared_.rings = t.id;
      const Byte block = co_await claim(t);
      shared_.rings = none;
      if (t.saw(block) == none) continue;
      co_await t.step();
      require(shared_.alive[block] != 0, "a block is freed twice");
      require(shared_.users[block] == 0, "a block in use is freed");
      shared_.alive[block] = 0;
    }
    if (shared_.gate == t.id) shared_.gate = none;
  }

  Task<Byte> claim(Thread& t) {
    if (t.saw(shared_.on_ring) == 0) co_return none;
    const Word seen = shared_.word;
    t.saw(seen.packed());
    co_await t.step();
    if (seen.used != 0) {
      shared_.word.used = 0;
      co_return none;
    }
    const bool free = seen.pins == 0 || is(Mistake::claim_ignores_pins);
    if (seen.there == 0 || !free) co_return none;
    if (shared_.word != seen && !is(Mistake::claim_stores)) co_return none;
    if (!is(Mistake::kept_on_ring)) shared_.word.there = 0;
    shared_.on_ring = 0;
    co_return std::exchange(shared_.block, none);
  }

  // tarn_heap_clear: the ring's block dies. (Who uses it does so against the rules.)
  Task<void> clear(Thread& t) {
    co_await take_gate(t);
    shared_.gate = t.id;
    co_await take_rings(t);
    Byte block = none;
    if (is(Mistake::clear_tells_nobody)) {
      block = shared_.block;
    } else if (shared_.on_ring != 0) {
      shared_.rings = t.id;
      shared_.on_ring = 0;
      block = t.saw(shared_.block);
      shared_.cleared[block] = 1;
      if (is(Mistake::cleared_before_said)) {
        shared_.block = none;
        co_await t.step();
      }
      const Word before = shared_.word;
      shared_.word.there = shared_.word.used = 0;
      co_await t.step();
      // Who has it locked goes on with what it has; who fills it learns that it is gone.
      if (before.filling != 0 || before.pins == 0) shared_.block = none;
      shared_.rings = none;
    }
    t.saw(block);
    co_await t.step();
    // Whatever of the heap is alive and was on the ring: also what was claimed and not freed yet.
    for (Byte b = 0; b < blocks_max; ++b) {
      const bool claimed = shared_.alive[b] != 0 && shared_.filled[b] != 0 && b != shared_.block;
      if (b != block && !claimed) continue;
      shared_.alive[b] = 0;
      shared_.cleared[b] = 1;
    }
    shared_.gate = none;
  }

  bool is(Mistake mistake) const { return mistake_ == mistake; }

  Mistake mistake_;
  Shared shared_;
  std::vector<Thread> threads_;
  std::vector<Task<void>> tasks_;
};

const std::vector<Programs<Do>>& scenarios() {
  static const std::vector<Programs<Do>> all = {
      {"two_look", {{Do::look, Do::look}, {Do::look, Do::look}}},
      {"one_looks_one_purges", {{Do::look, Do::look, Do::look}, {Do::purge, Do::purge}}},
      {"two_look_one_purges", {{Do::look, Do::look}, {Do::look, Do::look}, {Do::purge}}},
      {"two_purge", {{Do::look, Do::look}, {Do::purge}, {Do::purge}}},
      {"cleared", {{Do::look, Do::look}, {Do::clear}, {Do::purge}}},
      {"cleared_and_looked_at", {{Do::look, Do::look}, {Do::look, Do::clear}}},
  };
  return all;
}

using Model = Run;  // A test has a Run of its own.
constexpr std::uint64_t states_max = 2'000'000;

TEST(PurgeableWord, EveryInterleavingKeepsThePromises) {
  expect_promises_kept<Model>(scenarios(), Mistake::no_mistake, states_max);
}

TEST(PurgeableWord, EachMistakeIsFound) {
  expect_mistakes_found<Model>(scenarios(), Mistake::kept_on_ring, states_max);
}

}  // namespace
}  // namespace tarn::model
