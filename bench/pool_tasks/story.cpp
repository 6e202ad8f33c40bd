// S1.9's story: 20,000 objects of 12 to 28 bytes, every other one freed, which leaves 10,000 holes;
// then requests of 512 bytes, 64 of which live at a time. "story_clean" is without the objects.
// Figures: nanoseconds a request, and of the first 200, when a heap may have to look through its
// holes; memory in use when the objects are there, when every other one is freed, after the
// requests, when all is freed, and after a trim. One contestant a process, please.
//
// SPDX-License-Identifier: MIT
#include <array>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <tuple>
#include <vector>

#include "../workloads/random.hpp"
#include "contestants.hpp"
#include "memory.hpp"
#include "tarn/tarn.h"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t object_count = 20'000;
constexpr std::size_t object_bytes_max = 28;
constexpr std::size_t request_bytes = 512;
constexpr std::size_t request_count = 200'000;
constexpr std::size_t live_requests = 64;

class PlainMalloc {
 public:
  static constexpr const char* name = "malloc";
  void* allocate(std::size_t bytes) { return std::malloc(bytes); }
  void deallocate(void* p, std::size_t) { std::free(p); }
};

// S1.11: a list of free blocks for each size in front of malloc. It never gives any back.
class ListedMalloc {
 public:
  static constexpr const char* name = "free lists before malloc";
  void* allocate(std::size_t bytes) {
    Link*& head = list_of(bytes);
    Link* const block = head;
    if (block == nullptr) return std::malloc(bytes == request_bytes ? bytes : object_bytes_max);
    head = block->next;
    return block;
  }
  void deallocate(void* p, std::size_t bytes) {
    Link*& head = list_of(bytes);
    auto* const block = static_cast<Link*>(p);
    block->next = head;
    head = block;
  }

 private:
  struct Link {
    Link* next;
  };
  Link*& list_of(std::size_t bytes) { return bytes == request_bytes ? requests_ : objects_; }

  Link* objects_ = nullptr;
  Link* requests_ = nullptr;
};

class Pools {
 public:
  static constexpr const char* name = "tarn Pool";
  void* allocate(std::size_t bytes) { return pool_of(bytes).allocate(); }
  void deallocate(void* p, std::size_t bytes) { pool_of(bytes).deallocate(p); }

 private:
  Pool& pool_of(std::size_t bytes) { return bytes == request_bytes ? requests_ : objects_; }

  Pool objects_{object_bytes_max};
  Pool requests_{request_bytes};
};

class OneHeap {
 public:
  static constexpr const char* name = "tarn Heap";
  void* allocate(std::size_t bytes) { return heap_.allocate(bytes); }
  void deallocate(void* p, std::size_t) { heap_.deallocate(p); }

 private:
  Heap heap_;
};

using Makers = std::tuple<PlainMalloc, ListedMalloc, Pools, OneHeap>;

struct Object {
  void* p;
  std::size_t bytes;
};

template <class Maker>
[[gnu::noinline]] void measured_requests(Maker& maker, std::array<void*, live_requests>& live,
                                         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    void*& slot = live[i % live_requests];
    maker.deallocate(slot, request_bytes);
    keep(maker);
    slot = maker.allocate(request_bytes);
    *static_cast<std::size_t*>(slot) = i;
  }
}

struct Story {
  bool has_objects;

  template <class Maker>
  void run() const {
    const std::size_t count = has_objects ? object_count : 0;
    Maker maker;
    std::array<void*, live_requests> live;
    auto* const objects = static_cast<Object*>(reserve(object_count * sizeof(Object)));
    ns_of([] {});  // The clock is warm, too.
    const auto bytes = [before = footprint().resident_bytes] {
      return static_cast<double>(footprint().resident_bytes) - static_cast<double>(before);
    };
    Random random(19);
    for (std::size_t at = 0; at < count; ++at) {
      objects[at].bytes = random.between(12, object_bytes_max);
      objects[at].p = maker.allocate(objects[at].bytes);
      *static_cast<std::size_t*>(objects[at].p) = at;
    }
    const double built = bytes();
    for (std::size_t at = 0; at < count; at += 2) free(maker, objects[at]);
    const double holed = bytes();
    for (void*& slot : live) {
      slot = maker.allocate(request_bytes);
      *static_cast<std::size_t*>(slot) = 0;
    }
    const double first = ns_of([&] { measured_requests(maker, live, request_count / 1000); });
    const double all = ns_of([&] { measured_requests(maker, live, request_count); });
    const double served = bytes();
    for (std::size_t at = 1; at < count; at += 2) free(maker, objects[at]);
    for (void* const slot : live) maker.deallocate(slot, request_bytes);
    const double ended = bytes();
    malloc_trim(0);
    tarn_malloc_trim(0);
    print(has_objects ? "story" : "story_clean", request_count, Maker::name,
          {{"first", first / (request_count / 1000)},
           {"each", all / request_count},
           {"built_bytes", built},
           {"holed_bytes", holed},
           {"served_bytes", served},
           {"ended_bytes", ended},
           {"trimmed_bytes", bytes()}});
  }

  template <class Maker>
  static void free(Maker& maker, const Object& object) {
    maker.deallocate(object.p, object.bytes);
  }
};

}  // namespace

void task_story(const Request& request) { in_turn<Makers>(request, Story{true}); }
void task_story_clean(const Request& request) { in_turn<Makers>(request, Story{false}); }

}  // namespace tarn
