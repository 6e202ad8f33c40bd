// tables: a heap with a class table of its own beside one with the common classes, in the same
// loop. A step frees a random one of the live blocks, allocates another and writes its first bytes.
// Then one block grows little by little, as an array does, and its moves are counted: the finer a
// table, the less it wastes and the more often such a block moves.
//
//   table:  0 the common classes | 1, 2, 4, 8 steps a doubling | 7 the seven hot sizes
//   sizes:  0 uniform, 1 to 1024 bytes | 1 seven hot sizes
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <vector>

#include "../meter/meter.hpp"
#include "../workloads/random.hpp"
#include "maker.hpp"
#include "task.hpp"

namespace tarn {
namespace {

constexpr std::size_t hot_sizes[] = {24, 72, 200, 396, 520, 768, 1000};
constexpr unsigned hot_table = 7;  // No ready-made one has so many steps.
constexpr std::size_t size_max = 1024;
constexpr std::size_t grown_bytes_max = 100000;

struct Functions {
  explicit Functions(const char* path) {
    void* const library = open_library(path);
    find(library, "tarn_heap_create", create);
    find(library, "tarn_heap_destroy", destroy);
    find(library, "tarn_heap_allocate", allocate);
    find(library, "tarn_heap_reallocate", reallocate);
    find(library, "tarn_heap_deallocate", deallocate);
    find(library, "tarn_heap_get_stats", get_stats);
    find(library, "tarn_class_table", class_table);
    find(library, "tarn_class_table_add", class_table_add);
  }
  decltype(&tarn_heap_create) create;
  decltype(&tarn_heap_destroy) destroy;
  decltype(&tarn_heap_allocate) allocate;
  decltype(&tarn_heap_reallocate) reallocate;
  decltype(&tarn_heap_deallocate) deallocate;
  decltype(&tarn_heap_get_stats) get_stats;
  decltype(&tarn_class_table) class_table;
  decltype(&tarn_class_table_add) class_table_add;
};

tarn_heap make_heap(const Functions& tarn, unsigned table) {
  std::array<std::size_t, TARN_HEAP_CLASSES_MAX> classes;
  std::size_t count = 0;
  if (table == hot_table) {
    classes[count++] = size_max;
    for (const std::size_t bytes : hot_sizes) {
      count = tarn.class_table_add(classes.data(), count, classes.size(), bytes);
    }
  } else if (table != 0) {
    count = tarn.class_table(table, TARN_HEAP_CLASS_GRAIN, TARN_HEAP_CLASS_BYTES_MAX,
                             TARN_HEAP_CLASS_GRAIN, classes.data(), classes.size());
  }
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.class_bytes = count == 0 ? nullptr : classes.data();
  options.class_count = count;
  const tarn_heap heap = tarn.create(&options);
  if (heap.record == nullptr || (count == 0 && table != 0)) fail("no heap of this table");
  return heap;
}

class Loop {
 public:
  Loop(const Functions& tarn, tarn_heap heap, std::size_t live, bool hot)
      : tarn_(tarn), heap_(heap), hot_(hot), slots_(live, nullptr), sizes_(live, 0) {
    for (std::size_t at = 0; at < live; ++at) put(at);
  }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t at = random_.below(slots_.size());
      tarn_.deallocate(slots_[at]);
      put(at);
    }
  }

  std::uint64_t asked_bytes() const {
    std::uint64_t sum = 0;
    for (const std::size_t bytes : sizes_) sum += bytes;
    return sum;
  }

 private:
  void put(std::size_t at) {
    const std::size_t bytes =
        hot_ ? hot_sizes[random_.below(std::size(hot_sizes))] : random_.between(1, size_max);
    slots_[at] = tarn_.allocate(heap_, bytes);
    if (slots_[at] == nullptr) fail("out of memory: use a smaller size");
    *static_cast<volatile unsigned char*>(slots_[at]) = 1;
    sizes_[at] = bytes;
  }

  const Functions& tarn_;
  tarn_heap heap_;
  bool hot_;
  Random random_{1};
  std::vector<void*> slots_;
  std::vector<std::size_t> sizes_;
};

// How often a block moves that grows by a 64th, or by 16 bytes where that is more, at a time.
double count_moves(const Functions& tarn, tarn_heap heap) {
  double moves = 0;
  void* p = tarn.allocate(heap, 16);
  for (std::size_t bytes = 32; bytes < grown_bytes_max; bytes += std::max(bytes / 64, 16ul)) {
    void* const grown = tarn.reallocate(heap, p, bytes);
    if (grown == nullptr) fail("out of memory");
    moves += grown != p;
    p = grown;
  }
  tarn.deallocate(p);
  return moves;
}

void measure(const Functions& tarn, unsigned table, std::size_t steps, std::size_t live, bool hot) {
  const tarn_heap heap = make_heap(tarn, table);
  Loop loop(tarn, heap, live, hot);
  loop.run(steps / 5);
  double best = 1e9;
  for (int slice = 0; slice < 10; ++slice) {  // The least disturbed tenth.
    const Usage start = usage_now();
    loop.run(steps / 10);
    best = std::min(best, (usage_now() - start).cpu);
  }
  tarn_heap_stats stats = TARN_HEAP_STATS();
  if (tarn.get_stats(heap, &stats) != 0) fail("no statistics");
  const tarn_heap growing = make_heap(tarn, table);
  const double moves = table == hot_table ? 0 : count_moves(tarn, growing);
  tarn.destroy(growing);
  print({{"step_ns", best / static_cast<double>(steps / 10) * 1e9},
         {"asked_bytes", static_cast<double>(loop.asked_bytes())},
         {"live_bytes", static_cast<double>(stats.live_bytes)},
         {"committed_bytes", static_cast<double>(stats.committed_bytes)},
         {"moves", moves}});
  tarn.destroy(heap);
}

}  // namespace

bool task_tables(const Request& request) {
  if (request.maker != "tarn") return false;
  const Functions tarn(request.library);
  measure(tarn, static_cast<unsigned>(request.number(0, 0)), request.number(1, 5000000),
          request.number(2, 20000), request.number(3, 0) != 0);
  return true;
}

}  // namespace tarn
