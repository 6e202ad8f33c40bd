// span_source: where a heap takes its spans from: the store, or a zone of its own.
//
//   SpanSource   | Zone* |      null: the store
//
// Most heaps share the store, so its branch is the likely one everywhere. The store's own upkeep
// (purging, repair after a fork) happens in the store, for all heaps at once; a source that is the
// store has none of its own.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "engine/spans/page_map.hpp"
#include "engine/store/store.hpp"
#include "engine/zones/zone.hpp"

namespace tarn {

class SpanSource {
 public:
  constexpr SpanSource() noexcept = default;  // The store.
  constexpr explicit SpanSource(Zone* zone) noexcept : zone_(zone) {}

  bool is_store() const noexcept { return zone_ == nullptr; }
  Zone* zone() const noexcept { return zone_; }  // Null for the store.

  // The traits of the store: it is no region, keeps no secrets, and has no source of the program's.
  const ZoneTraits& traits() const noexcept { return is_store() ? of_store : zone_->traits(); }

  // As Store::take(). A zone has memory of one kind and takes no notice of `fit`.
  Span* take(std::size_t slices, std::size_t alignment, Fit fit = Fit::warm) const noexcept {
    return is_store() ? store.take(slices, alignment, fit) : zone_->take(slices, alignment);
  }

  // As Store::take_page(). A zone gives the most.
  Span* take_page(std::size_t least, std::size_t most, Fit fit) const noexcept {
    return is_store() ? store.take_page(least, most, fit) : zone_->take(most, 1);
  }

  // As Store::give(). pre: the span's entries in the page map are cleared (unmap)
  void give(Span* span) const noexcept { is_store() ? store.give(span) : zone_->give(span); }

  // As Store::extend() and Store::shrink().
  bool extend(Span* span, std::size_t slices) const noexcept {
    return is_store() ? store.extend(span, slices) : zone_->extend(span, slices);
  }
  void shrink(Span* span, std::size_t slices) const noexcept {
    if (!is_store()) return zone_->shrink(span, slices);
    store.shrink(span, slices);
  }

  // The way from addresses to the span: for all of its slices, or for the first and the last.
  void map(const Span* span, bool all) const noexcept {
    if (!is_store()) return zone_->map(span, all);
    if (all) return page_map.set(span->base, span->slices, span);
    page_map.set_ends(span);
  }
  void unmap(const Span* span, bool all) const noexcept {
    if (!is_store()) return zone_->unmap(span->base, span->slices, all);
    if (all) return page_map.clear(span->base, span->slices);
    page_map.clear_ends(span->base, span->slices);
  }

  // Allocates a record of the heap's, in its region or in the store, where it stays. Null when out
  // of memory.
  void* allocate_record(std::size_t bytes) const noexcept {
    return traits().region ? zone_->allocate_record(bytes) : store.allocate_record(bytes);
  }

  // The rest is about memory of the heap's own, of which the store has none.
  bool has_surplus() const noexcept { return !is_store() && zone_->has_surplus(); }
  bool is_locked() const noexcept { return !is_store() && zone_->is_locked(); }
  void purge(bool all) const noexcept {
    if (!is_store()) zone_->purge(all);
  }
  void recover_after_fork() const noexcept {
    if (!is_store()) zone_->recover_after_fork();
  }

  // As Zone::for_each_span() and Zone::for_each_chunk().
  template <class Visit>
  void for_each_own_span(Visit visit) const noexcept {
    if (!is_store()) zone_->for_each_span(visit);
  }
  template <class Visit>
  void for_each_own_chunk(Visit visit) const noexcept {
    if (!is_store()) zone_->for_each_chunk(visit);
  }

 private:
  static constexpr ZoneTraits of_store{};

  Zone* zone_ = nullptr;
};
static_assert(sizeof(SpanSource) == sizeof(Zone*));

}  // namespace tarn
