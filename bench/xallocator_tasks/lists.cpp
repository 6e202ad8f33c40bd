// own, own_two: threads build lists of 1,000 blocks of one size and free them, each its own;
// handed: one thread builds the lists, another frees them; pair: one block comes and goes. `number`
// is how many lists each thread builds for each size.
//
// Nanoseconds a block (allocated, its first word written, read, freed), the median of seven goes:
// of the processor, or by the clock on the wall where a thread waits for another.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <thread>

#include "../meter/process.h"
#include "tarn/heap/malloc.h"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t list_length = 1000;
constexpr int goes = 7;

struct Size {
  const char* name;
  std::size_t bytes;
};
constexpr Size sizes[] = {{"ns_8", 8},     {"ns_16", 16},   {"ns_24", 24},   {"ns_48", 48},
                          {"ns_100", 100}, {"ns_256", 256}, {"ns_500", 500}, {"ns_1024", 1024}};

struct TarnMalloc {
  static void* allocate(std::size_t bytes) { return tarn_malloc(bytes); }
  static void deallocate(void* p, std::size_t) { tarn_free(p); }
};

struct Node {
  Node* next;
};

template <class Memory>
Node* build(std::size_t bytes) {
  Node* list = nullptr;
  for (std::size_t i = 0; i < list_length; ++i) {
    auto* const node = static_cast<Node*>(Memory::allocate(bytes));
    if (node == nullptr) std::exit(no_memory);
    node->next = list;
    list = node;
  }
  return list;
}

template <class Memory>
void clear(Node* list, std::size_t bytes) {
  while (list != nullptr) {
    Node* const node = list;
    list = node->next;
    Memory::deallocate(node, bytes);
  }
}

// Lists on their way from one thread to the other, each in the place of its number.
class Belt {
 public:
  void put(std::size_t number, Node* list) {
    std::atomic<Node*>& place = places_[number % places];
    while (place.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
    place.store(list, std::memory_order_release);
  }
  Node* take(std::size_t number) {
    std::atomic<Node*>& place = places_[number % places];
    Node* list = nullptr;
    while ((list = place.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
    place.store(nullptr, std::memory_order_release);
    return list;
  }

 private:
  static constexpr std::size_t places = 4;
  std::atomic<Node*> places_[places]{};
};

template <class Memory>
double own(std::size_t bytes, std::size_t lists) {
  const double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (std::size_t i = 0; i < lists; ++i) clear<Memory>(build<Memory>(bytes), bytes);
  return now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

template <class Memory>
double own_two(std::size_t bytes, std::size_t lists) {
  double other = 0;
  std::thread thread([&] { other = own<Memory>(bytes, lists); });
  const double here = own<Memory>(bytes, lists);
  thread.join();
  return (here + other) / 2;
}

template <class Memory>
double handed(std::size_t bytes, std::size_t lists) {
  Belt belt;
  const double begin = now_ns(CLOCK_MONOTONIC);
  std::thread thread([&] {
    for (std::size_t i = 0; i < lists; ++i) clear<Memory>(belt.take(i), bytes);
  });
  for (std::size_t i = 0; i < lists; ++i) belt.put(i, build<Memory>(bytes));
  thread.join();
  return now_ns(CLOCK_MONOTONIC) - begin;
}

template <class Memory>
double pair(std::size_t bytes, std::size_t lists) {
  const double begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
  for (std::size_t i = 0; i < lists * list_length; ++i) {
    auto* volatile node = static_cast<Node*>(Memory::allocate(bytes));
    if (node == nullptr) std::exit(no_memory);
    Memory::deallocate(node, bytes);
  }
  return now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

using Measure = double (*)(std::size_t bytes, std::size_t lists);

void measure(Measure once, std::size_t lists) {
  std::vector<Figure> found;
  for (const Size& size : sizes) {
    std::vector<double> took;
    for (int go = 0; go < goes; ++go) {
      took.push_back(once(size.bytes, lists) / static_cast<double>(lists * list_length));
    }
    found.push_back({size.name, median(took)});
  }
  print(found);
}

bool run(std::string_view contestant, std::size_t lists, Measure malloc, Measure tarn_malloc,
         Measure xmalloc) {
  if (contestant == "malloc") {
    measure(malloc, lists);
  } else if (contestant == "tarn_malloc") {
    measure(tarn_malloc, lists);
  } else if (contestant == "xmalloc") {
    measure(xmalloc, lists);
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool task_own(std::string_view contestant, std::size_t number) {
  return run(contestant, number, own<Malloc>, own<TarnMalloc>, own<Xmalloc>);
}
bool task_own_two(std::string_view contestant, std::size_t number) {
  return run(contestant, number, own_two<Malloc>, own_two<TarnMalloc>, own_two<Xmalloc>);
}
bool task_handed(std::string_view contestant, std::size_t number) {
  return run(contestant, number, handed<Malloc>, handed<TarnMalloc>, handed<Xmalloc>);
}
bool task_pair(std::string_view contestant, std::size_t number) {
  return run(contestant, number, pair<Malloc>, pair<TarnMalloc>, pair<Xmalloc>);
}

}  // namespace tarn
