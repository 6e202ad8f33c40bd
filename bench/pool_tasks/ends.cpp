// How pools begin and end. "destroy": so many objects of 32 bytes with a destructor are made, then
// destroyed in random order: time, and what the pool holds of its source's memory before and after.
// "initialise": a pool for 256 MiB of blocks of 256 bytes, over memory that was never touched, with
// all of it taken at once: time, and pages that were touched for it.
//
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "../workloads/random.hpp"
#include "contestants.hpp"
#include "memory.hpp"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t memory_bytes = std::size_t{64} << 20;

std::uint64_t destroyed;

struct Object {
  std::uint64_t words[4] = {1, 2, 3, 4};
  ~Object() { destroyed += words[3]; }
};

// Objects in a contestant's blocks.
template <class Contestant>
class ObjectsIn {
 public:
  static constexpr const char* name = Contestant::name;
  ObjectsIn(std::size_t count, Memory& memory) : contestant_({sizeof(Object), count}, memory) {}
  Object* create() {
    return ::new (contestant_.allocate(sizeof(Object), alignof(Object))) Object();
  }
  void destroy(Object* object) {
    object->~Object();
    contestant_.deallocate(object, sizeof(Object), alignof(Object));
  }

 private:
  Contestant contestant_;
};

class TarnObjects {
 public:
  static constexpr const char* name = "tarn ObjectPool";
  TarnObjects(std::size_t, Memory& memory) : pool_(memory) {}
  Object* create() { return pool_.create(); }
  void destroy(Object* object) { pool_.destroy(object); }

 private:
  ObjectPool<Object> pool_;
};

template <class T>
class PeerObjectsOf {
 public:
  static constexpr const char* name = PeerObjects<T>::name;
  PeerObjectsOf(std::size_t, Memory& memory) : pool_(memory) {}
  T* create() { return pool_.create(); }
  void destroy(T* object) { pool_.destroy(object); }

 private:
  PeerObjects<T> pool_;
};

template <class Objects>
[[gnu::noinline]] void measured_destroy(Objects& objects, const std::vector<Object*>& order) {
  for (Object* const object : order) objects.destroy(object);
}

template <class Objects>
void destroy(WarmMemory& memory, std::size_t count) {
  memory.rewind();
  Objects objects(count, memory);
  std::vector<Object*> order;
  order.reserve(count);
  Random random(80);
  for (std::size_t at = 0; at < count; ++at) {
    order.push_back(objects.create());
    std::swap(order.back(), order[random.below(at + 1)]);
  }
  const auto full = static_cast<double>(memory.held_bytes());
  destroyed = 0;
  const double ns = ns_of([&] { measured_destroy(objects, order); });
  if (destroyed != 4 * count) fail("some objects were not destroyed");
  print("destroy", count, Objects::name,
        {{"ms", ns * 1e-6},
         {"each", ns / static_cast<double>(count)},
         {"full_bytes", full},
         {"empty_bytes", static_cast<double>(memory.held_bytes())}});
}

struct Destroy {
  WarmMemory& memory;
  std::size_t count;

  template <class Contestant>
  void run() const {
    if constexpr (std::is_same_v<Contestant, TarnPool>) {
      destroy<TarnObjects>(memory, count);
    } else if constexpr (Contestant::frees) {
      destroy<ObjectsIn<Contestant>>(memory, count);
    }
  }
};

constexpr std::size_t counts[] = {20'000, 40'000, 80'000, 160'000};

struct Initialise {
  static constexpr std::size_t bytes = std::size_t{256} << 20;
  static constexpr std::size_t block_bytes = 256;

  template <class Contestant>
  void run() const {
    if constexpr (Contestant::reserves) {
      ColdMemory memory;
      Contestant(Order{block_bytes, 1, true}, memory);  // So that the code has been touched,
      usage_now();                                      // this, too.
      std::optional<Contestant> contestant;
      const Usage before = usage_now();
      contestant.emplace(Order{block_bytes, bytes / block_bytes, true}, memory);
      const Usage used = usage_now() - before;
      print("initialise", bytes, Contestant::name,
            {{"us", used.wall * 1e6}, {"faults", static_cast<double>(used.minor_faults)}});
    }
  }
};

}  // namespace

void task_destroy(const Request& request) {
  WarmMemory memory(memory_bytes);
  for (const std::size_t count : counts) {
    if (count > request.size_max) break;
    in_turn<EveryContestant>(request, Destroy{memory, count});
  }
}

// Apart, since the time is quadratic.
void task_destroy_peer(const Request& request) {
  if constexpr (PeerObjects<Object>::is_there) {
    WarmMemory memory(memory_bytes);
    for (const std::size_t count : counts) {
      if (count <= request.size_max) destroy<PeerObjectsOf<Object>>(memory, count);
    }
  }
}

void task_initialise(const Request& request) { in_turn<Contestants>(request, Initialise{}); }

}  // namespace tarn
