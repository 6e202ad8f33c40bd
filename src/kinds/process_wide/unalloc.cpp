// unalloc: the process's heap with a class table (tarn/heap/unalloc.h).
//
// There is no lock, and nothing that a fork could find half-done. A thread makes a heap and offers
// it; if another one was faster, it ends its own. A choice of classes is an offer, too.
//
// Last in, first out, the heap is below: a thread's freed blocks are stacked (block_stacks.hpp), a
// stack for each class of the table. Hits are as without, since heap_id stays 0 then and leads to
// the slow path.
//
// SPDX-License-Identifier: MIT
#include "tarn/heap/unalloc.h"
#include "engine/records/class_table.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/operations/life.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/blocks/resize.hpp"
#include "platform/settings/settings.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include "heaps/blocks/allocate.hpp"
#include "kinds/process_wide/block_stacks.hpp"
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

// Whether freed blocks are stacked. It is chosen before the heap is offered.
enum class Order : unsigned char { unchosen, by_pages, lifo };
constinit std::atomic<Order> order{Order::unchosen};

// An order that nobody has chosen is that of the options.
bool is_lifo() noexcept { return order.load(std::memory_order_relaxed) == Order::lifo; }
void choose_order() noexcept {
  Order none = Order::unchosen;
  const Order wanted = settings[Option::unalloc_lifo] != 0 ? Order::lifo : Order::by_pages;
  order.compare_exchange_strong(none, wanted, std::memory_order_relaxed);
}

// Lets hits find the heap, if there are any.
void publish(HeapRecord& record) noexcept {
  if (!is_lifo()) heap_id.store(record.handle().id, std::memory_order_release);
}

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
  record->everlasting = true;
  publish(*record);
  return true;
}

int make(const std::size_t* class_bytes, std::size_t class_count) noexcept {
  if (is_made()) return EBUSY;
  if (class_bytes == nullptr || class_count == 0) return EINVAL;
  process.start();
  choose_order();
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
  TARN_ASSERT(record != nullptr);  // This thread has made it, or another one was first.
  publish(*record);
  return record->handle();  // It never ends, so its id is the one it began with.
}

tarn_heap the_heap() noexcept {
  HeapRecord* const record = heap_record.load(std::memory_order_acquire);
  return TARN_LIKELY(record != nullptr) ? record->handle() : first_heap();
}

// What hits do not serve: the first block, and the heap that is last in, first out. Blocks beyond
// the classes are not stacked.
TARN_NOINLINE void* allocate_slow(std::size_t bytes, const char* function,
                                  const void* site) noexcept {
  const tarn_heap heap = the_heap();
  if (heap.record == nullptr) return nullptr;
  HeapRecord& record = *static_cast<HeapRecord*>(heap.record);
  if (is_lifo() && !is_frozen(record)) {
    const std::size_t size_class = table_class_of(record, bytes, block_align);
    void* const block =
        size_class == no_class ? nullptr : take_stacked(unalloc_row(size_class - class_count));
    if (block != nullptr) return block;
  }
  return heap_allocate(heap, bytes, function, site);
}
TARN_INLINE void* allocate_any(std::size_t bytes, const char* function, const void* site) noexcept {
  const std::uint64_t id = heap_id.load(std::memory_order_acquire);
  if (TARN_UNLIKELY(id == 0)) return allocate_slow(bytes, function, site);
  return heap_allocate({heap_record.load(std::memory_order_relaxed), id}, bytes, function, site);
}

// The place in the table of a block that this thread may stack; TARN_HEAP_CLASSES_MAX: of none.
std::size_t place_to_stack(void* p) noexcept {
  constexpr std::size_t none = TARN_HEAP_CLASSES_MAX;
  auto* const page = static_cast<Page*>(page_map.span_of(p));
  HeapRecord* const record = heap_record.load(std::memory_order_relaxed);
  const bool is_mine = page->kind_now() == SpanKind::page &&
                       page->owner.load(std::memory_order_relaxed) == current_thread &&
                       page->heap_now()->record == record && page->is_block(p) &&
                       !is_frozen(*record);
  return is_mine ? page->size_class - std::size_t{class_count} : none;
}
bool stack_freed(void* p) noexcept {
  const std::size_t at = place_to_stack(p);
  return at < TARN_HEAP_CLASSES_MAX && stack_block(unalloc_row(at), p, "unfree");
}
TARN_INLINE void give(void* p) noexcept {
  if (TARN_UNLIKELY(is_lifo()) && stack_freed(p)) return;
  deallocate(p);
}

// Another block in place of p, each from and to its stack.
void* move_lifo(void* p, std::size_t usable, std::size_t bytes, const void* site) noexcept {
  void* const block = allocate_slow(bytes, "unrealloc", site);
  if (block == nullptr) return nullptr;
  memcpy(block, p, usable < bytes ? usable : bytes);
  give(p);
  return block;
}

TARN_NOINLINE void* reallocate_slow(void* p, std::size_t bytes, const void* site) noexcept {
  if (p != nullptr && bytes == 0) {
    give(p);
    return nullptr;
  }
  if (p == nullptr) return allocate_any(bytes, "unrealloc", site);
  const tarn_heap heap = the_heap();
  if (heap.record == nullptr) return nullptr;
  if (is_lifo() && bytes <= TARN_HEAP_CLASS_BYTES_MAX) {
    const std::size_t usable = usable_bytes(p, "unrealloc", site);
    const bool is_of_class = usable <= TARN_HEAP_CLASS_BYTES_MAX;
    if (bytes > usable) return move_lifo(p, usable, bytes, site);
    void* const moved = is_of_class ? nullptr : move_lifo(p, usable, bytes, site);
    if (moved != nullptr) return moved;
  }
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

int tarn_unalloc_use_lifo(int yes) {
  const int saved = errno;
  if (is_made()) return result_of(EBUSY, saved);
  order.store(yes != 0 ? Order::lifo : Order::by_pages, std::memory_order_relaxed);
  return result_of(0, saved);
}

void* tarn_unalloc(std::size_t size) {
  return allocate_any(size, "unalloc", __builtin_return_address(0));
}

void* tarn_uncalloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (TARN_UNLIKELY(!checked_multiply(count, size, &bytes))) {
    errno = ENOMEM;
    return nullptr;
  }
  if (bytes > TARN_HEAP_CLASS_BYTES_MAX) {  // Fresh memory is zero already.
    const tarn_heap heap = the_heap();
    if (heap.record == nullptr) return nullptr;
    return heap_allocate_slow(heap, {.bytes = bytes,
                                     .zero = true,
                                     .function = "uncalloc",
                                     .site = __builtin_return_address(0)});
  }
  void* const block = allocate_any(bytes, "uncalloc", __builtin_return_address(0));
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

void tarn_unfree(void* p) { give(p); }

}  // extern "C"
