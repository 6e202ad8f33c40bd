// store: taking, giving, growing, shrinking and purging spans, with an OS that fails now and then,
// against a list of what is in use. At the end everything is given back, and must have become one
// span per run of addresses again.
//
// SPDX-License-Identifier: MIT
#include "engine/store/store.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "input.hpp"
#include "platform/os/fake/fake.hpp"
#include "platform/os/process.hpp"
#include "platform/os/vm.hpp"

namespace tarn::fuzz {

namespace {

constexpr std::size_t used_max = 48;

struct Used {
  Span* span;
  std::uint64_t mark;  // Stands in the first and the last word of every slice that was touched.
};

struct FreeRun {
  const std::byte* base;
  std::size_t slices;
  SpanKind kind;
};

class Model {
 public:
  explicit Model(Input& input) : input_(input) {
    os::fake::fail_at(0, false);
    store.configure(input.below(3) * 250, input.below(3) << 20);
  }

  void step();
  void finish();

 private:
  void take();
  void give();
  void grow(bool by_remap);
  void shrink();
  void purge();
  void check();

  std::size_t pick() { return input_.below(used_.size()); }
  std::size_t some_slices() {
    switch (input_.below(16)) {
      case 0: return input_.below(40000) + 1;  // Up to what goes back with its addresses.
      case 1:
      case 2: return input_.below(2000) + 1;
      default: return input_.below(40) + 1;
    }
  }

  static std::uint64_t* word(const Span* span, std::size_t slice, bool last) {
    std::byte* const start = span->base + slice * slice_bytes;
    return reinterpret_cast<std::uint64_t*>(last ? start + slice_bytes - 8 : start);
  }
  // Large spans are touched here and there only.
  static std::size_t stride(const Span* span) { return span->slices / 64 + 1; }

  static void fill(const Used& used, std::size_t from) {
    const std::size_t each = stride(used.span);
    for (std::size_t i = 0; i < used.span->slices; i += each) {
      if (i < from) continue;
      *word(used.span, i, false) = *word(used.span, i, true) = used.mark;
    }
  }
  static void verify(const Used& used, std::size_t slices, std::size_t each) {
    for (std::size_t i = 0; i < slices; i += each) {
      TARN_REQUIRE(*word(used.span, i, false) == used.mark);
      TARN_REQUIRE(*word(used.span, i, true) == used.mark);
    }
  }
  void give_at(std::size_t i) {
    Span* const span = used_[i].span;
    page_map.clear_ends(span->base, span->slices);
    store.give(span);
    used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  Input& input_;
  std::vector<Used> used_;
  std::uint64_t marks_ = 0;
  std::uint64_t steps_ = 0;
  bool failing_ = false;  // A call failed or may fail: neighbours may be left apart for a while.
};

void Model::take() {
  if (used_.size() == used_max) return;
  const std::size_t slices = some_slices();
  const std::size_t alignment = input_.byte() % 4 == 0 ? std::size_t{1} << input_.below(10) : 1;
  const Fit fit = input_.byte() % 4 == 0 && alignment == 1 ? Fit::roomy : Fit::warm;
  Span* const span = store.take(slices, alignment, fit);
  if (span == nullptr) {
    TARN_REQUIRE(failing_ || fit == Fit::roomy);
    return;
  }
  TARN_REQUIRE(span->slices == slices);
  TARN_REQUIRE(failing_ || Descriptors::is_near(span));
  TARN_REQUIRE(fit == Fit::warm || !span->zeroed);
  TARN_REQUIRE((address_of(span->base) >> slice_shift) % alignment == 0);
  span->set_kind(SpanKind::large);
  page_map.set_ends(span);
  if (span->zeroed) {
    for (std::size_t i = 0; i < slices; i += stride(span)) {
      TARN_REQUIRE(*word(span, i, false) == 0 && *word(span, i, true) == 0);
    }
  }
  used_.push_back({span, ++marks_ * 0x9e3779b97f4a7c15});
  fill(used_.back(), 0);
}

void Model::give() {
  if (used_.empty()) return;
  const std::size_t i = pick();
  const Span* const span = used_[i].span;
  verify(used_[i], span->slices, stride(span));
  give_at(i);
}

// Of a remap, the OS may refuse it: the span may lie in several of its mappings.
void Model::grow(bool by_remap) {
  if (used_.empty()) return;
  const Used used = used_[pick()];
  const std::size_t before = used.span->slices;
  const std::size_t each = stride(used.span);
  const std::byte* const base = used.span->base;
  const std::size_t wanted = before + some_slices();
  const bool has_spare = by_remap && input_.byte() % 2 == 0;
  const bool grown = by_remap ? store.remap(used.span, wanted, has_spare ? some_slices() : 0)
                              : store.extend(used.span, wanted);
  TARN_REQUIRE(used.span->slices == (grown ? wanted : before));
  TARN_REQUIRE((by_remap && grown) || used.span->base == base);
  verify(used, before, each);
  fill(used, 0);
}

void Model::shrink() {
  if (used_.empty()) return;
  const Used used = used_[pick()];
  const std::size_t before = used.span->slices;
  if (before < 2) return;
  const std::size_t each = stride(used.span);
  const std::size_t wanted = input_.below(before - 1) + 1;
  const bool shrunk = store.shrink(used.span, wanted);
  TARN_REQUIRE(shrunk || failing_);
  TARN_REQUIRE(used.span->slices == (shrunk ? wanted : before));
  verify(used, used.span->slices, each);
  fill(used, 0);
}

void Model::purge() {
  std::size_t largest = 0;
  std::size_t dirty_before = 0;
  store.for_each_span([&](const Span* span) {
    if (span->kind_now() != SpanKind::dirty) return;
    dirty_before += span->slices;
    largest = std::max<std::size_t>(largest, span->slices);
  });
  // Either everything is old enough, or nothing is.
  const bool due = input_.byte() % 4 != 0;
  const std::size_t keep = input_.below(2000);
  const std::uint64_t now = os::clock_coarse_ms() + 1000;
  store.purge(now, due ? 0 : 3600000, keep << slice_shift);
  std::size_t dirty = 0;
  store.for_each_span([&](const Span* span) {
    if (span->kind_now() == SpanKind::dirty) dirty += span->slices;
  });
  if (failing_) return;
  TARN_REQUIRE(due || dirty == dirty_before);
  TARN_REQUIRE(!due || dirty < std::max<std::size_t>(keep + largest, 1));
  TARN_REQUIRE(dirty >= std::min(keep, dirty_before));
}

void Model::check() {
  TARN_REQUIRE(store.check());
  std::map<const std::byte*, const Span*> ranges;
  std::size_t committed = 0;
  for (const Used& used : used_) {
    TARN_REQUIRE(page_map.span_of(used.span->base) == used.span);
    TARN_REQUIRE(page_map.span_of(used.span->end() - 1) == used.span);
    ranges[used.span->base] = used.span;
    committed += used.span->slices;
  }
  std::vector<FreeRun> runs;
  store.for_each_span([&](const Span* span) {
    const SpanKind kind = span->kind_now();
    if (kind != SpanKind::clean && kind != SpanKind::dirty) return;
    runs.push_back({span->base, span->slices, kind});
    ranges[span->base] = span;
    if (kind == SpanKind::dirty) committed += span->slices;
  });
  TARN_REQUIRE(ranges.size() == used_.size() + runs.size());
  const std::byte* end = nullptr;
  for (const auto& [base, span] : ranges) {
    TARN_REQUIRE(base >= end);
    end = span->end();
  }
  TARN_REQUIRE(store.totals().committed_bytes == committed << slice_shift);
  std::sort(runs.begin(), runs.end(),
            [](const FreeRun& a, const FreeRun& b) { return a.base < b.base; });
  for (std::size_t i = 1; i < runs.size() && !failing_; ++i) {
    const bool touch = runs[i - 1].base + runs[i - 1].slices * slice_bytes == runs[i].base;
    TARN_REQUIRE(!touch || runs[i - 1].kind != runs[i].kind);
  }
}

void Model::step() {
  thread_group = static_cast<std::uint8_t>(++steps_ / 4 % 3);  // Threads take turns.
  switch (input_.below(12)) {
    case 0:
    case 1:
    case 2: take(); break;
    case 3:
    case 4:
    case 5: give(); break;
    case 6:
    case 7: grow(false); break;
    case 8: shrink(); break;
    case 9: purge(); break;
    case 10: grow(true); break;
    default:
      if (input_.byte() % 4 != 0) return;
      failing_ = true;
      os::fake::fail_at(input_.below(6) + 1, input_.byte() % 2 == 0);
      return;
  }
  // A failure that goes on is ended by the next step.
  if (failing_ && input_.byte() % 2 == 0) os::fake::fail_at(0, false);
  check();
}

void Model::finish() {
  os::fake::fail_at(0, false);
  while (!used_.empty()) {
    verify(used_[0], used_[0].span->slices, stride(used_[0].span));
    give_at(0);
  }
  store.purge(os::clock_coarse_ms() + 1000, 0, 0);
  failing_ = false;
  check();
  TARN_REQUIRE(store.totals().committed_bytes == 0);
}

}  // namespace

void run(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Model model(input);
  while (input.has_step()) model.step();
  model.finish();
}

}  // namespace tarn::fuzz
