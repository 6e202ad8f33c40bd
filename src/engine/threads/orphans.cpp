// orphans: see orphans.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/threads/orphans.hpp"

#include <new>

#include "engine/records/thread_heaps.hpp"
#include "engine/records/totals.hpp"
#include "engine/store/store.hpp"
#include "platform/base/check.hpp"
#include "platform/os/process.hpp"

namespace tarn {

constinit Orphans orphans;

namespace {

// The number of orphans whose current pages stay as they are, so that the next thread starts warm.
// The pages of older ones are flushed: then whatever is freed of them comes back by mail.
constexpr std::uint32_t warm_max = 4;

// How far a refill looks for a page to adopt before it takes a fresh one: past bins that have got
// empty or whose pages are in the mail, and past thread heaps of a heap that have none of the
// class.
constexpr int bins_looked_at = 8;
constexpr int thread_heaps_looked_at = 16;
constexpr int pages_looked_at = 4;

std::atomic<std::uint8_t> groups_given{0};
std::atomic<std::uint32_t> keys_given{0};

// The key of a new record's cache. There are fewer keys than there may be threads.
std::uint32_t next_key() noexcept {
  std::uint32_t given = keys_given.load(std::memory_order_relaxed);
  while (given + 2 < cache_keys) {
    if (keys_given.compare_exchange_weak(given, given + 1, std::memory_order_relaxed)) {
      return cache_key(given + 1);
    }
  }
  return no_cache_key;
}

// Neither 0, which malloc writes over it, nor an address. Both halves end in the bits that a node
// of a tree has when it has gone (kinds/trees/node.hpp), so that a free leaves these as they are.
std::uint64_t freed_mark() noexcept {
  static_assert(address_bits < 63);
  return os::process_random() | std::uint64_t{1} << 63 | 3 | std::uint64_t{3} << 32;
}

// The thread's record is the first of its records to lie in the pieces of its group.
Thread* make_thread() noexcept {
  static_assert(256 % thread_groups == 0);
  thread_group = groups_given.fetch_add(1, std::memory_order_relaxed) % thread_groups;
  void* const record = store.allocate_record(sizeof(Thread));
  if (record == nullptr) return nullptr;
  auto* const thread = new (record) Thread;
  thread->cache.key = next_key();
  thread->cache.freed_mark = freed_mark();
  if (empty_thread.cache.freed_mark == 0) {
    empty_thread.cache.freed_mark = std::uint64_t{thread->cache.freed_mark};
  }
  thread->heap.current.fill(no_page());
  thread->heap.thread = thread;
  thread->heap.record = &main_record;
  thread->group = thread_group;
  // malloc's heap by its handle. No thread holds it exclusively, so the slot is only ever
  // displaced.
  thread->slots[main_heap_id % heap_slots].current = thread->heap.current.data();
  thread->slots[main_heap_id % heap_slots].id.store(main_heap_id, std::memory_order_relaxed);
  return thread;
}

}  // namespace

Thread* Orphans::take(Counted counted) noexcept {
  {
    os::Locked locked(lock_);
    Thread* const thread = list_.pop_front();
    if (thread != nullptr) {
      count_.fetch_sub(1, std::memory_order_relaxed);
      TARN_ASSERT(thread->state.load(std::memory_order_relaxed) == ThreadState::orphan);
      TARN_ASSERT(!thread->warm || warm_count_ != 0);
      if (thread->warm) --warm_count_;
      thread->warm = false;
      Busy::begin(*thread);
      withdraw_locked(*thread);
      thread->state.store(ThreadState::live, std::memory_order_seq_cst);
      if (counted == Counted::yes) totals.count_thread_started();
      TARN_ASSERT_EVERY(64, check_locked());
      return thread;
    }
  }
  Thread* const thread = make_thread();
  if (thread == nullptr) return nullptr;
  Busy::begin(*thread);
  os::Locked locked(lock_);
  if (counted == Counted::yes) totals.count_thread_started();
  thread->next_known = known_.load(std::memory_order_relaxed);
  known_.store(thread, std::memory_order_release);  // Pairs with first_known().
  return thread;
}

Thread* Orphans::push_locked(Thread& thread) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() &&
              thread.state.load(std::memory_order_relaxed) == ThreadState::orphan);
  TARN_ASSERT(!thread.busy.load(std::memory_order_relaxed) && &thread != list_.head());
  list_.push_front(&thread);
  count_.fetch_add(1, std::memory_order_relaxed);
  thread.warm = true;
  if (++warm_count_ <= warm_max) return nullptr;
  // The warm ones are the newest, but for records that a fork left: the last of them cools down.
  Thread* last = &thread;
  while (last->next != nullptr && last->next->warm) last = last->next;
  last->warm = false;
  --warm_count_;
  TARN_ASSERT_EVERY(64, check_locked());
  return last;
}

void Orphans::cool_all_locked() noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  for_each_locked([](Thread& thread) noexcept { thread.warm = false; });
  warm_count_ = 0;
}

void Orphans::offer(ThreadHeap& orphan, std::size_t size_class) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  if (!is_mallocs(orphan)) return;  // Its heap is not malloc's: see adopt_in().
  TARN_ASSERT(size_class < class_count);
  Bin& bin = orphan.bin(size_class);
  if (bin.offered) return;
  bin.offered = true;
  offered_[size_class].push_front(&bin);
}

namespace {

template <class Visit>
void for_each_bin(const ThreadHeap& heap, Visit visit) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    if (Bin* const bin = heap.find_bin(c)) visit(*bin, c);
  }
}

}  // namespace

// Offers the bins of one more orphan that a fork has left. False when there is none.
bool Orphans::offer_next_locked() noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  if (unoffered_ == nullptr) return false;
  Thread& thread = *unoffered_;
  unoffered_ = thread.next;
  for_each_bin(thread.heap, [&](const Bin& bin, std::size_t c) noexcept {
    if (!bin.queue.empty()) offer(thread.heap, c);
  });
  return true;
}

// Takes the record's bins off the lists: its pages are a living thread's from here on. pre: the
// record has just left the front of the list
void Orphans::withdraw_locked(Thread& thread) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread());
  if (unoffered_ == &thread) unoffered_ = list_.head();
  for_each_bin(thread.heap, [&](Bin& bin, std::size_t c) noexcept {
    if (!bin.offered) return;
    bin.offered = false;
    offered_[c].remove(&bin);
  });
}

namespace {

// Takes a page off an orphan's queue; null when none of the first few can be had.
Page* take_from(Bin& bin) noexcept {
  Span* s = bin.queue.head();
  for (int i = 0; s != nullptr && i < pages_looked_at; s = s->next, ++i) {
    auto* const page = static_cast<Page*>(s);
    if (!page_open(page)) continue;  // In the mail: its receiver goes first.
    ThreadHeap& orphan = *page->heap;
    TARN_ASSERT(page->queued && page->kept == 0 && bin.slices >= page->slices);
    Busy busy(*orphan.thread);
    bin.queue.remove(page);
    bin.slices -= page->slices;
    orphan.pages.remove(page);
    page->queued = false;
    return page;
  }
  return nullptr;
}

// Goes round the heap's thread heaps, a few at a time, and takes a page from one whose thread has
// ended. Begins where it last found one.
Page* adopt_in(HeapRecord& record, std::size_t size_class) noexcept {
  TARN_ASSERT(orphans.lock().held_by_this_thread() && has_class(record, size_class));
  const ThreadHeap* first = nullptr;
  for (int i = 0; i < thread_heaps_looked_at; ++i) {
    ThreadHeap* thread_heap = record.adopt_next;
    // Acquire: pairs with ThreadHeaps::join().
    if (thread_heap == nullptr) {
      thread_heap = record.first_thread_heap.load(std::memory_order_acquire);
    }
    if (thread_heap == first) return nullptr;
    TARN_ASSERT(thread_heap->record == &record);
    if (first == nullptr) first = thread_heap;
    record.adopt_next = thread_heap;
    const bool ended =
        thread_heap->thread->state.load(std::memory_order_relaxed) == ThreadState::orphan;
    Bin* const bin = ended ? thread_heap->find_bin(size_class) : nullptr;
    Page* const page = bin == nullptr ? nullptr : take_from(*bin);
    if (page != nullptr) return page;
    record.adopt_next = thread_heap->next_of_record;
  }
  return nullptr;
}

}  // namespace

Page* Orphans::adopt_offered_locked(std::size_t size_class) noexcept {
  TARN_ASSERT(lock_.held_by_this_thread() && size_class < class_count);
  List<Bin>& bins = offered_[size_class];
  for (int i = 0; i < bins_looked_at; ++i) {
    Bin* const bin = bins.head();
    TARN_ASSERT(bin == nullptr || bin->offered);
    if (bin == nullptr) {
      if (!offer_next_locked()) return nullptr;
      continue;
    }
    if (Page* const page = take_from(*bin)) return page;
    bins.remove(bin);
    bin->offered = !bin->queue.empty();
    if (bin->offered) bins.push_back(bin);
  }
  return nullptr;
}

Page* Orphans::adopt_page(ThreadHeap& heap, std::size_t size_class) noexcept {
  if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
  if (heap.record->walking) return nullptr;  // A visitor allocates: pages stay where they are.
  if (!lock_.try_lock()) return nullptr;
  Page* const adopted = heap.record == &main_record ? adopt_offered_locked(size_class)
                                                    : adopt_in(*heap.record, size_class);
  if (adopted != nullptr) {
    TARN_ASSERT(adopted->size_class == size_class && !adopted->queued);
    // Under the lock: a new thread may take the orphan next, and must not find its own pages here,
    // nor its key in their tags.
    if (heap.record == &main_record) page_map.retag(adopted->base, adopted->slices, 0);
    TARN_FORK_FENCE();
    adopted->set_heap(&heap);
    adopted->owner.store(owner_of_pages(heap), std::memory_order_relaxed);
  }
  lock_.unlock();
  return adopted;
}

// Adds the record of a vanished thread. To offer its bins now would copy memory in every child.
void Orphans::add_vanished(Thread& thread) noexcept {
  TARN_ASSERT(&thread != current_thread && !thread.busy.load(std::memory_order_relaxed));
  thread.warm = false;
  thread.cache.torn = true;
  thread.gathered.recount();
  thread.state.store(ThreadState::orphan, std::memory_order_relaxed);
  list_.push_back(&thread);
  if (unoffered_ == nullptr) unoffered_ = &thread;
  count_.fetch_add(1, std::memory_order_relaxed);
}

// Records whose lists may be half-changed are lost: nobody owns them from here on. If the surviving
// thread itself holds the lock (it forks in a signal handler, and goes on where it was), the list
// is not touched: the vanished threads' records are then lost, too.
void Orphans::recover_after_fork(const Thread* survivor, const Thread* ending) noexcept {
  const bool in_use = lock_.held_by_this_thread();
  const bool damaged = lock_.recover_after_fork();
  if (damaged) {
    list_.abandon();
    count_.store(0, std::memory_order_relaxed);
    warm_count_ = 0;
    unoffered_ = nullptr;
    for (List<Bin>& bins : offered_) bins.abandon();
    for (Thread* t = first_known(); t != nullptr; t = t->next_known) {
      for_each_bin(t->heap, [](Bin& bin, std::size_t) noexcept {
        if (bin.offered) bin.offered = false;
      });
    }
  }
  std::uint64_t alive = 0;
  for (Thread* t = first_known(); t != nullptr; t = t->next_known) {
    if (t == survivor) {
      ++alive;
      continue;
    }
    if (t == ending) continue;
    const ThreadState state = t->state.load(std::memory_order_relaxed);
    const bool vanished = state == ThreadState::live;
    if (!vanished && !(damaged && state == ThreadState::orphan)) continue;
    // A thread that enters an exclusive section would wait for ever.
    t->inside.store(false, std::memory_order_relaxed);
    if (in_use || t->busy.load(std::memory_order_relaxed)) {
      t->state.store(ThreadState::lost, std::memory_order_relaxed);
      continue;
    }
    add_vanished(*t);
  }
  if (totals.threads_alive() > alive) has_vanished_.store(true, std::memory_order_relaxed);
  totals.set_threads_alive(alive);
}

#ifdef TARN_DEBUG
bool Orphans::check_locked() const noexcept {
  std::size_t listed = 0;   // Bins on the lists,
  std::size_t flagged = 0;  // and bins of orphans that say so.
  for (const List<Bin>& bins : offered_) {
    if (!bins.check()) return false;
    for (const Bin* bin = bins.head(); bin != nullptr; bin = bin->next, ++listed) {
      if (!bin->offered) return false;
    }
  }
  if (!list_.check()) return false;
  std::uint32_t count = 0;
  std::uint32_t warm = 0;
  bool is_offered = true;
  bool is_sound = true;
  for (const Thread* t = list_.head(); t != nullptr; t = t->next, ++count) {
    if (t->state.load(std::memory_order_relaxed) != ThreadState::orphan) return false;
    warm += t->warm ? 1 : 0;
    is_offered = is_offered && t != unoffered_;
    for_each_bin(t->heap, [&](const Bin& bin, std::size_t) noexcept {
      flagged += bin.offered ? 1 : 0;
      is_sound = is_sound && (bin.offered || bin.queue.empty() || !is_offered);
    });
  }
  return is_sound && listed == flagged && warm == warm_count_ &&
         count == count_.load(std::memory_order_relaxed);
}
#endif

}  // namespace tarn
