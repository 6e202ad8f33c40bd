// relief: see relief.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/relief.hpp"

#include "engine/records/callback.hpp"
#include "engine/zones/zone.hpp"
#include "heaps/blocks/collect.hpp"
#include "heaps/heap/exclusive.hpp"

namespace tarn {

namespace {

// The callback of the heap, or of the ancestor that refuses. Of a destroyed one only the ceiling is
// left. While the thread is inside the heap, the record of the other stays what it is.
bool reclaimed(const Need& need, HeapRecord& top) noexcept {
  tarn_heap_reclaim reclaim = nullptr;
  tarn_heap called{};
  void* context = nullptr;
  {
    const Visit visit(need.record, need.id);
    if (visit.thread() == nullptr || visit.ended()) return false;
    reclaim = top.limits.reclaim;
    called = top.handle();
    context = top.limits.context;
  }
  if (reclaim == nullptr || called.id == 0 || Callback::runs(top, CallbackFor::room)) return false;
  const Callback running(top, CallbackFor::room);
  return reclaim(called, need.bytes, context) != 0;
}

}  // namespace

bool relieve_ceiling(const Need& need, const RecoveryScope& scope, int tries) noexcept {
  HeapRecord& top = *scope.top;
  if (tries == 0 && heap_collect(top) != 0) return true;
  if (!reclaimed(need, top) && !recover_for(scope, need.bytes, tries)) return false;
  heap_collect(top);  // What was freed may have emptied pages of other threads.
  return true;
}

namespace {

// Whether memory that others give back may come to the heap: not to a region or a source, nor to a
// secret heap, which lacks the right to lock more.
bool takes_from_os(HeapRecord& record, std::uint64_t id) noexcept {
  const Visit visit(record, id);
  if (visit.thread() == nullptr || visit.ended()) return false;
  if (record.zone == nullptr) return true;
  const ZoneTraits& traits = record.zone->traits();
  return !traits.region && !traits.secret && traits.source.acquire == nullptr;
}

bool has_zone(HeapRecord& record, std::uint64_t id) noexcept {
  const Visit visit(record, id);
  return visit.thread() != nullptr && !visit.ended() && record.zone != nullptr;
}

}  // namespace

bool relieve_memory(const Need& need, int tries) noexcept {
  if (has_zone(need.record, need.id) && relieve_ceiling(need, {&need.record, false}, tries)) {
    return true;
  }
  return takes_from_os(need.record, need.id) && recover_for({}, need.bytes, tries);
}

}  // namespace tarn
