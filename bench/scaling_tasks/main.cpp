// scaling SERIES POINT [SEED]: what a block costs as one thing grows and all others stay. malloc is
// whatever the process has (LD_PRELOAD).
//
//   live MIB        so many MiB in blocks of 16 to 1,023 bytes, of which random ones are replaced
//   size BYTES      blocks of one size, 64 of them or 64 MiB or one; a random one is replaced
//   threads N       N threads with a MiB each; every eighth block goes to others, who free it
//   uptime PERIODS  a server of 32 MiB, with requests of another mix of sizes in each period
//   heaps N         N of tarn's heaps with four blocks each; status 3 where the process has none
//
// Two million blocks are replaced, fewer of large ones. ns: processor time of all threads for one
// deallocation and one allocation, of which the program writes both ends. overhead: what blocks and
// records have resident, over what was asked for and is live, at the end (size: 64 MiB or one block
// are written first). uptime has a list of each, a figure a period.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <thread>
#include <vector>

#include "../heap_tasks/maker.hpp"
#include "../meter/figures.hpp"
#include "../meter/meter.hpp"
#include "../workloads/random.hpp"

namespace tarn {
namespace {

constexpr int lacking = 3;
constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t replacements = 2'000'000;

struct Block {
  char* start;
  std::size_t bytes;
};

// Zeros that no allocator sees, resident at once.
template <class T>
T* table(std::size_t count) {
  return static_cast<T*>(std::memset(reserve(count * sizeof(T), 0), 0, count * sizeof(T)));
}

Block taken(void* p, std::size_t bytes) {
  if (p == nullptr) fail("out of memory");
  char* const start = static_cast<char*>(p);
  start[0] = start[bytes - 1] = 1;
  return {start, bytes};
}

Block take(std::size_t bytes) { return taken(std::malloc(bytes), bytes); }

std::size_t small_size(Random& random) { return random.log_size(16, 6); }

double cpu_ns() { return now_ns(CLOCK_PROCESS_CPUTIME_ID); }

// What is resident of anonymous memory beyond `before`.
double bytes_since(const Footprint& before) {
  return static_cast<double>(footprint().resident_bytes) -
         static_cast<double>(before.resident_bytes);
}

double overhead(const Footprint& before, std::size_t live) {
  return bytes_since(before) / static_cast<double>(live);
}

// Blocks of small sizes, of so many bytes together.
class Population {
 public:
  explicit Population(std::size_t bytes) : blocks_(table<Block>(bytes / 128 + 16)) {}

  void fill(std::size_t bytes, Random& random) {
    while (live_ < bytes) {
      blocks_[count_] = take(small_size(random));
      live_ += blocks_[count_++].bytes;
    }
  }
  // Calls give(start) with the old block.
  template <class Give>
  void replace(Random& random, Give give) {
    Block& block = blocks_[random.below(count_)];
    give(block.start);
    live_ -= block.bytes;
    block = take(small_size(random));
    live_ += block.bytes;
  }
  std::size_t count() const { return count_; }
  std::size_t live() const { return live_; }

 private:
  Block* blocks_;
  std::size_t count_ = 0;
  std::size_t live_ = 0;
};

void live(std::size_t point, std::uint64_t seed) {
  Random random(seed);
  const std::size_t bytes = point * mib;
  Population blocks(bytes);
  const Footprint before = footprint();
  const double start = cpu_ns();
  blocks.fill(bytes, random);
  const double filled = cpu_ns();
  for (std::size_t i = 0; i < replacements; ++i) blocks.replace(random, std::free);
  const double replaced = cpu_ns();
  print({{"ns", (replaced - filled) / replacements},
         {"fill_ns", (filled - start) / static_cast<double>(blocks.count())},
         {"overhead", overhead(before, blocks.live())}});
}

void size(std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  const std::size_t most = 64 * mib;
  const std::size_t steps = std::clamp<std::size_t>((mib << 17) / bytes, 2'000, replacements);
  const std::size_t count = std::max<std::size_t>(most / bytes, 1);
  const std::size_t ring = std::min<std::size_t>(count, 64);
  Block* const blocks = table<Block>(count);
  const Footprint before = footprint();

  for (std::size_t i = 0; i < ring; ++i) blocks[i] = take(bytes);
  const double start = cpu_ns();
  for (std::size_t i = 0; i < steps; ++i) {
    Block& block = blocks[random.below(ring)];
    std::free(block.start);
    block = take(bytes);
  }
  const double ns = (cpu_ns() - start) / static_cast<double>(steps);
  for (std::size_t i = 0; i < ring; ++i) std::free(blocks[i].start);

  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = take(bytes);
    std::memset(blocks[i].start, 1, bytes);
  }
  print({{"ns", ns}, {"overhead", overhead(before, count * bytes)}});
}

struct Crowd {
  static constexpr std::size_t places_count = 1024;
  std::atomic<char*> places[places_count] = {};
  std::atomic<std::size_t> live{0};
  std::atomic<unsigned> done{0};
};

void threads(std::size_t count, std::uint64_t seed) {
  static Crowd crowd;
  std::vector<std::thread> crew;
  std::vector<Population> populations;
  for (std::size_t i = 0; i < count; ++i) populations.emplace_back(mib);
  const Footprint before = footprint();
  const std::size_t steps = replacements / count;
  std::atomic<double> work_ns{0};
  for (std::size_t i = 0; i < count; ++i) {
    crew.emplace_back([&, i] {
      Random random(seed * 1000 + i);
      Population& blocks = populations[i];
      blocks.fill(mib, random);
      const double start = now_ns(CLOCK_THREAD_CPUTIME_ID);
      for (std::size_t step = 0; step < steps; ++step) {
        if (step % 8 == 0) {
          std::atomic<char*>& place = crowd.places[random.below(Crowd::places_count)];
          blocks.replace(random, [&](char* block) {
            std::free(place.exchange(block, std::memory_order_acq_rel));
          });
        } else {
          blocks.replace(random, std::free);
        }
      }
      work_ns.fetch_add(now_ns(CLOCK_THREAD_CPUTIME_ID) - start);
      crowd.live.fetch_add(blocks.live());
      crowd.done.fetch_add(1);
      while (crowd.done.load() <= count) std::this_thread::yield();  // Nobody ends before.
    });
  }
  while (crowd.done.load() < count) std::this_thread::yield();
  const double found = overhead(before, crowd.live.load());
  crowd.done.fetch_add(1);
  for (std::thread& each : crew) each.join();
  print({{"ns", work_ns.load() / static_cast<double>(steps * count)}, {"overhead", found}});
}

// What a period's requests ask for: three ranges of sizes, of which one is asked for most.
class Traffic {
 public:
  explicit Traffic(Random& random) : favourite_(random.below(ranges)) {
    for (std::size_t& low : lows_) low = random.log_size(16, 8);
  }
  std::size_t size(Random& random) const {
    const std::uint64_t bits = random.below(8);
    const std::size_t low = lows_[bits < ranges ? bits : favourite_];
    return random.between(low, low + low / 2);
  }

 private:
  static constexpr std::uint64_t ranges = 3;
  std::uint64_t favourite_;
  std::size_t lows_[ranges] = {};
};

// Kept blocks go in any order, others with their request; large ones come once in a while.
class Server {
 public:
  void period(Random& random) {
    const Traffic traffic(random);
    for (std::size_t request = 0; request < requests; ++request) {
      for (Block& each : own_) each = take(traffic.size(random));
      keep(traffic.size(random), random);
      if (request % 512 == 0) keep(random.log_size(32 << 10, 4), random);
      for (const Block& each : own_) std::free(each.start);
    }
  }
  std::size_t live() const { return live_; }
  static constexpr std::size_t requests = 20'000;
  static constexpr std::size_t pairs = requests * 9 + requests / 512;

 private:
  void keep(std::size_t bytes, Random& random) {
    kept_[count_++] = take(bytes);
    live_ += bytes;
    while (live_ > 32 * mib) {
      Block& block = kept_[random.below(count_)];
      std::free(block.start);
      live_ -= block.bytes;
      block = kept_[--count_];
    }
  }
  Block own_[8] = {};
  Block* const kept_ = table<Block>(32 * mib / 16 + 16);
  std::size_t count_ = 0;
  std::size_t live_ = 0;
};

void print_list(const char* name, const double* values, std::size_t count, const char* end) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < count; ++i) std::printf("%s%.9g", i == 0 ? "" : ", ", values[i]);
  std::printf("]%s", end);
}

void uptime(std::size_t periods, std::uint64_t seed) {
  Random random(seed);
  Server server;
  double* const ns = table<double>(periods);
  double* const memory = table<double>(periods);
  const Footprint before = footprint();
  for (std::size_t period = 0; period < periods; ++period) {
    const double start = cpu_ns();
    server.period(random);
    ns[period] = (cpu_ns() - start) / static_cast<double>(Server::pairs);
    memory[period] = overhead(before, server.live());
  }
  std::printf("{");
  print_list("ns", ns, periods, ", ");
  print_list("overhead", memory, periods, "}\n");
}

void heaps(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t blocks_each = 4;
  using Maker = TarnHeaps<TARN_HEAP_SHARED>;
  if (dlsym(RTLD_DEFAULT, "tarn_heap_create") == nullptr) std::exit(lacking);
  Maker::open(nullptr);  // What is preloaded.
  Random random(seed);
  tarn_heap* const made = table<tarn_heap>(count);
  Block* const blocks = table<Block>(count * blocks_each);
  std::size_t live = 0;
  const Footprint before = footprint();

  const double start = cpu_ns();
  for (std::size_t i = 0; i < count; ++i) {
    made[i] = Maker::create();
    if (made[i].id == 0) fail("out of memory");
    for (std::size_t b = i * blocks_each; b < (i + 1) * blocks_each; ++b) {
      const std::size_t bytes = random.log_size(16, 4);
      blocks[b] = taken(Maker::allocate(made[i], bytes), bytes);
      live += bytes;
    }
  }
  const double created = cpu_ns();
  for (std::size_t step = 0; step < replacements; ++step) {
    const std::size_t b = random.below(count * blocks_each);
    Maker::deallocate(blocks[b].start);
    blocks[b] = taken(Maker::allocate(made[b / blocks_each], blocks[b].bytes), blocks[b].bytes);
  }
  const double replaced = cpu_ns();
  const double heap_bytes = bytes_since(before);
  for (std::size_t i = 0; i < count; ++i) Maker::destroy(made[i]);
  const double destroyed = cpu_ns();
  const double all = static_cast<double>(count);
  print({{"ns", (replaced - created) / replacements},
         {"create_ns", (created - start) / all},
         {"destroy_ns", (destroyed - replaced) / all},
         {"overhead", heap_bytes / static_cast<double>(live)},
         {"heap_bytes", heap_bytes / all}});
}

struct Series {
  std::string_view name;
  void (*run)(std::size_t point, std::uint64_t seed);
  std::uint64_t most;
};

constexpr Series all_series[] = {{"live", live, 1 << 20},
                                 {"size", size, std::uint64_t{1} << 40},
                                 {"threads", threads, 4096},
                                 {"uptime", uptime, 1'000'000},
                                 {"heaps", heaps, 100'000'000}};

int usage() {
  std::fputs("usage: scaling live MIB | size BYTES | threads N | uptime PERIODS | heaps N [SEED]\n",
             stderr);
  return 2;
}

// False: not a whole number from 1 to `most`.
bool read(const char* text, std::uint64_t most, std::uint64_t& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtoull(text, &end, 10);
  return errno == 0 && *text != '-' && end != text && *end == '\0' && value >= 1 && value <= most;
}

int run(int argc, char** argv) {
  if (argc != 3 && argc != 4) return usage();
  const auto* const found = std::find_if(std::begin(all_series), std::end(all_series),
                                         [&](const Series& each) { return each.name == argv[1]; });
  std::uint64_t point = 0;
  std::uint64_t seed = 1;
  if (found == std::end(all_series) || !read(argv[2], found->most, point) ||
      (argc == 4 && !read(argv[3], UINT32_MAX, seed))) {
    return usage();
  }
  found->run(point, seed);
  return 0;
}

}  // namespace
}  // namespace tarn

int main(int argc, char** argv) { return tarn::run(argc, argv); }
