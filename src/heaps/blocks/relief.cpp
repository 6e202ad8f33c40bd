// relief: see relief.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/blocks/relief.hpp"

#include "engine/records/callback.hpp"
#include "engine/zones/span_source.hpp"
#include "heaps/blocks/empty_pages.hpp"
#include "heaps/heap/exclusive.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// The callback of the heap, or of the ancestor that refuses. Of a destroyed one only the ceiling is
// left. While the thread is inside the heap, the record of the other stays what it is.
bool reclaimed(const UnmetRequest& unmet, HeapRecord& top) noexcept {
  tarn_heap_reclaim reclaim = nullptr;
  tarn_heap called{};
  void* context = nullptr;
  {
    const Visit visit(unmet.record, unmet.id);
    if (visit.thread() == nullptr || visit.ended()) return false;
    reclaim = top.limits.reclaim;
    called = top.handle();
    context = top.limits.context;
  }
  if (reclaim == nullptr || called.id == 0 || Callback::runs(top, CallbackFor::ceiling))
    return false;
  TARN_ASSERT(is_at_rest());
  const Callback running(top, CallbackFor::ceiling);
  return reclaim(called, unmet.bytes, context) != 0;
}

}  // namespace

bool relieve_ceiling(const UnmetRequest& unmet, const RecoveryScope& scope, int tries) noexcept {
  TARN_ASSERT(scope.top != nullptr && tries >= 0 && is_at_rest());
  HeapRecord& top = *scope.top;
  if (tries == 0 && heap_give_empty_pages(top) != 0) return true;
  if (!reclaimed(unmet, top) && !recover_for(scope, unmet.bytes, tries)) return false;
  heap_give_empty_pages(top);  // What was freed may have emptied pages of other threads.
  return true;
}

namespace {

// Whether memory that others give back may come to the heap: not to a region or a source, nor to a
// secret heap, which lacks the right to lock more.
bool takes_from_os(HeapRecord& record, std::uint64_t id) noexcept {
  const Visit visit(record, id);
  if (visit.thread() == nullptr || visit.ended()) return false;
  const ZoneTraits& traits = record.source.traits();
  return !traits.region && !traits.secret && traits.source.acquire == nullptr;
}

bool has_zone(HeapRecord& record, std::uint64_t id) noexcept {
  const Visit visit(record, id);
  return visit.thread() != nullptr && !visit.ended() && !record.source.is_store();
}

}  // namespace

bool relieve_memory(const UnmetRequest& unmet, int tries) noexcept {
  TARN_ASSERT(tries >= 0 && is_at_rest());
  if (has_zone(unmet.record, unmet.id) && relieve_ceiling(unmet, {&unmet.record, false}, tries)) {
    return true;
  }
  return takes_from_os(unmet.record, unmet.id) && recover_for({}, unmet.bytes, tries);
}

}  // namespace tarn
