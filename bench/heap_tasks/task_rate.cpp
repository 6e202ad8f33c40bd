// speed: one thread's steps. scaling: how two threads' steps add up, beside two threads that do the
// same without allocating, and two processes that share nothing.
//
// A step frees a random one of 512 live blocks, allocates another one of a random small size and
// writes all of it. Without allocating it writes to 64 buffers in turn, which stay as warm as
// blocks that have just been freed.
//
//   phase:  bare one | bare two | one | two heaps | one heap, two threads | two processes | ...
//           every phase a slice of some ten milliseconds, all phases in turn, round after round
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "../meter/meter.hpp"
#include "../workloads/random.hpp"
#include "maker.hpp"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t slot_count = 512;
constexpr std::size_t size_max = 256;
constexpr std::size_t buffer_count = 64;

struct alignas(128) Lane {
  void* slots[slot_count] = {};
  unsigned char (*buffers)[size_max] = nullptr;
  Random random{1};
};

// bytes 0: random sizes of 8..256.
inline std::size_t draw_size(Random& random, std::size_t bytes) {
  const std::size_t drawn = random.between(8, size_max);
  return bytes == 0 ? drawn : bytes;
}

// A call in all loops: inlined, it differs between them by what the compiler knows of the size.
[[gnu::noinline]] void write_block(void* block, std::size_t mark, std::size_t bytes) {
  std::memset(block, static_cast<int>(mark), bytes);
}

void step_bare(Lane& lane, std::size_t bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = lane.random.below(slot_count);
    const std::size_t size = draw_size(lane.random, bytes);
    void* volatile& slot = lane.slots[at];
    slot = lane.buffers[i % buffer_count];
    write_block(slot, i, size);
  }
}

template <class Maker>
void step_heap(Lane& lane, const typename Maker::Heap& heap, std::size_t bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = lane.random.below(slot_count);
    const std::size_t size = draw_size(lane.random, bytes);
    Maker::deallocate(lane.slots[at]);
    lane.slots[at] = take<Maker>(heap, size);
    write_block(lane.slots[at], i, size);
  }
}

// Both threads use the same slots: half of the blocks that a thread frees are the other's.
using Crossing = std::atomic<void*>[slot_count];

template <class Maker>
void step_crossed(Lane& lane, const typename Maker::Heap& heap, Crossing& slots,
                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = lane.random.below(slot_count);
    const std::size_t size = draw_size(lane.random, 0);
    void* const block = take<Maker>(heap, size);
    write_block(block, i, size);
    Maker::deallocate(slots[at].exchange(block, std::memory_order_acq_rel));
  }
}

// What is written comes out of the slots instead of a heap.
void step_crossed_bare(Lane& lane, void*& held, Crossing& slots, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = lane.random.below(slot_count);
    const std::size_t size = draw_size(lane.random, 0);
    write_block(held, i, size);
    held = slots[at].exchange(held, std::memory_order_acq_rel);
  }
}

struct Speed {
  std::size_t steps, bytes;

  template <class Maker>
  void run() const {
    Lane lane;
    lane.buffers = static_cast<unsigned char(*)[size_max]>(reserve(buffer_count * size_max));
    const typename Maker::Heap heap = Maker::create();
    for (void*& slot : lane.slots) slot = take<Maker>(heap, 48);
    step_heap<Maker>(lane, heap, bytes, steps / 10);
    double best_bare = 1e9, best = 1e9;
    for (int slice = 0; slice < 10; ++slice) {  // The least disturbed tenth of each.
      const Usage start = usage_now();
      step_heap<Maker>(lane, heap, bytes, steps / 10);
      const Usage middle = usage_now();
      Lane bare;
      bare.buffers = lane.buffers;
      step_bare(bare, bytes, steps / 10);
      const Usage end = usage_now();
      best = std::min(best, (middle - start).cpu);
      best_bare = std::min(best_bare, (end - middle).cpu);
    }
    const double count = static_cast<double>(steps / 10);
    print({{"ns", (best - best_bare) / count * 1e9},
           {"step_ns", best / count * 1e9},
           {"bare_ns", best_bare / count * 1e9}});
  }
};

enum Phase {
  bare_one,
  bare_two,
  own_one,
  own_two,
  shared_two,
  processes_two,
  crossed_bare_one,
  crossed_bare_two,
  crossed_one,
  crossed_two,
  phase_count
};
constexpr const char* phase_names[] = {
    "bare_one",      "bare_two",         "own_one",          "own_two",     "shared_two",
    "processes_two", "crossed_bare_one", "crossed_bare_two", "crossed_one", "crossed_two"};

struct Slice {
  double start, end, cpu;
};

// Between the two threads and the other process.
struct Meeting {
  pthread_barrier_t barrier;
  Slice slices[3];

  Meeting() {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&barrier, &attributes, 3);
  }
  void meet() { pthread_barrier_wait(&barrier); }
};

Meeting& make_meeting() {
  void* const memory =
      mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail("out of memory");
  return *new (memory) Meeting;
}

// Who takes part: bit 0 and 1 the threads, bit 2 the other process.
unsigned parties(Phase phase) {
  switch (phase) {
    case bare_one:
    case own_one:
    case crossed_bare_one:
    case crossed_one: return 1;
    case processes_two: return 5;
    default: return 3;
  }
}

// A heap of one thread is in no phase that has two in a heap.
template <class Maker>
constexpr bool can_run(Phase phase) {
  return !Maker::is_confined ||
         (phase != shared_two && phase != crossed_one && phase != crossed_two);
}

template <class Maker>
struct Shared {
  typename Maker::Heap heap;    // Of both threads ...
  typename Maker::Heap own[2];  // ... and of each.
  Crossing crossing;            // Blocks of `heap`.
  Crossing crossing_bare;       // Buffers.
};

template <class Maker>
class Party {
 public:
  Party(unsigned index, Meeting& meeting, Shared<Maker>& shared)
      : index_(index), meeting_(meeting), shared_(shared) {
    auto* const buffers =
        static_cast<unsigned char(*)[size_max]>(reserve((buffer_count + 1) * size_max));
    held_ = buffers[buffer_count];
    for (Lane* lane : {&bare_, &own_, &in_shared_}) lane->random = Random(index + 7);
    bare_.buffers = buffers;
    own_heap() = Maker::create();
  }

  void prepare() {
    for (void*& slot : own_.slots) slot = take<Maker>(own_heap(), 48);
    if (Maker::is_confined) return;
    for (void*& slot : in_shared_.slots) slot = take<Maker>(shared_.heap, 48);
  }

  // A round of all phases; those that this party has no part in are waited for.
  void round(std::size_t steps, double (&rates)[2][phase_count]) {
    for (int at = 0; at < phase_count; ++at) {
      const auto phase = static_cast<Phase>(at);
      if (!can_run<Maker>(phase)) continue;
      meeting_.meet();
      if ((parties(phase) >> index_ & 1) != 0) {
        const Usage start = usage_now();
        step(phase, steps);
        const Usage end = usage_now();
        meeting_.slices[index_] = {start.wall, end.wall, end.cpu - start.cpu};
      }
      meeting_.meet();
      if (index_ == 0) read_rates(phase, static_cast<double>(steps), rates);
    }
  }

 private:
  typename Maker::Heap& own_heap() { return shared_.own[index_ & 1]; }

  void step(Phase phase, std::size_t steps) {
    switch (phase) {
      case bare_one:
      case bare_two: return step_bare(bare_, 0, steps);
      case own_one:
      case own_two:
      case processes_two: return step_heap<Maker>(own_, own_heap(), 0, steps);
      case shared_two: return step_heap<Maker>(in_shared_, shared_.heap, 0, steps);
      case crossed_bare_one:
      case crossed_bare_two: return step_crossed_bare(bare_, held_, shared_.crossing_bare, steps);
      default: return step_crossed<Maker>(own_, shared_.heap, shared_.crossing, steps);
    }
  }

  void read_rates(Phase phase, double steps, double (&rates)[2][phase_count]) const {
    double start = 1e300, end = 0, done = 0, by_cpu = 0;
    for (unsigned at = 0; at < 3; ++at) {
      if ((parties(phase) >> at & 1) == 0) continue;
      const Slice& slice = meeting_.slices[at];
      start = std::min(start, slice.start);
      end = std::max(end, slice.end);
      done += steps;
      by_cpu += steps / slice.cpu;
    }
    rates[0][phase] = done / (end - start);
    rates[1][phase] = by_cpu;
  }

  unsigned index_;
  Meeting& meeting_;
  Shared<Maker>& shared_;
  Lane bare_, own_, in_shared_;
  void* held_ = nullptr;
};

struct Scaling {
  std::size_t steps, rounds;

  template <class Maker>
  void run() const {
    Meeting& meeting = make_meeting();
    const pid_t child = fork();
    if (child < 0) fail("cannot start a process");
    auto& shared = *new Shared<Maker>;
    shared.heap = Maker::create();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // It would wait for the others for ever.
      Party<Maker> party(2, meeting, shared);
      all_rounds(party, 2);
      _exit(0);
    }
    fill_crossings(shared);
    std::thread other([&] {
      Party<Maker> party(1, meeting, shared);
      all_rounds(party, 1);
    });
    Party<Maker> party(0, meeting, shared);
    all_rounds(party, 0);
    other.join();
    waitpid(child, nullptr, 0);
  }

  template <class Maker>
  static void fill_crossings(Shared<Maker>& shared) {
    auto* const buffers = static_cast<unsigned char(*)[size_max]>(reserve(slot_count * size_max));
    for (std::size_t at = 0; at < slot_count; ++at) {
      shared.crossing[at] = take<Maker>(shared.heap, 48);
      shared.crossing_bare[at] = buffers[at];
    }
  }

  template <class Maker>
  void all_rounds(Party<Maker>& party, unsigned index) const {
    party.prepare();
    double rates[2][phase_count];
    party.round(steps, rates);  // Warms.
    if (index == 0) std::printf("{\"rounds\": [");
    for (std::size_t at = 0; at < rounds; ++at) {
      party.round(steps, rates);
      if (index == 0) print_round<Maker>(at, rates);
    }
    if (index == 0) std::puts("\n]}");
  }

  template <class Maker>
  static void print_round(std::size_t at, const double (&rates)[2][phase_count]) {
    std::printf("%s\n{", at == 0 ? "" : ",");
    for (int phase = 0; phase < phase_count; ++phase) {
      if (!can_run<Maker>(static_cast<Phase>(phase))) continue;
      std::printf("%s\"%s\": [%.6g, %.6g]", phase == 0 ? "" : ", ", phase_names[phase],
                  rates[0][phase], rates[1][phase]);
    }
    std::printf("}");
  }
};

}  // namespace

bool task_speed(const Request& request) {
  return with_maker(request.maker, request.library,
                    Speed{request.number(0, 10000000), request.number(1, 0)});
}

bool task_scaling(const Request& request) {
  return with_maker(request.maker, request.library,
                    Scaling{request.number(0, 400000), request.number(1, 41)});
}

}  // namespace tarn
