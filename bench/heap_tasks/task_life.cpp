// create: what it costs to make a heap and to end it, per heap. many: what a live heap with a few
// blocks weighs.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "../meter/meter.hpp"
#include "../workloads/random.hpp"
#include "maker.hpp"
#include "task.hpp"

namespace tarn {
namespace {

struct Create {
  std::size_t heaps, blocks, alive;

  template <class Maker>
  void run() const {
    std::vector<typename Maker::Heap> batch(alive);
    go<Maker>(batch, std::min<std::size_t>(heaps, 10 * alive));  // Warm.
    const Usage before = usage_now();
    go<Maker>(batch, heaps);
    const Usage used = usage_now() - before;
    const double count = static_cast<double>(heaps);
    print({{"ns", used.wall / count * 1e9}, {"cpu_ns", used.cpu / count * 1e9}});
  }

  template <class Maker>
  void go(std::vector<typename Maker::Heap>& batch, std::size_t count) const {
    for (std::size_t done = 0; done < count; done += batch.size()) {
      for (auto& heap : batch) {
        heap = Maker::create();
        for (std::size_t i = 0; i < blocks; ++i) std::memset(take<Maker>(heap, 32), 1, 32);
      }
      for (auto& heap : batch) Maker::destroy(heap);
    }
  }
};

constexpr std::size_t size_count = 10;

// "32": ten of 32 bytes. "51", "16": their first ten multiples. "doubled": 16, 32, 48, 64, 96, ...
// 512 (steps of two in each doubling). "random": ten different sizes of 1..512, other ones in each
// heap; "same-random": the same ones in each. A heap of more blocks has these sizes again.
class Sizes {
 public:
  Sizes(std::string_view kind, std::uint64_t seed) : kind_(kind), random_(seed) { draw(); }

  std::size_t operator[](std::size_t at) const { return sizes_[at % size_count]; }
  void next_heap() {
    if (kind_ == "random") draw();
  }

 private:
  void draw() {
    static constexpr std::size_t doubled[] = {16, 32, 48, 64, 96, 128, 192, 256, 384, 512};
    for (std::size_t i = 0; i < size_count; ++i) {
      if (kind_ == "32")
        sizes_[i] = 32;
      else if (kind_ == "51")
        sizes_[i] = 51 * (i + 1);
      else if (kind_ == "16")
        sizes_[i] = 16 * (i + 1);
      else if (kind_ == "doubled")
        sizes_[i] = doubled[i];
      else if (kind_ == "random" || kind_ == "same-random")
        sizes_[i] = draw_new(i);
      else
        fail("no such sizes: 32, 51, 16, doubled, random, same-random");
    }
  }

  std::size_t draw_new(std::size_t at) {
    std::size_t size = 0;
    do {
      size = random_.between(1, 512);
    } while (std::find(sizes_, sizes_ + at, size) != sizes_ + at);
    return size;
  }

  std::string_view kind_;
  Random random_;
  std::size_t sizes_[size_count] = {};
};

struct Many {
  std::size_t heaps;
  std::string_view kind;
  std::size_t blocks;

  template <class Maker>
  void run() const {
    using Heap = typename Maker::Heap;
    auto* const made = static_cast<Heap*>(reserve(heaps * sizeof(Heap)));
    Maker::destroy(Maker::create());
    Sizes sizes(kind, 1);
    std::uint64_t asked = 0;
    const Footprint empty = footprint();
    const Usage before = usage_now();
    for (std::size_t at = 0; at < heaps; ++at) {
      made[at] = Maker::create();
      for (std::size_t i = 0; i < blocks; ++i) {
        std::memset(take<Maker>(made[at], sizes[i]), 1, sizes[i]);
        asked += sizes[i];
      }
      sizes.next_heap();
    }
    const Usage filled = usage_now();
    const Footprint full = footprint();
    const Usage ending = usage_now();
    for (std::size_t at = 0; at < heaps; ++at) Maker::destroy(made[at]);
    const Usage end = usage_now();
    const double count = static_cast<double>(heaps);
    const auto more = static_cast<double>(full.resident_bytes - empty.resident_bytes);
    print({{"bytes", more / count},
           {"asked", static_cast<double>(asked) / count},
           {"fill_ns", (filled.wall - before.wall) / count * 1e9},
           {"destroy_ns", (end.wall - ending.wall) / count * 1e9}});
  }
};

}  // namespace

bool task_create(const Request& request) {
  return with_maker(request.maker, request.library,
                    Create{request.number(0, 1000000), request.number(1, 0), request.number(2, 1)});
}

bool task_many(const Request& request) {
  return with_maker(request.maker, request.library,
                    Many{request.number(0, 100000), request.word(1, "32"), request.number(2, 10)});
}

}  // namespace tarn
