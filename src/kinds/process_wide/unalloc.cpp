// unalloc: the process's heap with a class table (tarn/heap/unalloc.h).
//
// There is no lock, and nothing that a fork could find half-done. A thread makes a heap and offers
// it; if another one was faster, it ends its own. A choice of classes is an offer, too.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/unalloc.h"
#include "heaps/blocks/lookup.hpp"
#include "heaps/operations/life.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/blocks/resize.hpp"
#include "platform/settings/settings.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "heaps/blocks/allocate.hpp"
#include "malloc/process/process.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

constexpr std::size_t table_least = TARN_HEAP_CLASS_GRAIN;
constexpr std::size_t table_most = TARN_HEAP_CLASS_BYTES_MAX;

// The heap, which all threads use and which never ends. Each thread that sees the record writes the
// id, always the same, with release and after the record. So a thread that reads the id with
// acquire sees the record.
constinit std::atomic<HeapRecord*> heap_record{nullptr};
constinit std::atomic<std::uint64_t> heap_id{0};

bool is_made() noexcept { return heap_record.load(std::memory_order_acquire) != nullptr; }

// Offers the heap. False: there is one already, and this one has been ended.
bool offer(tarn_heap made) noexcept {
  TARN_ASSERT(made.record != nullptr && made.id != 0);
  HeapRecord* none = nullptr;
  auto* const record = static_cast<HeapRecord*>(made.record);
  if (!heap_record.compare_exchange_strong(none, record, std::memory_order_acq_rel)) {
    heap_clear(made, true, "unalloc");
    return false;
  }
  heap_id.store(made.id, std::memory_order_release);
  return true;
}

int make(const std::size_t* class_bytes, std::size_t class_count) noexcept {
  if (is_made()) return EBUSY;
  if (class_bytes == nullptr || class_count == 0) return EINVAL;
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = "unalloc";
  options.class_bytes = class_bytes;
  options.class_count = class_count;
  const tarn_heap made = heap_create(&options);
  if (made.record == nullptr) return errno;
  return offer(made) ? 0 : EBUSY;
}

int make_by_steps(unsigned per_doubling) noexcept {
  if (is_made()) return EBUSY;
  std::size_t table[TARN_HEAP_CLASSES_MAX];
  const std::size_t count = tarn_class_table(per_doubling, table_least, table_most, table_least,
                                             table, TARN_HEAP_CLASSES_MAX);
  if (count == 0) return EINVAL;
  return count <= TARN_HEAP_CLASSES_MAX ? make(table, count) : ENOSPC;
}

// The result for a public function: 0 with errno as it was before, or -1 with errno set to the
// error.
int result_of(int error, int errno_before) noexcept {
  errno = error == 0 ? errno_before : error;
  return error == 0 ? 0 : -1;
}

// The heap, which is made if there is none yet. The zero value when there is no memory for it.
TARN_COLD tarn_heap first_heap() noexcept {
  process.start();
  const int saved = errno;
  const int error = make_by_steps(static_cast<unsigned>(settings[Option::unalloc_steps]));
  if (error != 0 && error != EBUSY) {
    errno = ENOMEM;
    return {};
  }
  errno = saved;
  HeapRecord* const record = heap_record.load(std::memory_order_acquire);
  TARN_ASSERT(record != nullptr);           // This thread has made it, or another one was first.
  const tarn_heap heap = record->handle();  // It never ends, so its id is the one it began with.
  heap_id.store(heap.id, std::memory_order_release);
  return heap;
}

TARN_INLINE tarn_heap the_heap() noexcept {
  const std::uint64_t id = heap_id.load(std::memory_order_acquire);
  if (TARN_UNLIKELY(id == 0)) return first_heap();
  return {heap_record.load(std::memory_order_relaxed), id};
}

TARN_NOINLINE void* reallocate_slow(void* p, std::size_t bytes, const void* site) noexcept {
  if (p != nullptr && bytes == 0) {
    deallocate(p);
    return nullptr;
  }
  const tarn_heap heap = the_heap();
  if (heap.record == nullptr) return nullptr;
  if (p == nullptr) return heap_allocate(heap, bytes, "unrealloc", site);
  return heap_reallocate(heap, p, bytes, "unrealloc", site);
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

int tarn_unalloc_use_steps(unsigned per_doubling) {
  const int saved = errno;
  return result_of(make_by_steps(per_doubling), saved);
}

int tarn_unalloc_use_classes(const std::size_t* class_bytes, std::size_t class_count) {
  const int saved = errno;
  return result_of(make(class_bytes, class_count), saved);
}

void* tarn_unalloc(std::size_t size) {
  const tarn_heap heap = the_heap();
  if (TARN_UNLIKELY(heap.record == nullptr)) return nullptr;
  return heap_allocate(heap, size, "unalloc");
}

void* tarn_uncalloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (TARN_UNLIKELY(!checked_multiply(count, size, &bytes))) {
    errno = ENOMEM;
    return nullptr;
  }
  const tarn_heap heap = the_heap();
  if (TARN_UNLIKELY(heap.record == nullptr)) return nullptr;
  if (bytes > TARN_HEAP_CLASS_BYTES_MAX) {  // Fresh memory is zero already.
    return heap_allocate_slow(heap, {.bytes = bytes,
                                     .zero = true,
                                     .function = "uncalloc",
                                     .site = __builtin_return_address(0)});
  }
  void* const block = heap_allocate(heap, bytes, "uncalloc");
  if (TARN_LIKELY(block != nullptr)) memset(block, 0, usable_bytes(block, "uncalloc"));
  return block;
}

// The page of a live block does not change, whichever thread owns it, so it is read without a lock.
// Blocks of heaps under one lock take the slow path, since a secret heap must wipe what a block
// loses.
void* tarn_unrealloc(void* p, std::size_t size) {
  auto* const page = static_cast<Page*>(page_map.span_of(p));
  if (TARN_LIKELY(page->kind_now() == SpanKind::page) &&
      TARN_LIKELY(page->owner.load(std::memory_order_relaxed) != &locked_owner) &&
      TARN_LIKELY(size - 1 < page->block_bytes) && TARN_LIKELY(page->is_block(p))) {
    return p;  // For size 0 the difference is the largest number.
  }
  return reallocate_slow(p, size, __builtin_return_address(0));
}

void tarn_unfree(void* p) { deallocate(p); }

}  // extern "C"
