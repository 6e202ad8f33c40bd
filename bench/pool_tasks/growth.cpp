// Lists grown, walked and cleared (S3.8), n = 10^3 ... 10^6. Each figure is nanoseconds an element.
//
//   fresh      a new contestant over warm memory
//   regrown    the same one, after the list was cleared
//   scattered  the same one, after n blocks were freed in random order (forward_list only)
//
// What is printed is the median of some repetitions, after one that does not count. malloc has a
// task of its own, which is run with others preloaded: there is one in a process, so that nothing
// is fresh there, and what was scattered stays so.
//
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <list>
#include <utility>
#include <vector>

#include "../workloads/random.hpp"
#include "contestants.hpp"
#include "count.hpp"
#include "memory.hpp"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t memory_bytes = std::size_t{192} << 20;
constexpr std::size_t malloc_memory_bytes = std::size_t{64} << 20;  // Bump's, and tarn's pool's.
constexpr std::size_t small_memory_bytes = std::size_t{8} << 20;

template <class T, class Contestant>
class Allocator {
 public:
  using value_type = T;
  explicit Allocator(Contestant& contestant) : contestant_(&contestant) {}
  template <class U>
  Allocator(const Allocator<U, Contestant>& other) : contestant_(other.contestant()) {}

  T* allocate(std::size_t) { return static_cast<T*>(contestant_->allocate(sizeof(T), alignof(T))); }
  void deallocate(T* p, std::size_t) { contestant_->deallocate(p, sizeof(T), alignof(T)); }
  Contestant* contestant() const { return contestant_; }
  bool operator==(const Allocator& other) const { return contestant_ == other.contestant_; }

 private:
  Contestant* contestant_;
};

// What a container is given of a contestant: a pointer to it, or the contestant's own allocator.
template <class T, class Contestant>
struct AllocatorOf {
  using Type = Allocator<T, Contestant>;
  static Type make(Contestant& contestant) { return Type(contestant); }
};
template <class T, class Lock>
struct AllocatorOf<T, TarnArrayAllocatorOf<Lock>> {
  using Type = typename TarnArrayAllocatorOf<Lock>::template Allocator<T>;
  static Type make(TarnArrayAllocatorOf<Lock>&) { return {}; }
};

struct Forward {
  static constexpr const char* name = "forward_list";
  static constexpr const char* count_name = "count_forward_list";
  static constexpr bool is_scattered = true;
  struct Node {
    void* next;
    int value;
  };
  template <class Contestant>
  using List = std::forward_list<int, typename AllocatorOf<int, Contestant>::Type>;
  template <class List>
  [[gnu::always_inline]] static void push(List& list, int value) {
    list.push_front(value);
  }
};

struct Double {
  static constexpr const char* name = "list";
  static constexpr const char* count_name = "count_list";
  static constexpr bool is_scattered = false;
  struct Node {
    void* links[2];
    int value;
  };
  template <class Contestant>
  using List = std::list<int, typename AllocatorOf<int, Contestant>::Type>;
  template <class List>
  [[gnu::always_inline]] static void push(List& list, int value) {
    list.push_back(value);
  }
};

// What is measured: look at it with objdump. The list is a local variable, as it is where lists are
// grown: its head may be in a register.
template <class Kind, class List>
[[gnu::noinline]] void measured_push(List& result, std::size_t n) {
  List list(result.get_allocator());
  for (std::size_t i = 0; i < n; ++i) Kind::push(list, static_cast<int>(i));
  result = std::move(list);
}

template <class List>
[[gnu::noinline]] void measured_walk(const List& list) {
  std::uint64_t sum = 0;
  for (const int value : list) sum += static_cast<unsigned>(value);
  keep(sum);
}

template <class List, class Contestant>
[[gnu::noinline]] void measured_clear(List& list, Contestant& contestant) {
  list.clear();
  contestant.all_freed();
  keep(list);
}

template <class Contestant>
[[gnu::noinline]] void measured_frees(Contestant& contestant, const std::vector<void*>& blocks,
                                      std::size_t bytes) {
  for (void* const block : blocks) contestant.deallocate(block, bytes, alignof(void*));
  contestant.all_freed();
  keep(contestant);
}

// A list's life, three times at most.
struct Phase {
  std::vector<double> push, walk, clear;

  template <class Kind, class List, class Contestant>
  void run(List& list, Contestant& contestant, std::size_t n) {
    push.push_back(ns_of([&] { measured_push<Kind>(list, n); }));
    walk.push_back(ns_of([&] { measured_walk(list); }));
    clear.push_back(ns_of([&] { measured_clear(list, contestant); }));
  }
};

constexpr std::size_t scattered_once_above = 100'000;  // It takes long.

template <class Kind>
struct Growth {
  WarmMemory& memory;
  const std::vector<std::uint32_t>& shuffled;  // 0 ... n - 1, in random order.
  std::size_t repetitions;

  template <class Contestant>
  void run() const {
    const std::size_t n = shuffled.size();
    Phase fresh, regrown, scattered;
    std::vector<double> frees;
    std::vector<void*> blocks(n), order(n);
    for (std::size_t i = 0; i <= repetitions; ++i) {
      if (i == 1) {  // The first was for warmth.
        fresh = regrown = scattered = Phase{};
        frees.clear();
      }
      memory.rewind();
      Contestant contestant({sizeof(typename Kind::Node), n}, memory);
      typename Kind::template List<Contestant> list{AllocatorOf<int, Contestant>::make(contestant)};
      fresh.run<Kind>(list, contestant, n);
      regrown.run<Kind>(list, contestant, n);
      if (!Kind::is_scattered || !Contestant::frees) continue;
      if (n > scattered_once_above && i < repetitions) continue;
      for (void*& block : blocks) {
        block = contestant.allocate(sizeof(typename Kind::Node), alignof(void*));
        static_cast<typename Kind::Node*>(block)->value = 1;
      }
      for (std::size_t at = 0; at < n; ++at) order[at] = blocks[shuffled[at]];
      frees.push_back(
          ns_of([&] { measured_frees(contestant, order, sizeof(typename Kind::Node)); }));
      scattered.run<Kind>(list, contestant, n);
    }
    const auto each = [&](const std::vector<double>& times) {
      return median(times) / static_cast<double>(n);
    };
    print(Kind::name, n, Contestant::name,
          {{"fresh", each(fresh.push)},
           {"fresh_walk", each(fresh.walk)},
           {"fresh_clear", each(fresh.clear)},
           {"regrown", each(regrown.push)},
           {"regrown_walk", each(regrown.walk)},
           {"regrown_clear", each(regrown.clear)},
           {"random_frees", each(frees)},
           {"scattered", each(scattered.push)},
           {"scattered_walk", each(scattered.walk)}});
  }
};

std::vector<std::uint32_t> shuffled_numbers(std::size_t n) {
  std::vector<std::uint32_t> numbers(n);
  Random random(38);
  for (std::size_t at = 0; at < n; ++at) {
    const std::size_t other = random.below(at + 1);
    numbers[at] = numbers[other];
    numbers[other] = static_cast<std::uint32_t>(at);
  }
  return numbers;
}

struct Size {
  std::size_t n;
  std::size_t repetitions;
};

constexpr Size sizes[] = {{1'000, 33}, {10'000, 17}, {100'000, 5}, {1'000'000, 3}};

// As Growth, for what there is one of in a process: the first growth is for warmth.
template <class Kind>
struct Regrowth {
  WarmMemory& memory;
  Size size;
  bool is_scattered;  // Then nothing else is measured.

  template <class Contestant>
  void run() const {
    const std::size_t n = size.n;
    memory.rewind();
    Contestant contestant({sizeof(typename Kind::Node), n}, memory);
    typename Kind::template List<Contestant> list{AllocatorOf<int, Contestant>::make(contestant)};
    Phase first, regrown;
    first.run<Kind>(list, contestant, n);
    if (is_scattered) scatter(contestant, n);
    for (std::size_t i = 0; i < size.repetitions; ++i) regrown.run<Kind>(list, contestant, n);
    const auto each = [&](const std::vector<double>& times) {
      return median(times) / static_cast<double>(n);
    };
    if (is_scattered) {
      print(Kind::name, n, Contestant::name,
            {{"scattered", each(regrown.push)}, {"scattered_walk", each(regrown.walk)}});
    } else {
      print(Kind::name, n, Contestant::name,
            {{"regrown", each(regrown.push)},
             {"regrown_walk", each(regrown.walk)},
             {"regrown_clear", each(regrown.clear)}});
    }
  }

  template <class Contestant>
  void scatter(Contestant& contestant, std::size_t n) const {
    std::vector<void*> blocks(n), order;
    for (void*& block : blocks) {
      block = contestant.allocate(sizeof(typename Kind::Node), alignof(void*));
    }
    for (const std::uint32_t at : shuffled_numbers(n)) order.push_back(blocks[at]);
    measured_frees(contestant, order, sizeof(typename Kind::Node));
  }
};

template <class Kind>
struct Count {
  static constexpr std::size_t n = 128;  // A step takes long.

  template <class Contestant>
  void run() const {
    WarmMemory memory(small_memory_bytes);
    Contestant contestant({sizeof(typename Kind::Node), n}, memory);
    typename Kind::template List<Contestant> list{AllocatorOf<int, Contestant>::make(contestant)};
    measured_push<Kind>(list, n);
    measured_clear(list, contestant);
    const double pushed = instructions_of([&] { measured_push<Kind>(list, n); }) -
                          instructions_of([&] { measured_push<Kind>(list, 0); });
    measured_push<Kind>(list, n);
    const double cleared = instructions_of([&] { measured_clear(list, contestant); });
    print(Kind::count_name, n, Contestant::name,
          {{"push", pushed / static_cast<double>(n)}, {"clear", cleared / static_cast<double>(n)}});
  }
};

}  // namespace

void task_growth(const Request& request) {
  WarmMemory memory(memory_bytes);
  for (const Size size : sizes) {
    if (size.n > request.size_max) break;
    const std::vector<std::uint32_t> shuffled = shuffled_numbers(size.n);
    in_turn<ListContestants>(request, Growth<Forward>{memory, shuffled, size.repetitions});
    in_turn<ListContestants>(request, Growth<Double>{memory, shuffled, size.repetitions});
  }
}

void task_malloc(const Request& request) {
  WarmMemory memory(malloc_memory_bytes);
  for (const Size size : sizes) {
    if (size.n > request.size_max) break;
    in_turn<EveryListContestant>(request, Regrowth<Forward>{memory, size, false});
    in_turn<EveryListContestant>(request, Regrowth<Double>{memory, size, false});
  }
}

// Apart, since a malloc that was scattered stays so.
void task_scattered(const Request& request) {
  WarmMemory memory(small_memory_bytes);
  for (const Size size : sizes) {
    if (size.n > request.size_max || size.n > scattered_once_above) break;
    in_turn<EveryListContestant>(request, Regrowth<Forward>{memory, size, true});
  }
}

void count_growth(const Request& request) {
  in_turn<EveryListContestant>(request, Count<Forward>{});
  in_turn<EveryListContestant>(request, Count<Double>{});
}

}  // namespace tarn
