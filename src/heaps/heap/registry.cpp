// registry: see registry.hpp.
//
// SPDX-License-Identifier: MIT
#include "heaps/heap/registry.hpp"

#include <cerrno>
#include <cstring>
#include <new>

#include "engine/records/thread_heaps.hpp"
#include "engine/records/tombstones.hpp"
#include "platform/base/check.hpp"

namespace tarn {

constinit Registry registry;

namespace {

void put_name(char* to, const char* from) noexcept {
  const std::size_t length = from == nullptr ? 0 : strnlen(from, TARN_HEAP_NAME_BYTES - 1);
  if (length != 0) memcpy(to, from, length);
  to[length] = '\0';
}

bool is_below(const HeapRecord* record, const HeapRecord* ancestor) noexcept {
  do {
    record = record->parent;
  } while (record != nullptr && record != ancestor);
  return record != nullptr;
}

void set_up(Limits& limits, const tarn_heap_options& options) noexcept {
  limits.committed.store(0, std::memory_order_relaxed);
  limits.committed_peak.store(0, std::memory_order_relaxed);
  limits.soft_mark_passed.store(false, std::memory_order_relaxed);
  limits.set_ceiling(options.ceiling_bytes);
  limits.set_floor(options.floor_bytes);
  limits.set_soft_mark(options.soft_mark_bytes);
  limits.reclaim = options.reclaim;
  limits.soft_mark_callback = options.soft_mark;
  limits.context = options.context;
}

// False when out of memory; what has been made stays with the record.
bool provide_groups(HeapRecord& record, std::size_t classes) noexcept {
  TARN_ASSERT(classes <= fixed_classes_max);
  for (std::size_t i = 0; i < classes; i += fixed_group_classes) {
    FixedGroup*& group = record.fixed_groups[i / fixed_group_classes];
    if (group != nullptr) continue;
    void* const memory = record.source.allocate_record(sizeof(FixedGroup));
    if (memory == nullptr) return false;
    group = new (memory) FixedGroup;
  }
  return true;
}

// pre: there is room for it. Without an id so far.
FixedClass& set_up_class(HeapRecord& record, std::size_t at, std::uint64_t heap_id,
                         std::size_t block_bytes, std::size_t size_class) noexcept {
  TARN_ASSERT(at < fixed_classes_max && block_bytes != 0);
  FixedClass& made = record.fixed(at);
  made.block_bytes = static_cast<std::uint32_t>(block_bytes);
  made.size_class = static_cast<std::uint32_t>(size_class);
  made.heap = &record;
  made.heap_id = heap_id;
  return made;
}

// pre: there is room for them.
void set_up_table(HeapRecord& record, const tarn_heap_options& options,
                  std::uint64_t heap_id) noexcept {
  const std::size_t count = options.class_count;
  for (std::size_t i = 0; i < count; ++i) {
    set_up_class(record, i, heap_id, options.class_bytes[i], class_count + i);
  }
  const std::size_t most = count == 0 ? block_bytes_max : options.class_bytes[count - 1];
  record.fixed_count.store(static_cast<std::uint32_t>(count), std::memory_order_relaxed);
  record.table_count.store(static_cast<std::uint16_t>(count), std::memory_order_relaxed);
  record.paged_grains.store(static_cast<std::uint16_t>(most / block_align),
                            std::memory_order_relaxed);
  record.young.store(count == 0, std::memory_order_relaxed);
}

// A spare record, with its gate held; null when there is none. A thread that came too late to enter
// an exclusive section of the record's last heap, or to wait at its gate, may hold the gate for a
// moment: then another record is taken. The gate is tried, since gates come before the registry's
// lock.
TARN_INLINE HeapRecord* take_spare(List<HeapRecord>& spares) noexcept {
  HeapRecord* record = spares.head();
  while (record != nullptr && TARN_UNLIKELY(!record->gate.try_lock())) record = record->next;
  if (record != nullptr) spares.remove(record);
  return record;
}

}  // namespace

HeapRecord* Registry::take_record_locked(bool for_region) noexcept {
  if (for_region) {
    if (HeapRecord* const spare = take_spare(spare_static_)) return spare;
    if (static_used_ < static_records_) return new_record_locked(static_memory_[static_used_++]);
  }
  if (HeapRecord* const spare = take_spare(spare_)) return spare;
  return new_record_locked(store.allocate_record(sizeof(HeapRecord)));
}

HeapRecord* Registry::new_record_locked(void* memory) noexcept {
  if (memory == nullptr) return nullptr;
  auto* const record = new (memory) HeapRecord;
  record->gate.lock();  // Before others can find it.
  record->next_known = known_.load(std::memory_order_relaxed);
  known_.store(record, std::memory_order_release);
  return record;
}

void Registry::spare_record_locked(HeapRecord& record) noexcept {
  TARN_ASSERT(record.children == 0 && record.id.load(std::memory_order_relaxed) == 0);
  const std::uintptr_t offset = address_of(&record) - address_of(static_memory_);
  const bool is_static = offset < sizeof static_memory_;
  (is_static ? spare_static_ : spare_).push_back(&record);
}

HeapRecord* Registry::make(const tarn_heap_options& options, SpanSource source,
                           Checks* checks) noexcept {
  os::Locked locked(thread_heaps.lock());
  auto* const parent = static_cast<HeapRecord*>(options.parent.record);
  if (parent != nullptr && parent->id.load(std::memory_order_relaxed) != options.parent.id) {
    return nullptr;
  }
  HeapRecord* const record = take_record_locked(options.region != nullptr);
  if (record == nullptr) return nullptr;
  TARN_ASSERT(record->gate.held_by_this_thread() &&
              record->id.load(std::memory_order_relaxed) == 0);
  TARN_ASSERT(record->children == 0 && record->parent == nullptr && record->large.empty());
  TARN_ASSERT(record->first_thread_heap.load(std::memory_order_relaxed) == nullptr);
  record->source = source;
  record->checks = checks;
  if (!provide_groups(*record, options.class_count)) {
    if (is_region(*record)) record->fixed_groups.fill(nullptr);
    record->checks = nullptr;
    record->source = {};
    record->gone = true;
    spare_record_locked(*record);
    record->gate.unlock();
    return nullptr;
  }
  record->secret = (options.flags & TARN_HEAP_SECRET) != 0;
  const auto threads = record->secret ? HeapThreads::serialised  // Hit paths wipe nothing.
                                      : static_cast<HeapThreads>(options.threads);
  record->threads.store(threads, std::memory_order_relaxed);
  record->maker = os::thread_id();
  record->belongs_to = nullptr;
  record->gone = false;
  set_up_table(*record, options, main_heap_id + ids_given_ + 1);
  record->parent = parent;
  if (parent != nullptr) ++parent->children;
  set_up(record->limits, options);
  record->live_bytes.store(0, std::memory_order_relaxed);
  record->live_bytes_peak.store(0, std::memory_order_relaxed);
  put_name(record->name, options.name);
  record->id.store(new_id_locked(), std::memory_order_release);
  live_.push_back(record);
  record->gate.unlock();  // A thread that holds the heap exclusively from here on finds the new id.
  return record;
}

bool Registry::end_id(HeapRecord& record, std::uint64_t id) noexcept {
  os::Locked locked(thread_heaps.lock());
  if (record.id.load(std::memory_order_relaxed) != id) return false;
  tombstones.add(id, record.name);
  record.id.store(0, std::memory_order_seq_cst);
  const std::uint32_t fixed_count = record.fixed_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < fixed_count; ++i) {
    record.fixed(i).id.store(0, std::memory_order_relaxed);
  }
  live_.remove(&record);
  return true;
}

void Registry::give(HeapRecord& record) noexcept {
  TARN_ASSERT(record.id.load(std::memory_order_relaxed) == 0 && record.checks == nullptr);
  TARN_ASSERT(record.source.is_store() && record.mixed.page == nullptr && record.large.empty());
  os::Locked locked(thread_heaps.lock());
  record.gone = true;
  for (HeapRecord* r = &record; r != nullptr && r->gone && r->children == 0;) {
    HeapRecord* const parent = r->parent;
    r->parent = nullptr;
    spare_record_locked(*r);
    TARN_ASSERT(parent == nullptr || parent->children != 0);
    if (parent != nullptr) --parent->children;
    r = parent;
  }
}

FixedClass* Registry::make_fixed(HeapRecord& record, std::uint64_t heap_id,
                                 std::size_t block_bytes) noexcept {
  os::Locked locked(thread_heaps.lock());
  if (record.id.load(std::memory_order_relaxed) != heap_id) {
    errno = EINVAL;
    return nullptr;
  }
  const std::uint32_t count = record.fixed_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    FixedClass& known = record.fixed(i);
    if (known.block_bytes != block_bytes) continue;
    // A table's classes get theirs here: ids are places in the threads' slots, and few ask.
    if (known.id == 0) known.id.store(new_id_locked(), std::memory_order_relaxed);
    return &known;
  }
  if (count == fixed_classes_max) {
    errno = ENOSPC;
    return nullptr;
  }
  if (!provide_groups(record, count + 1)) {
    errno = ENOMEM;
    return nullptr;
  }
  // A class of its own even where another has blocks as large: what was asked for is known of its
  // blocks.
  FixedClass& made = set_up_class(record, count, heap_id, block_bytes, class_count + count);
  made.id.store(new_id_locked(), std::memory_order_relaxed);
  record.fixed_count.store(count + 1, std::memory_order_release);
  return &made;
}

void Registry::add_counts(tarn_account* account) noexcept {
  thread_heaps.add_past_counts(account);
  os::LockedUnlessHeld locked(thread_heaps.lock());
  for (HeapRecord* r = live_.head(); r != nullptr; r = r->next) {
    for (ThreadHeap* h = r->first_thread_heap; h != nullptr; h = h->next_of_record) {
      add_counts_of(*h, *r, account);
    }
  }
}

tarn_heap Registry::next_after(const tarn_heap& heap, const HeapRecord* ancestor) noexcept {
  os::Locked locked(thread_heaps.lock());
  if (ancestor != nullptr && ancestor->children == 0) return {};
  HeapRecord* record = live_.head();
  if (heap.record != nullptr) {
    auto* const before = static_cast<HeapRecord*>(heap.record);
    record = before->id.load(std::memory_order_relaxed) == heap.id ? before->next : nullptr;
  }
  while (record != nullptr && ancestor != nullptr && !is_below(record, ancestor)) {
    record = record->next;
  }
  return record == nullptr ? tarn_heap{} : record->handle();
}

bool Registry::is_live_in(const tarn_heap& heap, const HeapRecord* top) noexcept {
  os::Locked locked(thread_heaps.lock());
  const auto* const record = static_cast<const HeapRecord*>(heap.record);
  if (record->id.load(std::memory_order_relaxed) != heap.id) return false;
  return top == nullptr || record == top || is_below(record, top);
}

void Registry::rebuild() noexcept {
  live_.abandon();
  spare_.abandon();
  spare_static_.abandon();
  for_each_known([this](HeapRecord& record) noexcept {
    if (record.id.load(std::memory_order_relaxed) != 0) {
      live_.push_front(&record);
    } else if (record.gone && record.children == 0) {
      spare_record_locked(record);
    }
  });
}

}  // namespace tarn
