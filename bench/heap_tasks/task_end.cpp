// destroy: ending a heap of many small blocks. swapped: the same when the heap is swapped out.
//
// The blocks form a list, in the order of their allocation; where there are no heaps to end, each
// is freed by a walk along it.
//
// SPDX-License-Identifier: MIT
#include <cstring>
#include <sys/mman.h>

#include "../meter/meter.hpp"
#include "maker.hpp"
#include "task.hpp"

namespace tarn {

// Found by name by callgrind, which counts its instructions.
template <class Maker>
[[gnu::noinline]] void measured_end(const typename Maker::Heap& heap, void* first) {
  if constexpr (Maker::has_heaps) {
    Maker::destroy(heap);
  } else {
    while (first != nullptr) {
      void* const next = *static_cast<void**>(first);
      Maker::deallocate(first);
      first = next;
    }
  }
}

namespace {

template <class Maker>
void* fill(const typename Maker::Heap& heap, std::size_t blocks, std::size_t bytes,
           PageSet& pages) {
  void* first = nullptr;
  void** link = &first;
  for (std::size_t i = 0; i < blocks; ++i) {
    void* const block = take<Maker>(heap, bytes);
    std::memset(block, 1, bytes);
    *link = block;
    link = static_cast<void**>(block);
    pages.add(block, bytes);
  }
  *link = nullptr;
  pages.settle();
  return first;
}

// Blocks that follow each other lie in one page mostly, else this has room for each.
PageSet pages_for(std::size_t blocks, std::size_t bytes) {
  const std::size_t whole = blocks * bytes / page_bytes * 2 + 1024;
  return PageSet(whole, whole + blocks);
}

// The kernel takes back what lies wholly between the first and the last page of each run of block
// pages: what remains of the end is its own work. The ends of runs stay, as they may hold more.
void take_away(const PageSet& pages) {
  const std::uint64_t* at = pages.begin();
  while (at != pages.end()) {
    const std::uint64_t* last = at;
    while (last + 1 != pages.end() && last[1] == *last + 1) ++last;
    if (last - at > 1) {
      madvise(reinterpret_cast<void*>((*at + 1) * page_bytes),
              static_cast<std::size_t>(last - at - 1) * page_bytes, MADV_DONTNEED);
    }
    at = last + 1;
  }
}

struct Destroy {
  std::size_t blocks, bytes;
  bool pages_away;

  template <class Maker>
  void run() const {
    if (pages_away && !Maker::has_heaps) fail("blocks that are freed one by one need their pages");
    PageSet pages = pages_for(blocks, bytes);
    Maker::destroy(Maker::create());
    const Footprint empty = footprint();
    const typename Maker::Heap heap = Maker::create();
    void* const first = fill<Maker>(heap, blocks, bytes, pages);
    if (pages_away) take_away(pages);
    const Footprint full = footprint();
    const Usage before = usage_now();
    measured_end<Maker>(heap, first);
    const Usage used = usage_now() - before;
    const Footprint after = footprint();
    print({{"wall_ms", used.wall * 1e3},
           {"cpu_ms", used.cpu * 1e3},
           {"user_ms", used.user * 1e3},
           {"system_ms", used.system * 1e3},
           {"faults", static_cast<double>(used.minor_faults + used.major_faults)},
           {"full_mib", static_cast<double>(full.resident_bytes - empty.resident_bytes) / 0x1p20},
           {"returned_mib",
            static_cast<double>(full.resident_bytes - after.resident_bytes) / 0x1p20}});
  }
};

struct Swapped {
  std::size_t blocks, bytes, ballast_bytes;

  template <class Maker>
  void run() const {
    PageSet pages = pages_for(blocks, bytes);
    Maker::destroy(Maker::create());
    const Footprint empty = footprint();
    const typename Maker::Heap heap = Maker::create();
    void* const first = fill<Maker>(heap, blocks, bytes, pages);
    const Footprint full = footprint();
    auto* const states = static_cast<PageState*>(reserve(2 * pages.count()));
    for (int round = 0; round < 2; ++round) {  // Other work needs the memory meanwhile.
      unreserve(reserve(ballast_bytes), ballast_bytes);
    }
    const Usage warming = usage_now();
    const typename Maker::Heap other = Maker::create();  // Code and shared state come back.
    measured_end<Maker>(other, fill_few<Maker>(other));
    read_states(pages, states);
    const Usage before = usage_now();
    measured_end<Maker>(heap, first);
    const Usage used = usage_now() - before;
    read_states(pages, states + pages.count());
    report(pages, states, used, full, empty, before.major_faults - warming.major_faults);
  }

  template <class Maker>
  static void* fill_few(const typename Maker::Heap& heap) {
    void* const block = take<Maker>(heap, 32);
    *static_cast<void**>(block) = nullptr;
    return block;
  }

  void report(const PageSet& pages, const PageState* states, const Usage& used,
              const Footprint& full, const Footprint& empty, std::uint64_t other_faults) const {
    std::size_t resident = 0, swapped = 0, brought_back = 0;
    for (std::size_t at = 0; at < pages.count(); ++at) {
      resident += states[at] == PageState::present;
      swapped += states[at] == PageState::swapped;
      brought_back +=
          states[at] == PageState::swapped && states[at + pages.count()] == PageState::present;
    }
    const auto grown = static_cast<double>(full.resident_bytes + full.swapped_bytes) -
                       static_cast<double>(empty.resident_bytes + empty.swapped_bytes);
    const double block_bytes = static_cast<double>(pages.count() * page_bytes);
    const auto faults = static_cast<double>(used.major_faults + used.minor_faults);
    print({{"block_pages", static_cast<double>(pages.count())},
           {"resident_before", static_cast<double>(resident)},
           {"swapped_before", static_cast<double>(swapped)},
           {"brought_back", static_cast<double>(brought_back)},
           {"major_faults", static_cast<double>(used.major_faults)},
           {"minor_faults", static_cast<double>(used.minor_faults)},
           {"faults_before", static_cast<double>(other_faults)},
           {"metadata_pages", (grown - block_bytes) / page_bytes},
           {"metadata_percent", (grown - block_bytes) / block_bytes * 100},
           {"faulted_percent", faults * page_bytes / block_bytes * 100},
           {"cpu_ms", used.cpu * 1e3},
           {"wall_ms", used.wall * 1e3}});
  }
};

}  // namespace

bool task_destroy(const Request& request) {
  return with_maker(
      request.maker, request.library,
      Destroy{request.number(0, 4000000), request.number(1, 32), request.number(2, 0) != 0});
}

bool task_swapped(const Request& request) {
  const std::size_t bytes = request.number(1, 32);
  return with_maker(
      request.maker, request.library,
      Swapped{(request.number(0, 256) << 20) / bytes, bytes, request.number(2, 0) << 20});
}

}  // namespace tarn
