// How one thread gets a heap for itself (src/heaps/heap/exclusive.cpp, engine/records/gate.cpp,
// ThreadHeaps::join): every interleaving of threads that hit, visit, close and end it. A turn is
// one access that others can see. Plain stores wait in their processor's buffer, as on x86, until a
// turn of the buffer's own, a locked instruction, or the closing thread's membarrier: hit paths
// have no fence. And each of the mistakes below is found.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <vector>

#include "engine/pages/model/promises.hpp"

namespace tarn::model {
namespace {

using Byte = std::uint8_t;
constexpr Byte none = 0xff;
constexpr unsigned threads_max = 3;
constexpr unsigned buffer_max = 4;
constexpr Byte first_id = 1;  // The heap's; it has 0 when it has ended.

enum class Mistake {
  no_mistake,
  no_barrier,          // Nobody empties the others' buffers.
  looks_first,         // The closing thread looks at the others before the barrier.
  keeps_slots,         // It leaves the others' slots filled.
  exclusive_late,      // It says so after it has emptied them.
  waits_for_no_hit,    // It does not look at `inside`,
  waits_for_no_visit,  // or at `busy`,
  waits_for_nobody,    // or at those who count themselves.
  counts_late,         // A visitor looks whether the heap is closed, then counts itself.
  counts_nobody,
  looks_at_slot_first,  // A hit path reads its slot, then says that it is inside.
  fills_slot_apart,     // A slot is filled without the lock,
  fills_slot_blindly,   // or although the heap is being closed.
  ends_early,           // A visitor is not busy any more before it has finished.
  waits_busy,           // It waits at the gate and is still busy.
  asks_no_id,           // A visitor does not ask whether the heap is still the one it wants.
};

enum class Do : Byte { hit, visit, close, end };

// What a thread's own stores set.
enum class Place : Byte { inside, busy };
struct Store {
  Place place;
  Byte value;
};

struct Shared {
  Byte id = first_id;
  Byte exclusive = 0;
  Byte gate = none;    // Who has it,
  Byte lock = none;    // and the record's lock.
  Byte holder = none;  // Who has the heap for itself.
  Byte visitors = 0;
  std::array<Byte, threads_max> slot{};  // The id in the thread's slot; 0: none.
  std::array<Byte, threads_max> joined{};
  std::array<Byte, threads_max> inside{};
  std::array<Byte, threads_max> busy{};
  std::array<Byte, threads_max> uses{};  // The thread is in the heap's lists.
  std::array<Byte, threads_max> stored{};
  std::array<std::array<Store, buffer_max>, threads_max> buffer{};
};

class Run {
 public:
  Run(const std::vector<std::vector<Do>>& programs, Mistake mistake)
      : mistake_(mistake), count_(static_cast<Byte>(programs.size())), threads_(2 * count_) {
    tasks_.reserve(threads_.size());
    for (Byte id = 0; id < threads_.size(); ++id) {
      threads_[id].id = id % count_;
      tasks_.push_back(id < count_ ? program(threads_[id], programs[id]) : drain(threads_[id]));
      threads_[id].begin(tasks_.back());
    }
  }

  unsigned enabled() const {
    unsigned mask = 0;
    for (unsigned i = 0; i < threads_.size(); ++i) {
      const Thread& t = threads_[i];
      if (!t.done && is_met(t)) mask |= 1u << i;
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
      hash = mixed(hash, static_cast<std::uint64_t>(t.until));
      hash = mixed(hash, t.whom * 2u + t.done);
    }
    return hash;
  }
  void finished() const {
    for (unsigned i = 0; i < count_; ++i) require(threads_[i].done, "nobody can go on");
    require(shared_.gate == none && shared_.lock == none, "a lock is held for ever");
    require(shared_.exclusive == 0 && shared_.visitors == 0, "the heap stays closed, or counted");
    for (unsigned i = 0; i < count_; ++i) {
      require(shared_.inside[i] == 0 && shared_.busy[i] == 0, "a thread is at work for ever");
    }
  }

 private:
  // What an actor waits for.
  enum class Until : Byte { turn, gate, lock, no_visitors, idle, room, stored };
  struct Thread : Actor {
    Byte id = none;
    Until until = Until::turn;
    Byte whom = 0;
    bool done = false;
  };

  bool is_met(const Thread& t) const {
    switch (t.until) {
      case Until::turn: return true;
      case Until::gate: return shared_.gate == none;
      case Until::lock: return shared_.lock == none;
      case Until::no_visitors: return shared_.visitors == 0;
      case Until::idle: return !is_at_work(t.whom);
      case Until::room: return shared_.stored[t.id] < buffer_max;
      case Until::stored: return shared_.stored[t.id] != 0;
    }
    return true;
  }
  bool is_at_work(Byte whom) const {
    return (shared_.inside[whom] != 0 && !is(Mistake::waits_for_no_hit)) ||
           (shared_.busy[whom] != 0 && !is(Mistake::waits_for_no_visit));
  }

  Actor::Step step(Thread& t, Until until = Until::turn, Byte whom = 0,
                   std::source_location here = std::source_location::current()) {
    t.until = until;
    t.whom = whom;
    return t.step(here);
  }

  // The oldest store of a thread reaches memory.
  void drain_one(Byte whom) {
    auto& buffer = shared_.buffer[whom];
    const Store store = buffer[0];
    for (unsigned i = 1; i < buffer_max; ++i) buffer[i - 1] = buffer[i];
    buffer[buffer_max - 1] = Store{};
    --shared_.stored[whom];
    (store.place == Place::inside ? shared_.inside : shared_.busy)[whom] = store.value;
  }
  void drain_all(Byte whom) {
    while (shared_.stored[whom] != 0) drain_one(whom);
  }
  Task<void> drain(Thread& buffer) {
    for (;;) {
      Scope scope(buffer);
      co_await step(buffer, Until::stored);
      drain_one(buffer.id);
    }
  }
  Task<void> store(Thread& t, Place place, Byte value) {
    co_await step(t, Until::room);
    shared_.buffer[t.id][shared_.stored[t.id]++] = {place, value};
  }

  // Locks are taken by locked instructions, and given back by plain stores whose delay only makes
  // others wait.
  Task<void> take(Thread& t, Byte& lock, Until until) {
    co_await step(t, until);
    drain_all(t.id);
    lock = t.id;
  }

  Task<void> program(Thread& t, std::vector<Do> what) {
    for (const Do one : what) {
      Scope scope(t);
      co_await step(t);
      switch (one) {
        case Do::hit: co_await hit(t); break;
        case Do::visit: co_await visit(t); break;
        case Do::close: co_await close(t, false); break;
        case Do::end: co_await close(t, true); break;
      }
    }
    t.done = true;
  }

  // The heap's lists, in two steps.
  Task<void> use(Thread& t) {
    for (int i = 0; i < 2; ++i) {
      require(shared_.holder == none || shared_.holder == t.id, "a closed heap is used");
      require(shared_.id == first_id, "an ended heap is used");
      shared_.uses[t.id] = i == 0;
      if (i == 0) co_await step(t);
    }
  }

  // heap_allocate()
  Task<void> hit(Thread& t) {
    const bool slot_first = is(Mistake::looks_at_slot_first);
    Byte slot = slot_first ? t.saw(shared_.slot[t.id]) : none;
    co_await store(t, Place::inside, 1);
    if (!slot_first) {
      co_await step(t);
      slot = t.saw(shared_.slot[t.id]);
    }
    if (slot == first_id) {
      co_await use(t);
      co_await store(t, Place::inside, 0);
    } else {
      co_await visit(t);
    }
  }

  // Visit, and from_pages() within
  Task<void> visit(Thread& t) {
    for (;;) {
      Scope scope(t);
      co_await store(t, Place::busy, 1);
      co_await store(t, Place::inside, 0);
      co_await step(t);
      const bool counted = t.saw(shared_.slot[t.id]) != first_id && !is(Mistake::counts_nobody);
      if (counted && !is(Mistake::counts_late)) co_await count(t);
      co_await step(t);
      bool again = t.saw(is_closed_to(t));
      if (counted && is(Mistake::counts_late)) co_await count(t);
      if (!again) {
        co_await step(t);
        if (t.saw(shared_.id) == first_id || is(Mistake::asks_no_id)) again = !co_await inside(t);
      }
      if (again && is(Mistake::waits_busy)) co_await wait_at_gate(t);
      if (counted) {
        co_await step(t);
        drain_all(t.id);
        --shared_.visitors;
      }
      co_await store(t, Place::busy, 0);
      if (is(Mistake::ends_early) && !again && shared_.id == first_id) co_await use(t);
      if (!again) co_return;
      co_await wait_at_gate(t);
    }
  }
  Task<void> count(Thread& t) {
    co_await step(t);
    drain_all(t.id);
    ++shared_.visitors;
  }
  Task<void> wait_at_gate(Thread& t) {
    co_await take(t, shared_.gate, Until::gate);
    co_await step(t);
    shared_.gate = none;
  }
  bool is_closed_to(const Thread& t) const {
    return shared_.exclusive != 0 && shared_.gate != t.id;
  }

  // False: the heap is being closed, so try again.
  Task<bool> inside(Thread& t) {
    co_await step(t);
    if (t.saw(shared_.slot[t.id]) != first_id) co_await join(t);
    co_await step(t);
    if (t.saw(is_closed_to(t))) co_return false;
    if (!is(Mistake::ends_early)) co_await use(t);
    co_return true;
  }
  Task<void> join(Thread& t) {
    if (is(Mistake::fills_slot_apart)) {
      const bool closed = t.saw(shared_.exclusive) != 0;
      co_await step(t);
      if (!closed) shared_.slot[t.id] = shared_.id;
    }
    co_await take(t, shared_.lock, Until::lock);
    shared_.joined[t.id] = 1;
    co_await step(t);
    const bool may = shared_.exclusive == 0 || is(Mistake::fills_slot_blindly);
    if (may && !is(Mistake::fills_slot_apart)) shared_.slot[t.id] = shared_.id;
    co_await step(t);
    shared_.lock = none;
  }

  // keep_others_out(), the section, leave_exclusive()
  Task<void> close(Thread& t, bool end) {
    co_await take(t, shared_.gate, Until::gate);
    co_await keep_others_out(t);
    shared_.holder = t.id;
    for (int i = 0; i < 2; ++i) {
      for (Byte other = 0; other < count_; ++other) {
        require(other == t.id || shared_.uses[other] == 0, "a used heap is closed");
      }
      if (i == 0) co_await step(t);
    }
    if (end) shared_.id = 0;
    shared_.holder = none;
    co_await step(t);
    drain_all(t.id);
    shared_.exclusive = 0;
    co_await step(t);
    shared_.gate = none;
  }
  Task<void> keep_others_out(Thread& t) {
    co_await take(t, shared_.lock, Until::lock);
    if (!is(Mistake::exclusive_late)) shared_.exclusive = 1;
    for (Byte other = 0; other < count_; ++other) {
      co_await step(t);
      if (shared_.joined[other] != 0 && !is(Mistake::keeps_slots)) shared_.slot[other] = 0;
    }
    const std::array<Byte, threads_max> joined = shared_.joined;
    co_await step(t);
    shared_.lock = none;
    if (is(Mistake::exclusive_late)) {
      co_await step(t);
      shared_.exclusive = 1;
    }
    if (!is(Mistake::waits_for_nobody)) co_await step(t, Until::no_visitors);
    if (is(Mistake::looks_first)) co_await wait_for(t, joined);
    for (Byte other = 0; other < count_ && !is(Mistake::no_barrier); ++other) {
      co_await step(t);
      drain_all(other);
    }
    if (!is(Mistake::looks_first)) co_await wait_for(t, joined);
  }
  Task<void> wait_for(Thread& t, std::array<Byte, threads_max> joined) {
    for (Byte other = 0; other < count_; ++other) {
      t.saw(joined[other]);
      if (other != t.id && joined[other] != 0) co_await step(t, Until::idle, other);
    }
  }

  bool is(Mistake mistake) const { return mistake_ == mistake; }

  Mistake mistake_;
  Byte count_;
  Shared shared_;
  std::vector<Thread> threads_;  // Then, for each, its buffer.
  std::vector<Task<void>> tasks_;
};

const std::vector<Programs<Do>>& scenarios() {
  static const std::vector<Programs<Do>> all = {
      {"one_hits_one_closes", {{Do::visit, Do::hit, Do::hit}, {Do::close}}},
      {"one_visits_one_ends", {{Do::visit, Do::visit}, {Do::end}}},
      {"one_hits_one_ends", {{Do::hit, Do::hit}, {Do::visit, Do::end}}},
      {"both_close", {{Do::visit, Do::close, Do::hit}, {Do::hit, Do::close}}},
      {"closed_and_ended", {{Do::visit, Do::hit, Do::hit}, {Do::close, Do::end}}},
      {"two_hit_one_closes", {{Do::hit, Do::hit}, {Do::visit}, {Do::close}}},
      {"two_close", {{Do::hit, Do::hit}, {Do::close}, {Do::close}}},
  };
  return all;
}

using Model = Run;  // A test has a Run of its own.
constexpr std::uint64_t states_max = 20'000'000;

TEST(Closing, EveryInterleavingKeepsThePromises) {
  expect_promises_kept<Model>(scenarios(), Mistake::no_mistake, states_max);
}

TEST(Closing, EachMistakeIsFound) {
  expect_mistakes_found<Model>(scenarios(), Mistake::asks_no_id, states_max);
}

}  // namespace
}  // namespace tarn::model
