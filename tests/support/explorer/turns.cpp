// turns: see turns.hpp and explorer.hpp. All that is here is used by one thread at a time: the
// baton is passed on from thread to thread, so nothing of it is atomic but the batons.
//
// SPDX-License-Identifier: MIT
#include "turns.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "explorer.hpp"
#include "orders.hpp"
#include "search.hpp"

namespace explorer {
namespace {

constexpr std::size_t watched_most = 16;
constexpr unsigned seconds_most = 60;  // Of a run: else a thread makes no step for ever.

struct Watched {
  std::uintptr_t place;
  std::uint32_t since;  // How many steps the run had.
};

// A store on its way to memory.
struct Stored {
  std::uintptr_t place;
  std::size_t bytes;
  std::uint64_t value;
  bool releases;
  const void* site;
  Clock after;            // What comes before it, as the search has it,
  Clock released;         // and as the memory orders do.
  bool is_there = false;  // In memory, where nobody else looks.
};

struct Worker {
  std::atomic<std::uint32_t> baton{0};
  unsigned number = 0;
  bool is_at_step = false;
  bool has_ended = false;
  Access next;
  const void* site = nullptr;
  const Worker* awaits = nullptr;  // Whose stores must have reached memory.
  std::deque<Stored> buffer;
  std::vector<Watched> seen;   // What it has read since it waited last.
  std::vector<Watched> waits;  // Empty: for nothing.
};

struct Told {
  unsigned thread;
  Access access;
  const void* site;
};

const Scenario* scenario = nullptr;
std::array<Worker, threads_max> workers;
std::atomic<std::uint32_t> main_baton{0};
Search* search = nullptr;
Orders orders;
std::vector<Told> told;
bool is_starting = false;
__thread Worker* self = nullptr;

void give(std::atomic<std::uint32_t>& baton) {
  baton.store(1, std::memory_order_release);
  wake(baton);
}
void take(std::atomic<std::uint32_t>& baton) {
  while (baton.load(std::memory_order_acquire) == 0) sleep_on(baton, 0);
  baton.store(0, std::memory_order_relaxed);
}

unsigned count() { return static_cast<unsigned>(scenario->threads.size()); }

// The number of the thread that brings a worker's stores to memory.
unsigned buffer_of(const Worker& worker) { return count() + worker.number; }

bool is_enabled(const Worker& worker) {
  if (!worker.is_at_step || worker.has_ended) return false;
  if (worker.awaits != nullptr && !worker.awaits->buffer.empty()) return false;
  if (worker.next.kind == Kind::lock) {
    return *reinterpret_cast<const volatile std::uint32_t*>(worker.next.place) == 0;
  }
  if (worker.waits.empty()) return true;
  for (const Watched& watched : worker.waits) {
    const std::uint32_t written = search->last_written(watched.place);
    if (written == Search::never || written < watched.since) continue;
    if (search->thread_of(written) != worker.number) return true;
  }
  return false;
}

void write_memory(const Stored& stored) {
  switch (stored.bytes) {
    case 1:
      *reinterpret_cast<std::uint8_t*>(stored.place) = static_cast<std::uint8_t>(stored.value);
      break;
    case 2:
      *reinterpret_cast<std::uint16_t*>(stored.place) = static_cast<std::uint16_t>(stored.value);
      break;
    case 4:
      *reinterpret_cast<std::uint32_t*>(stored.place) = static_cast<std::uint32_t>(stored.value);
      break;
    default: *reinterpret_cast<std::uint64_t*>(stored.place) = stored.value;
  }
}

// A turn of the buffer's own: its oldest store reaches memory.
void drain(Worker& worker) {
  const Stored stored = worker.buffer.front();
  worker.buffer.pop_front();
  const unsigned buffer = buffer_of(worker);
  const Access access{stored.place, Kind::write};
  told.push_back({buffer, access, stored.site});
  search->come_after(buffer, stored.after);
  search->made(buffer, access, stored.site);
  if (!stored.is_there) write_memory(stored);
  if (stored.releases) {
    orders.set_released(stored.place, stored.released);
  } else {
    orders.forget(stored.place);
  }
}

struct Enabled {
  unsigned mask = 0;
  bool have_ended = true;
  std::array<Access, threads_max> next{};
};

Enabled find_enabled() {
  Enabled enabled;
  const auto add = [&](unsigned number, Access next) {
    enabled.mask |= bit(number);
    enabled.next[number] = next;
  };
  for (unsigned i = 0; i < count(); ++i) {
    const Worker& worker = workers[i];
    enabled.have_ended = enabled.have_ended && worker.has_ended && worker.buffer.empty();
    if (is_enabled(worker)) add(i, worker.next);
    if (worker.buffer.empty()) continue;
    add(buffer_of(worker), {worker.buffer.front().place, Kind::write});
  }
  return enabled;
}

// Gives the turn to whoever has it next. True: it is the calling thread's own.
bool pass_on(const Worker* from) {
  for (;;) {
    const Enabled enabled = find_enabled();
    if (enabled.have_ended) {
      give(main_baton);
      return false;
    }
    if (enabled.mask == 0) fail("all threads wait for each other");
    if (search->steps() == steps_most) fail("a run that does not end");
    const unsigned current = from == nullptr ? threads_max : from->number;
    const unsigned chosen = search->choose(enabled.mask, enabled.next, current);
    if (search->has_diverged()) fail("the same turns do not lead to the same steps");
    if (chosen >= count()) {
      drain(workers[chosen - count()]);
      continue;
    }
    if (&workers[chosen] == from) return true;
    give(workers[chosen].baton);
    return false;
  }
}

void* work(void* which) {
  begin_thread();
  self = static_cast<Worker*>(which);
  scenario->threads[self->number]();
  end_thread();
}

void tell() {
  constexpr std::size_t most = 40;
  std::fprintf(stderr, "the last steps of %zu (addr2line knows the places):\n", told.size());
  for (std::size_t i = told.size() > most ? told.size() - most : 0; i < told.size(); ++i) {
    constexpr const char* names[] = {"reads", "writes", "updates", "locks", "unlocks"};
    const Told& step = told[i];
    std::fprintf(stderr, "  %zu: %u %s %#zx at %p\n", i, step.thread,
                 names[static_cast<int>(step.access.kind)], step.access.place, step.site);
  }
}

void on_signal(int number) {
  char what[20];
  std::snprintf(what, sizeof what, "signal %d", number);
  fail(what);
}

// What the parent of a run is to know.
struct Shared {
  Turns turns;
  unsigned first = 0;
  std::uint32_t steps = 0;
  bool is_redundant = false;
};

// In a process of its own, so that each run begins with the same memory.
void run(Shared& shared) {
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGTRAP, SIGALRM}) {
    std::signal(number, on_signal);
  }
  alarm(seconds_most);
  // On one processor: a turn that is passed on is then a switch, and no message.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  sched_setaffinity(0, sizeof one, &one);

  Search whole(shared.turns, shared.first, scenario->all_orders);
  search = &whole;
  orders.begin();
  is_starting = true;
  for (unsigned i = 0; i < count(); ++i) {
    workers[i].number = i;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, work, &workers[i]) != 0) std::abort();
    take(main_baton);
  }
  is_starting = false;
  pass_on(nullptr);
  take(main_baton);
  if (scenario->check) scenario->check();
  shared.steps = whole.steps();
  shared.is_redundant = whole.is_redundant();
}

}  // namespace

bool stores_wait() { return scenario->stores_wait; }

void end_thread() {
  self->has_ended = true;
  if (is_starting) {
    give(main_baton);
  } else {
    pass_on(self);
  }
  for (;;) pause();  // What the thread has is looked at, so it does not end.
}

bool is_explored() { return self != nullptr; }

namespace {

void await_own_turn() {
  self->is_at_step = true;
  if (is_starting) {
    give(main_baton);
    take(self->baton);
  } else if (!pass_on(self)) {
    take(self->baton);
  }
  self->is_at_step = false;
  self->waits.clear();
}

// The step of the calling thread, as the search and the report see it.
void note_step(Access access) {
  told.push_back({self->number, access, self->site});
  search->made(self->number, access, self->site);
}

}  // namespace

void await_turn(std::uintptr_t place, Kind kind, const void* site, bool drains) {
  self->next = {place, kind};
  self->site = site;
  if (drains || (kind != Kind::read && kind != Kind::write)) self->awaits = self;
  await_own_turn();
  if (self->awaits != nullptr) search->come_after(self->number, search->clock(buffer_of(*self)));
  self->awaits = nullptr;
}

void end_step(std::uintptr_t place, std::size_t bytes, Kind kind, Order order) {
  const unsigned thread = self->number;
  const Access access{place, kind};
  const bool writes = access.writes();
  note_step(access);
  if (!writes) self->seen.push_back({place, search->steps()});
  if (!orders.touch(thread, place, bytes, writes, true)) fail("a data race");
  if (kind != Kind::write && order.acquires) orders.acquire(thread, place);
  if (!writes) return;
  if (order.releases) {
    orders.release(thread, place, kind != Kind::write);
  } else if (kind == Kind::write) {
    orders.forget(place);
  }
}

void store_later(std::uintptr_t place, std::size_t bytes, std::uint64_t value, bool releases,
                 const void* site) {
  if (bytes > sizeof value) fail("a store of so many bytes is not known");
  const auto buffer = reinterpret_cast<std::uintptr_t>(&self->buffer);
  self->next = {buffer, Kind::write};
  self->site = site;
  await_own_turn();
  note_step(self->next);
  const unsigned thread = self->number;
  if (!orders.touch(thread, place, bytes, true, true)) fail("a data race");
  self->buffer.push_back({place, bytes, value, releases, site, search->clock(thread),
                          releases ? orders.released_by(thread) : Clock{}});
}

bool find_stored(std::uintptr_t place, std::uint64_t* value) {
  for (auto stored = self->buffer.rbegin(); stored != self->buffer.rend(); ++stored) {
    if (stored->place != place || stored->is_there) continue;
    *value = stored->value;
    return true;
  }
  return false;
}

void await_stores_of_all(const void* site) {
  for (unsigned k = 0; k < count(); ++k) {
    const unsigned i = (self->number + k) % count();  // Its own ones first.
    self->next = {reinterpret_cast<std::uintptr_t>(&workers[i].buffer), Kind::read};
    self->site = site;
    self->awaits = &workers[i];
    await_own_turn();
    self->awaits = nullptr;
    // The last store may come after the barrier, although once it is made it must be in memory.
    note_step(self->next);
    search->came_after(self->number, search->clock(buffer_of(workers[i])));
  }
}

void touch(std::uintptr_t place, std::size_t bytes, bool writes, const void* site) {
  // What the thread itself has stored there it sees. Others do not look: that would be a race.
  for (Stored& stored : self->buffer) {
    const bool overlaps = stored.place < place + bytes && place < stored.place + stored.bytes;
    if (!overlaps || stored.is_there) continue;
    write_memory(stored);
    stored.is_there = true;
  }
  if (orders.touch(self->number, place, bytes, writes, false)) return;
  told.push_back({self->number, {place, writes ? Kind::write : Kind::read}, site});
  fail("a data race");
}

void wait_for_write() {
  std::vector<Watched>& seen = self->seen;
  if (seen.size() > watched_most) seen.erase(seen.begin(), seen.end() - watched_most);
  self->waits = std::exchange(seen, {});
}

void fail(const char* what) {
  std::fprintf(stderr, "%s: %s\n", scenario == nullptr ? "" : scenario->name.c_str(), what);
  tell();
  _exit(1);
}

void require(bool condition, const char* what) {
  if (!condition) fail(what);
}

namespace {

// Runs until all orders were tried, or `most` of them; `first` goes first.
void explore_from(unsigned first, std::uint64_t most, Shared& shared, Outcome& outcome) {
  shared.turns.count = 0;
  shared.first = first;
  while (outcome.runs < most && !outcome.is_complete && !outcome.is_broken) {
    const pid_t child = _Fork();
    if (child < 0) std::abort();
    if (child == 0) {
      run(shared);
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) std::abort();
    outcome.is_broken = status != 0;
    ++outcome.runs;
    outcome.steps += shared.steps;
    outcome.redundant += shared.is_redundant ? 1 : 0;
    outcome.is_complete = !outcome.is_broken && !shared.turns.advance();
  }
}

}  // namespace

Outcome explore(const Scenario& what, std::uint64_t runs_most) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto& shared = *new (memory) Shared;
  scenario = &what;
  if (what.prepare) what.prepare();
  Outcome outcome;
  // A search that does not come to its end changes what comes late in a run: so each thread goes
  // first once.
  for (unsigned i = 0; i < count() && !outcome.is_complete && !outcome.is_broken; ++i) {
    explore_from(i, (i + 1) * runs_most / count(), shared, outcome);
  }
  if (what.clear) what.clear();
  scenario = nullptr;
  munmap(memory, sizeof(Shared));
  return outcome;
}

}  // namespace explorer
