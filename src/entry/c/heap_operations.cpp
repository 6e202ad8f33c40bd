// heap_operations: the functions of tarn/heap/heap.h for a heap as a whole.
//
// SPDX-License-Identifier: MIT
#include <cerrno>

#include "engine/records/record.hpp"
#include "engine/records/thread_default.hpp"
#include "heaps/heap/handle.hpp"
#include "heaps/operations/check.hpp"
#include "heaps/operations/freeze.hpp"
#include "heaps/operations/life.hpp"
#include "heaps/operations/stats.hpp"
#include "heaps/operations/trim.hpp"
#include "heaps/operations/walk.hpp"
#include "malloc/blocks/default_heap.hpp"
#include "malloc/process/process.hpp"
#include "tarn/heap/heap.h"

extern "C" {

tarn_heap tarn_heap_create(const tarn_heap_options* options) {
  tarn::process.start();
  return tarn::heap_create(options);
}

int tarn_heap_destroy(tarn_heap heap) {
  if (heap.record == nullptr) return 0;
  return tarn::heap_clear(heap, true, "tarn_heap_destroy") ? 0 : -1;
}

int tarn_heap_delete(tarn_heap heap) { return tarn::heap_delete(heap) ? 0 : -1; }

int tarn_heap_clear(tarn_heap heap) {
  return tarn::heap_clear(heap, false, "tarn_heap_clear") ? 0 : -1;
}

int tarn_heap_set_ceiling(tarn_heap heap, std::size_t bytes) {
  return tarn::heap_set_limit(heap, &tarn::Limits::set_ceiling, bytes, "tarn_heap_set_ceiling");
}

int tarn_heap_set_floor(tarn_heap heap, std::size_t bytes) {
  return tarn::heap_set_limit(heap, &tarn::Limits::set_floor, bytes, "tarn_heap_set_floor");
}

int tarn_heap_set_soft_mark(tarn_heap heap, std::size_t bytes) {
  return tarn::heap_set_limit(heap, &tarn::Limits::set_soft_mark, bytes, "tarn_heap_set_soft_mark");
}

int tarn_heap_look(tarn_heap heap, const void* p) { return tarn::heap_look(heap, p); }

int tarn_heap_check(tarn_heap heap) { return tarn::heap_check(heap); }

tarn_heap tarn_heap_main(void) {
  tarn::process.start();
  tarn::HeapRecord* const record = tarn::process_heap.load(std::memory_order_acquire);
  const bool serves_all = record != nullptr && tarn::process_heap_every == 0;
  return serves_all ? record->handle() : tarn::main_record.handle();
}

std::size_t tarn_heap_trim(tarn_heap heap, std::size_t keep_bytes) {
  return tarn::heap_trim(heap, keep_bytes);
}

int tarn_heap_lock(tarn_heap heap) {
  return tarn::heap_lock(heap, "tarn_heap_lock") != nullptr ? 0 : -1;
}

int tarn_heap_unlock(tarn_heap heap) { return tarn::heap_unlock(heap) ? 0 : -1; }

int tarn_heap_freeze(tarn_heap heap) {
  return tarn::heap_set_frozen(heap, true, "tarn_heap_freeze") ? 0 : -1;
}

int tarn_heap_thaw(tarn_heap heap) {
  return tarn::heap_set_frozen(heap, false, "tarn_heap_thaw") ? 0 : -1;
}

int tarn_heap_walk(tarn_heap heap, unsigned flags, tarn_heap_visit visit, void* context) {
  if (visit == nullptr || (flags & ~unsigned{TARN_HEAP_WALK_FREE}) != 0) {
    errno = EINVAL;
    return -1;
  }
  return tarn::heap_walk(heap, flags, visit, context);
}

tarn_heap tarn_heap_next(tarn_heap heap) { return tarn::heap_next(heap); }

tarn_heap tarn_heap_set_default(tarn_heap heap) { return tarn::heap_set_default(heap); }

int tarn_heap_get_stats(tarn_heap heap, tarn_heap_stats* stats) {
  return tarn::heap_stats(heap, stats) ? 0 : -1;
}

const char* tarn_heap_name(tarn_heap heap) {
  const tarn::HeapRecord* const record = tarn::live_record(heap, "tarn_heap_name");
  return record == nullptr ? "" : record->name;
}

void* tarn_heap_context(tarn_heap heap) {
  const tarn::HeapRecord* const record = tarn::live_record(heap, "tarn_heap_context");
  return record == nullptr ? nullptr : record->limits.context;
}

}  // extern "C"
