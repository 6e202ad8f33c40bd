// xalloc: the class pools that the process shares (tarn/pool/xalloc.h). They are
// constant-initialised, ready at the first call, and never end. Lock order: the gate, malloc's
// locks. The gate is left while a source is called, since that may call functions of the program,
// which may use the family.
//
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstring>

#include "engine/records/record.hpp"
#include "heaps/blocks/allocate.hpp"
#include "kinds/class_pools/blocks.hpp"
#include "kinds/class_pools/check.hpp"
#include "kinds/class_pools/chunks.hpp"
#include "kinds/class_pools/class_pools.hpp"
#include "kinds/class_pools/classes.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/options.hpp"
#include "tarn/pool/xalloc.h"

namespace tarn {

namespace {

// The lock of the family. A thread that holds it over several operations may enter it again.
class Gate {
 public:
  void enter() {
    // Relaxed: only this thread can have written its own id.
    if (TARN_UNLIKELY(holder_.load(std::memory_order_relaxed) == os::thread_id())) {
      ++inside_;
    } else if (kind_ == Kind::own) {
      lock_.lock();
    } else if (kind_ == Kind::users) {
      users_.lock(users_.context);
    }
  }
  void leave() {
    if (TARN_UNLIKELY(inside_ != 0)) {
      --inside_;
    } else if (kind_ == Kind::own) {
      lock_.unlock();
    } else if (kind_ == Kind::users) {
      users_.unlock(users_.context);
    }
  }

  void hold() {
    enter();
    ++holds_;
    holder_.store(os::thread_id(), std::memory_order_relaxed);
  }
  void let_go() {
    TARN_ASSERT(holds_ != 0);
    if (--holds_ == 0) holder_.store(0, std::memory_order_relaxed);
    leave();
  }
  bool is_held_here() const noexcept {
    return holder_.load(std::memory_order_relaxed) == os::thread_id();
  }

  void set(const tarn_class_pools_lock* lock) noexcept {
    kind_ = lock == nullptr ? Kind::own : lock->lock == nullptr ? Kind::none : Kind::users;
    users_ = lock == nullptr ? tarn_class_pools_lock{} : *lock;
  }

  // Called around a fork, and afterwards in both processes. If a signal handler forks in the middle
  // of its thread's operation, the lock stays as it is, since the operation goes on in both
  // processes.
  void before_fork() {
    const bool interrupts = kind_ == Kind::own && lock_.held_by_this_thread() && !is_held_here();
    if (interrupts) {
      ++interrupted_;
    } else {
      hold();
    }
  }
  void after_fork() {
    if (interrupted_ != 0) {
      --interrupted_;
    } else {
      let_go();
    }
  }

 private:
  enum class Kind : unsigned char { own, users, none };

  os::Lock lock_;
  std::atomic<os::ThreadId> holder_{0};
  // The thread that has the lock writes all fields below.
  unsigned inside_ = 0;  // How many operations of the holder are under way, one within another.
  unsigned holds_ = 0;
  unsigned interrupted_ = 0;
  Kind kind_ = Kind::own;
  tarn_class_pools_lock users_{};
};

constinit Gate gate;
constinit tarn_class_pools pools{};    // They are ready if they have classes.
constinit bool has_ended = false;      // Ended while blocks lived, and not used since.
constinit tarn_source users_source{};  // The program's source, if the memory is not malloc's.
constinit unsigned asking = 0;         // How many calls of a source are under way, in all threads.
TARN_INITIAL_EXEC __thread unsigned asking_here = 0;  // How many of them are this thread's.
constinit std::atomic<bool> knows_forks{false};

// The usual classes lie here, so that making them takes no memory and no call.
constexpr std::size_t usual_bytes = 8 * 1024;
constexpr std::size_t usual_classes = log2_floor(block_bytes_most / least_block) + 1 + 2;
static_assert(usual_classes * sizeof(tarn_class_pool) +
                  (bucket_of(block_bytes_most) + 1) * sizeof(std::uint16_t) <=
              usual_bytes);
alignas(64) constinit char usual[usual_bytes]{};
tarn_chunk take_usual(void*, std::size_t bytes, std::size_t) { return {usual, bytes}; }

// While this object lives, the operation has left the gate to call a source. malloc's heap may have
// to ask owners of other memory (tarn/heap/recover.h), which may use the family.
class Asking {
 public:
  Asking() {
    ++asking;
    ++asking_here;
    gate.leave();
  }
  ~Asking() {
    gate.enter();
    TARN_ASSERT(asking_here != 0 && asking >= asking_here);
    --asking_here;
    --asking;
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
};

tarn_chunk take_chunk(void*, std::size_t bytes, std::size_t alignment) {
  const Asking outside;
  const tarn_source heap = tarn_source_default();
  return heap.acquire(heap.context, bytes, alignment);
}
// Takes zeros from malloc's heap, whose fresh memory need not be written.
tarn_chunk take_zeros(std::size_t bytes, std::size_t alignment) {
  const Asking outside;
  void* const data = heap_allocate_slow(
      main_record.handle(),
      {.bytes = bytes, .alignment = alignment, .zero = true, .function = "xcalloc"});
  return {data, data == nullptr ? 0 : bytes};
}
// The gate is not left: malloc's heap calls no function of the program when memory comes back.
void give_chunk(void*, tarn_chunk chunk) {
  const tarn_source heap = tarn_source_default();
  heap.release(heap.context, chunk);
}
tarn_chunk take_from_users(void*, std::size_t bytes, std::size_t alignment) {
  const Asking outside;
  return users_source.acquire(users_source.context, bytes, alignment);
}
void give_to_users(void*, tarn_chunk chunk) {
  const Asking outside;
  if (users_source.release != nullptr) users_source.release(users_source.context, chunk);
}

// A thread that does not see yet that this has been done does it again, which is no harm: it nests.
TARN_COLD void know_forks() {
  os::process_around_fork([] { gate.before_fork(); }, [] { gate.after_fork(); },
                          [] {
                            asking = asking_here;
                            gate.after_fork();
                          });
  knows_forks.store(true, std::memory_order_relaxed);
}

class Entered {
 public:
  // The fork handlers must be there before the lock is taken for the first time.
  Entered() {
    if (TARN_UNLIKELY(!knows_forks.load(std::memory_order_relaxed))) know_forks();
    gate.enter();
  }
  ~Entered() { gate.leave(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};

// All functions below, up to make_with(), need an Entered.

void use_malloc() {
  pools.source.acquire = take_chunk;
  pools.source.release = give_chunk;
  pools.acquire_zeros = take_zeros;
}

// The usual classes.
TARN_COLD int make() {
  constexpr std::size_t tuned[] = {396, 768};  // As Lafreniere's xallocator has them.
  tarn_source source = TARN_SOURCE();
  source.acquire = take_usual;
  tarn_class_pools_options own = TARN_CLASS_POOLS_OPTIONS();
  own.name = "xmalloc";
  own.class_bytes = tuned;
  own.class_count = 2;
  own.source = &source;
  if (tarn_class_pools_init(&pools, &own) != 0) return -1;
  use_malloc();
  return 0;
}
TARN_INLINE bool is_ready() {
  if (TARN_UNLIKELY(has_ended)) has_ended = false;
  return TARN_LIKELY(pools.class_count != 0) || make() == 0;
}

// Called without an Entered, since the memory for the classes may come from a source of the
// program.
int make_with(const tarn_class_pools_options& options) {
  tarn_class_pools made{};
  tarn_class_pools_options own = options;
  own.lock = {};
  if (tarn_class_pools_init(&made, &own) != 0) return -1;
  {
    const Entered entered;
    if (pools.class_count == 0) {
      has_ended = false;
      TARN_ASSERT(asking == 0 && pools.root == nullptr);
      move_class_pools(made, pools);
      users_source = pools.source;
      pools.source.acquire = take_from_users;
      pools.source.release = give_to_users;
      if (options.source == nullptr) use_malloc();
      return 0;
    }
  }
  tarn_class_pools_destroy(&made);
  return os::fail(os::Error::busy);
}

void* allocate(std::size_t bytes, std::size_t alignment, bool* zero) {
  void* p = nullptr;
  {
    const Entered entered;
    if (is_ready()) p = allocate_block(pools, bytes, alignment, zero);
  }
  TARN_ASSERT(is_aligned(p, alignment));
  if (TARN_UNLIKELY(p == nullptr)) os::set_error(os::Error::no_memory);
  return p;
}

// Ends the pools if there is no live block. False: there are some, or a thread that is calling a
// source will go on with the classes. pre: entered, and no chunk is empty
bool end_if_empty() {
  if (pools.root != nullptr || asking != 0) return false;
  has_ended = false;
  const tarn_source source =
      pools.source.acquire == take_chunk ? tarn_source_default() : users_source;
  const tarn_chunk left[] = {pools.recents, pools.table};
  TARN_ASSERT(pools.acquired == pools.released);
  pools.table = pools.recents = {};
  if (pools.class_count != 0) tarn_class_pools_destroy(&pools);
  // The pools have ended here, so other threads may enter and make new ones.
  gate.leave();
  for (const tarn_chunk& chunk : left) {
    const bool is_source_s = chunk.data != nullptr && chunk.data != usual;
    if (is_source_s && source.release != nullptr) source.release(source.context, chunk);
  }
  gate.enter();
  return true;
}

// A block of this class was freed after the family had ended. All empty chunks went then, so the
// only empty one can be that which has become the spare now. pre: entered
TARN_COLD void note_freed_late(tarn_class_pool& pool) {
  TARN_ASSERT(has_ended);
  if (pool.spare != nullptr && pool.spare->live == 0) release_chunk(pools, pool.spare);
  end_if_empty();
}

void deallocate(void* p, Caller caller) {
  Found found{};
  {
    const Entered entered;
    found = find_block(pools, p);
    if (found.verdict == Verdict::live) {
      tarn_class_pool& pool = *found.chunk->pool;
      free_block(pools, found);
      if (TARN_UNLIKELY(has_ended)) note_freed_late(pool);
    }
  }
  if (TARN_UNLIKELY(found.verdict != Verdict::live)) report_wrong(pools, found, p, caller);
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

TARN_EXPORT void* tarn_xmalloc(std::size_t bytes) {
  bool zero = false;
  return allocate(bytes, least_block, &zero);
}

TARN_EXPORT void* tarn_xmalloc_aligned(std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment)) {
    os::set_error(os::Error::invalid);
    return nullptr;
  }
  bool zero = false;
  return allocate(bytes, alignment, &zero);
}

TARN_EXPORT void* tarn_xcalloc(std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (!checked_multiply(count, bytes, &product)) product = SIZE_MAX;
  bool is_zero = true;
  void* const p = allocate(product, least_block, &is_zero);
  if (p != nullptr && !is_zero) std::memset(p, 0, product);
  return p;
}

TARN_EXPORT void* tarn_xrealloc(void* p, std::size_t bytes) {
  if (p == nullptr) return tarn_xmalloc(bytes);
  const Caller caller{"xrealloc", __builtin_return_address(0)};
  if (bytes == 0) {
    deallocate(p, caller);
    return nullptr;
  }
  Resized resized;
  {
    const Entered entered;
    resized = resize_block(pools, p, bytes);
    if (TARN_UNLIKELY(resized.block != nullptr && resized.block != p)) has_ended = false;
  }
  if (resized.found.verdict != Verdict::live) report_wrong(pools, resized.found, p, caller);
  if (resized.block == nullptr) os::set_error(os::Error::no_memory);
  if (resized.block == p || resized.block == nullptr) return resized.block;
  TARN_ASSERT(resized.contents < bytes);
  std::memcpy(resized.block, p, resized.contents);
  deallocate(p, caller);
  return resized.block;
}

TARN_EXPORT void tarn_xfree(void* p) {
  if (p != nullptr) deallocate(p, {"xfree", __builtin_return_address(0)});
}

TARN_EXPORT std::size_t tarn_xalloc_usable_bytes(const void* p) {
  const Entered entered;
  return tarn_class_pools_usable_bytes(&pools, p);
}

TARN_EXPORT int tarn_xalloc_init(const tarn_class_pools_options* options) {
  // A shorter struct must not be read beyond its end.
  if (options != nullptr && !is_sized(*options, "tarn_xalloc_init", "TARN_CLASS_POOLS_OPTIONS")) {
    return os::fail(os::Error::invalid);
  }
  const bool locks = options != nullptr && options->lock.lock != nullptr;
  if (options != nullptr && (options->lock.unlock != nullptr) != locks) {
    return os::fail(os::Error::invalid);
  }
  {
    const Entered entered;
    if (pools.class_count != 0) return options == nullptr ? 0 : os::fail(os::Error::busy);
    if (options == nullptr) return make();
  }
  if (make_with(*options) != 0) return -1;
  if (locks) gate.set(&options->lock);
  return 0;
}

TARN_EXPORT void tarn_xalloc_destroy(void) {
  const Entered entered;
  if (pools.class_count == 0) return;
  trim(pools);
  if (end_if_empty()) return;
  forget_counts(pools);
  has_ended = true;
}

TARN_EXPORT void tarn_xalloc_set_lock(const tarn_class_pools_lock* lock) { gate.set(lock); }

TARN_EXPORT void tarn_xalloc_lock(void) {
  if (!knows_forks.load(std::memory_order_relaxed)) know_forks();
  gate.hold();
}

TARN_EXPORT void tarn_xalloc_unlock(void) {
  if (gate.is_held_here()) gate.let_go();
}

TARN_EXPORT int tarn_xalloc_get_class_stats(std::size_t number, tarn_class_pool_stats* stats) {
  const Entered entered;
  if (pools.class_count == 0) make();
  return tarn_class_pools_get_class_stats(&pools, number, stats);
}

TARN_EXPORT int tarn_xalloc_get_stats(tarn_class_pools_stats* stats) {
  const Entered entered;
  return tarn_class_pools_get_stats(&pools, stats);
}

TARN_EXPORT void* tarn_xalloc_next(const void* p, std::size_t* bytes) {
  const Entered entered;
  return tarn_class_pools_next(&pools, p, bytes);
}

TARN_EXPORT std::size_t tarn_xalloc_trim(void) {
  const Entered entered;
  return trim(pools);
}

TARN_EXPORT int tarn_xalloc_check(void) {
  const Entered entered;
  return check_class_pools(pools) ? 1 : 0;
}

}  // extern "C"
