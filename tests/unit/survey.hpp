// survey: what the store holds at a moment, by its own descriptors.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

#include "engine/store/store.hpp"
#include "platform/os/process.hpp"

namespace tarn {

struct Run {
  const std::byte* base;
  std::size_t slices;
  SpanKind kind;
  const std::byte* end() const { return base + slices * slice_bytes; }
};

// The free spans in the order of their addresses.
inline std::vector<Run> free_runs() {
  std::vector<Run> runs;
  store.for_each_span([&](const Span* span) {
    const SpanKind kind = span->kind_now();
    if (kind != SpanKind::clean && kind != SpanKind::dirty) return;
    runs.push_back({span->base, span->slices, kind});
  });
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.base < b.base; });
  return runs;
}

inline std::size_t free_slices(SpanKind kind) {
  std::size_t slices = 0;
  for (const Run& run : free_runs()) slices += run.kind == kind ? run.slices : 0;
  return slices;
}

// No two free neighbours of one kind.
inline bool all_joined() {
  const std::vector<Run> runs = free_runs();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i - 1].end() == runs[i].base && runs[i - 1].kind == runs[i].kind) return false;
  }
  return true;
}

// As large.cpp takes and gives a span.
inline Span* take_span(std::size_t slices, std::size_t alignment = 1, Fit fit = Fit::warm) {
  Span* const span = store.take(slices, alignment, fit);
  if (span == nullptr) return nullptr;
  span->set_kind(SpanKind::large);
  page_map.set_ends(span);
  return span;
}

inline void give_span(Span* span) {
  page_map.clear_ends(span->base, span->slices);
  store.give(span);
}

// Free spans of so many slices, dirty and each apart from the others. Returns what is in use
// between them.
template <class Sizes>
std::vector<Span*> make_holes(const Sizes& sizes) {
  std::vector<Span*> holes;
  std::vector<Span*> between;
  for (const std::size_t slices : sizes) {
    holes.push_back(take_span(slices));
    between.push_back(take_span(1));
  }
  for (Span* span : holes) give_span(span);
  return between;
}

// A time at which all that was given so far is at least `ms` old.
inline std::uint64_t time_in(std::uint64_t ms) { return os::clock_coarse_ms() + ms; }

}  // namespace tarn
