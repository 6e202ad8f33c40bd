// every_call_fails: of the system calls that a piece of work makes, the n-th is refused, for every
// n; then the n-th and all later ones. Each piece is one way into the library. What cannot be had
// is told by null and ENOMEM (std::bad_alloc, a status), what was there stays as it is, nothing is
// lost, and once the kernel is itself again everything can be had.
//
// Usage: every_call_fails all | sampled | PIECE. `sampled` takes, beyond the first 12 calls, ever
// fewer. TARN_OPTIONS says which malloc it is.
//
// SPDX-License-Identifier: MIT
#include "supervised.hpp"

#include <pthread.h>

#include <new>

#include <tarn/tarn.h>

#include "family.h"
#include "pattern.h"

namespace {

using supervised::shared;
using supervised::Watched;

bool is_refused() { return shared().refused.load() != 0; }

// A malloc that guards its blocks makes calls for each of them, which takes a while here.
std::size_t some(std::size_t count) {
  static const char* const options = getenv("TARN_OPTIONS");
  static const bool is_guarded = options != nullptr && strstr(options, "guarded") != nullptr;
  return is_guarded ? count / 50 + 2 : count;
}

// Null is an answer only if the kernel refused something, and it has its reason.
bool is_there(const void* p) {
  if (p != nullptr) return true;
  CHECK(errno == ENOMEM);
  CHECK(is_refused());
  errno = 0;
  return false;
}

// Whether a call that says 0 or an error number did it.
bool is_done(int error) {
  if (error == 0) return true;
  CHECK(error == ENOMEM);
  CHECK(is_refused());
  return false;
}

// The blocks of a piece. Each has its own pattern.
class Kept {
 public:
  std::size_t count() const { return count_; }

  void take(void* p, std::size_t bytes) {
    if (!is_there(p)) return;
    CHECK(count_ != most);
    const unsigned seed = next_seed_++;
    pattern_fill(p, bytes, seed);
    blocks_[count_++] = {p, bytes, seed};
  }
  void check(std::size_t i) const {
    CHECK(pattern_holds(blocks_[i].p, blocks_[i].bytes, blocks_[i].seed));
  }
  void check() const {
    for (std::size_t i = 0; i < count_; ++i) check(i);
  }
  // resize(p, bytes): null when it cannot be; then the block is as it was.
  template <class Resize>
  void resize(std::size_t i, std::size_t bytes, Resize resize) {
    Block& b = blocks_[i];
    void* const moved = resize(b.p, bytes);
    if (!is_there(moved)) return check(i);
    CHECK(pattern_holds_prefix(moved, bytes < b.bytes ? bytes : b.bytes, b.bytes, b.seed));
    pattern_fill(moved, bytes, b.seed);
    b = {moved, bytes, b.seed};
  }
  // Every `step`-th block that is left goes; errno stays.
  template <class Free>
  void give(std::size_t step, Free free_one) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      if (i % step != 0) {
        blocks_[left++] = blocks_[i];
        continue;
      }
      check(i);
      errno = 77;
      free_one(blocks_[i].p);
      CHECK(errno == 77);
    }
    count_ = left;
  }
  void give_all() {
    give(1, [](void* p) { free(p); });
  }
  void forget() { count_ = 0; }

 private:
  struct Block {
    void* p;
    std::size_t bytes;
    unsigned seed;
  };
  static constexpr std::size_t most = 8192;
  Block blocks_[most];
  std::size_t count_ = 0;
  unsigned next_seed_ = 0;
};
Kept kept;

constexpr std::size_t mixed_bytes[] = {1,     24,     100,    600,     2000,     7000,    20000,
                                       70000, 200000, 700000, 3000000, 12000000, 40000000};
constexpr std::size_t mixed_count = std::size(mixed_bytes);

// --- The process's malloc --------------------------------------------------------------------

template <std::size_t bytes, std::size_t count>
void blocks() {
  {
    const Watched watched;
    for (std::size_t i = 0; i < some(count); ++i) kept.take(malloc(bytes), bytes);
    kept.give(3, [](void* p) { free(p); });
    for (std::size_t i = 0; i < some(count / 3); ++i) kept.take(malloc(bytes), bytes);
  }
  kept.give_all();
}

void zeroed() {
  {
    const Watched watched;
    for (int round = 0; round < 2; ++round) {
      for (const std::size_t bytes : mixed_bytes) {
        void* const p = calloc(bytes, 1);
        if (p != nullptr) {
          const auto* const at = static_cast<const char*>(p);
          CHECK(at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0);
        }
        kept.take(p, bytes);
      }
      kept.give_all();
    }
  }
  kept.give_all();
}

void resized() {
  const auto resize = [](void* p, std::size_t bytes) { return realloc(p, bytes); };
  {
    const Watched watched;
    for (int i = 0; i < 3; ++i) kept.take(malloc(10), 10);
    for (std::size_t bytes = 30; bytes < 20'000'000; bytes = bytes * 5 / 2) {
      for (std::size_t i = 0; i < kept.count(); ++i) kept.resize(i, bytes + i, resize);
    }
    for (std::size_t bytes = 8'000'000; bytes > 10; bytes /= 6) {
      for (std::size_t i = 0; i < kept.count(); ++i) kept.resize(i, bytes + i, resize);
    }
    for (std::size_t i = 0; i < kept.count(); ++i) {
      kept.resize(i, 5000, [](void* p, std::size_t bytes) { return reallocarray(p, bytes, 1); });
    }
  }
  kept.give_all();
}

void aligned() {
  {
    const Watched watched;
    for (std::size_t alignment = 8; alignment <= 4 * MEBIBYTE; alignment *= 8) {
      for (const std::size_t bytes : {std::size_t{40}, std::size_t{9000}, 2 * MEBIBYTE}) {
        void* p = &p;
        if (is_done(posix_memalign(&p, alignment, bytes))) {
          CHECK(is_aligned(p, alignment));
          kept.take(p, bytes);
        } else {
          CHECK(p == &p && errno == ENOMEM);
        }
        const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
        void* const q = aligned_alloc(alignment, whole);
        CHECK(is_aligned(q, alignment));
        kept.take(q, whole);
        void* const r = memalign(alignment, bytes);
        CHECK(is_aligned(r, alignment));
        kept.take(r, bytes);
      }
    }
    kept.take(valloc(5000), 5000);
    kept.take(pvalloc(5000), 5000);
  }
  kept.give_all();
}

int handler_calls;
void handle_none() {
  ++handler_calls;
  std::set_new_handler(nullptr);
}

template <class New>
void* or_null(New allocate) {
  std::set_new_handler(handle_none);
  handler_calls = 0;
  try {
    void* const p = allocate();
    CHECK(p != nullptr);
    return p;
  } catch (const std::bad_alloc&) {
    CHECK(handler_calls == 1);
    errno = ENOMEM;
    return nullptr;
  }
}

// Exceptions take memory of their own, from the C++ library's reserve if need be.
void operators() {
  constexpr std::align_val_t wide{1024};
  {
    const Watched watched;
    for (const std::size_t bytes : mixed_bytes) {
      void* p = or_null([&] { return operator new(bytes); });
      if (is_there(p)) pattern_fill(p, bytes, 1);
      void* const q = or_null([&] { return operator new[](bytes, wide); });
      void* const r = operator new(bytes, std::nothrow);
      if (r == nullptr) CHECK(is_refused());
      if (p != nullptr) CHECK(pattern_holds(p, bytes, 1));
      CHECK(is_aligned(q, 1024));
      operator delete(p, bytes);
      operator delete[](q, wide);
      operator delete(r);
    }
  }
  std::set_new_handler(nullptr);
}

// All blocks were had before: nothing but frees.
void frees() {
  for (std::size_t i = 0; i < some(1500); ++i) {
    const std::size_t bytes = mixed_bytes[i % (mixed_count - 5)] / (1 + i / mixed_count % 3) + 1;
    kept.take(malloc(bytes), bytes);
  }
  const Watched watched;
  kept.give(2, [](void* p) { free(p); });
  (void)malloc_trim(0);
  kept.give_all();
  (void)malloc_trim(0);
}

void mixture() {
  uint64_t state = 4242;
  {
    const Watched watched;
    for (std::size_t step = 0; step < some(1500); ++step) {
      const std::size_t bound = mixed_bytes[random_next(&state) % (mixed_count - 4)];
      const std::size_t bytes = random_next(&state) % bound + 1;
      const std::size_t which = kept.count() == 0 ? 0 : random_next(&state) % kept.count();
      if (kept.count() < 100 || random_next(&state) % 3 == 0) {
        kept.take(malloc(bytes), bytes);
      } else {
        kept.resize(which, bytes, [](void* p, std::size_t n) { return realloc(p, n); });
      }
      if (kept.count() > 300) kept.give(2, [](void* p) { free(p); });
      if (step % 500 == 499) (void)malloc_trim(0);
    }
  }
  kept.give_all();
}

// --- Threads and forks -----------------------------------------------------------------------

void* in_other_thread(void*) {
  static Kept own;  // One thread at a time.
  for (std::size_t i = 0; i < some(300); ++i) own.take(malloc(i * 7 + 1), i * 7 + 1);
  own.take(malloc(300'000), 300'000);
  kept.give(2, [](void* p) { free(p); });  // The other thread's.
  own.give(2, [](void* p) { free(p); });
  own.check();
  own.give_all();
  return nullptr;
}

void threads() {
  {
    const Watched watched;
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 5 + 1), i * 5 + 1);
      pthread_t other;
      const int error = pthread_create(&other, nullptr, in_other_thread, nullptr);
      CHECK(error == 0 || ((error == EAGAIN || error == ENOMEM) && is_refused()));
      if (error == 0) CHECK(pthread_join(other, nullptr) == 0);
    }
  }
  kept.give_all();
}

void forks() {
  for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 5 + 1), i * 5 + 1);
  {
    const Watched watched;
    const pid_t child = fork();
    if (child == 0) {
      kept.check();
      kept.give(2, [](void* p) { free(p); });
      for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 50 + 1), i * 50 + 1);
      kept.give_all();
      _exit(0);
    }
    CHECK(child > 0 || is_refused());
    if (child > 0) CHECK(status_of_child(child) == 0);
    for (std::size_t i = 0; i < some(600); ++i) kept.take(malloc(i * 50 + 1), i * 50 + 1);
  }
  kept.give_all();
}

// --- Heaps -----------------------------------------------------------------------------------

int see(const tarn_heap_item*, void*) { return 0; }

// What a status other than 0 may be.
bool is_ok(int status) {
  if (status == 0) return true;
  CHECK(status == -1 && is_refused());
  CHECK(errno == ENOMEM || errno == EAGAIN || errno == EPERM || errno == EBUSY);
  return false;
}

void work_in(tarn_heap heap, std::size_t bytes_most, int rounds) {
  const auto resize = [&](void* p, std::size_t bytes) {
    return tarn_heap_reallocate(heap, p, bytes);
  };
  const std::size_t from = kept.count();
  for (int i = 0; i < rounds; ++i) {
    for (const std::size_t bytes : mixed_bytes) {
      if (bytes > bytes_most || (bytes > 3000 && i % 20 != 0)) continue;
      kept.take(tarn_heap_allocate(heap, bytes), bytes);
    }
  }
  void* const p = tarn_heap_allocate_zeroed(heap, 300, 7);
  if (is_there(p)) CHECK(static_cast<const char*>(p)[2099] == 0);
  tarn_heap_deallocate(p);
  void* const q = tarn_heap_allocate_aligned(heap, 8192, 500);
  CHECK(is_aligned(q, 8192));
  kept.take(q, 500);
  for (std::size_t i = from; i < kept.count(); i += 9) kept.resize(i, 900 + i, resize);
  const tarn_fixed fixed = tarn_heap_fixed(heap, 72, 8);
  if (fixed.record != nullptr) {
    for (int i = 0; i < rounds; ++i) kept.take(tarn_fixed_allocate(fixed), 72);
  } else {
    CHECK(errno == ENOMEM && is_refused());
  }
  kept.give(2, [](void* block) { tarn_heap_deallocate(block); });
  (void)tarn_heap_trim(heap, 0);
  tarn_heap_stats stats = TARN_HEAP_STATS();
  CHECK(is_ok(tarn_heap_get_stats(heap, &stats)));
  CHECK(is_ok(tarn_heap_walk(heap, TARN_HEAP_WALK_FREE, see, nullptr)));
}

// The heap's name is there, or the reason why it is not.
bool is_made(tarn_heap heap) {
  if (heap.record != nullptr) return true;
  CHECK(is_refused());
  CHECK(errno == ENOMEM || errno == EPERM || errno == EAGAIN);
  return false;
}

enum class End { destroy, clear, remove };

void live_in_a_heap(const tarn_heap_options& options, End end, std::size_t bytes_most) {
  const int rounds = options.mode == TARN_MODE_GUARDED ? 2 : 40;
  tarn_heap heap{};
  {
    const Watched watched;
    heap = tarn_heap_create(&options);
    if (!is_made(heap)) return;
    work_in(heap, bytes_most, rounds);
  }
  CHECK(tarn_heap_check(heap) == 1);
  kept.check();
  {
    const Watched watched;
    if (end == End::remove) {
      CHECK(is_ok(tarn_heap_delete(heap)));
      kept.give_all();
      return;
    }
    if (end == End::clear) {
      CHECK(is_ok(tarn_heap_clear(heap)));
      kept.forget();
      work_in(heap, bytes_most, rounds);
      kept.check();
    }
    CHECK(is_ok(tarn_heap_destroy(heap)));
    kept.forget();
  }
}

template <int mode, int threads, unsigned flags, End end>
void heap() {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.name = "refused";
  options.mode = mode;
  options.threads = threads;
  options.flags = flags;
  live_in_a_heap(options, end, flags == TARN_HEAP_SECRET ? 3000 : 3'000'000);
}

void heap_with_classes() {
  static const std::size_t classes[] = {32, 160, 1024, 8192};
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.class_bytes = classes;
  options.class_count = std::size(classes);
  live_in_a_heap(options, End::clear, 3'000'000);
}

void heap_in_a_region() {
  void* const region = aligned_alloc(4096, 4 * MEBIBYTE);
  CHECK(region != nullptr);
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.region = region;
  options.region_bytes = 4 * MEBIBYTE;
  live_in_a_heap(options, End::clear, 3000);
  free(region);
}

void heap_over_a_source() {
  tarn_os_source own;
  tarn_os_source_options how = TARN_OS_SOURCE_OPTIONS();
  {
    const Watched watched;
    if (!is_ok(tarn_os_source_init(&own, &how))) return;
  }
  const tarn_source source = tarn_os_source_get(&own);
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  options.source = &source;
  live_in_a_heap(options, End::clear, 70'000);
  const Watched watched;
  (void)tarn_os_source_destroy(&own);
}

void frozen() {
  tarn_heap_options options = TARN_HEAP_OPTIONS();
  const tarn_heap h = tarn_heap_create(&options);
  CHECK(h.record != nullptr);
  for (std::size_t i = 0; i < some(600); ++i) kept.take(tarn_heap_allocate(h, i + 1), i + 1);
  bool is_frozen = false;
  {
    const Watched watched;
    is_frozen = is_ok(tarn_heap_freeze(h));
    if (!is_frozen) CHECK(errno == ENOMEM);
    kept.check();
    if (is_frozen) CHECK(tarn_heap_allocate(h, 10) == nullptr && errno == EPERM);
    (void)is_ok(tarn_heap_thaw(h));
  }
  CHECK(tarn_heap_thaw(h) == 0);  // Again: the kernel lets it.
  kept.take(tarn_heap_allocate(h, 5000), 5000);
  kept.give(2, [](void* p) { tarn_heap_deallocate(p); });
  kept.check();
  CHECK(tarn_heap_destroy(h) == 0);
  kept.forget();
}

// --- Pools, arenas, trees --------------------------------------------------------------------

// After some refusals it takes no more.
void take_through(tarn_malloc_table table, std::size_t bytes, std::size_t count) {
  const std::size_t from = kept.count();
  for (std::size_t i = 1; i <= count && i <= kept.count() - from + 10; ++i) {
    kept.take(table.allocate(table.context, bytes), bytes);
  }
}
void through(tarn_malloc_table table, std::size_t bytes, bool frees) {
  take_through(table, bytes, 3000);
  if (!frees) return;
  kept.give(2, [&](void* p) { table.deallocate(table.context, p); });
  take_through(table, bytes, 2000);
}

// With a source whose chunks are the OS's own, so that they are asked for.
template <class Thing, class Init, class Table, class Destroy>
void over_the_os(std::size_t bytes, bool frees, Init init, Table table, Destroy destroy) {
  tarn_os_source own;
  tarn_os_source_options how = TARN_OS_SOURCE_OPTIONS();
  CHECK(tarn_os_source_init(&own, &how) == 0);
  const tarn_source source = tarn_os_source_get(&own);
  static Thing thing;
  {
    const Watched watched;
    if (is_ok(init(&thing, &source))) {
      through(table(&thing), bytes, frees);
      kept.check();
      destroy(&thing);
    }
  }
  kept.forget();
  (void)tarn_os_source_destroy(&own);
}

void pool() {
  over_the_os<tarn_pool>(
      208, true,
      [](tarn_pool* p, const tarn_source* source) {
        tarn_pool_options options = TARN_POOL_OPTIONS();
        options.block_bytes = 208;
        options.source = source;
        return tarn_pool_init(p, &options);
      },
      tarn_pool_malloc_table,
      [](tarn_pool* p) {
        CHECK(tarn_pool_check(p) == 1);
        (void)tarn_pool_trim(p);
        tarn_pool_destroy(p);
      });
}

void object_cache() {
  over_the_os<tarn_object_cache>(
      208, true,
      [](tarn_object_cache* cache, const tarn_source* source) {
        tarn_object_cache_options options = TARN_OBJECT_CACHE_OPTIONS();
        options.objects = TARN_POOL_OPTIONS();
        options.objects.block_bytes = 208;
        options.objects.source = source;
        return tarn_object_cache_init(cache, &options);
      },
      tarn_object_cache_malloc_table,
      [](tarn_object_cache* cache) {
        (void)tarn_object_cache_trim(cache, 0);
        tarn_object_cache_destroy(cache);
      });
}

void arena() {
  over_the_os<tarn_arena>(
      300, false,
      [](tarn_arena* a, const tarn_source* source) {
        tarn_arena_options options = TARN_ARENA_OPTIONS();
        options.source = source;
        return tarn_arena_init(a, &options);
      },
      tarn_arena_malloc_table,
      [](tarn_arena* a) {
        CHECK(tarn_arena_check(a) == 1);
        tarn_arena_destroy(a);
      });
}

void shared_arena() {
  over_the_os<tarn_shared_arena>(
      300, false,
      [](tarn_shared_arena* a, const tarn_source* source) {
        tarn_arena_options options = TARN_ARENA_OPTIONS();
        options.source = source;
        return tarn_shared_arena_init(a, &options);
      },
      tarn_shared_arena_malloc_table, tarn_shared_arena_destroy);
}

void tree() {
  void* const root = tarn_tree_allocate(nullptr, 100);
  CHECK(root != nullptr);
  {
    const Watched watched;
    void* parent = root;
    for (std::size_t i = 0; i < some(5000); ++i) {
      void* const node = tarn_tree_allocate(parent, 1500);
      kept.take(node, 1500);
      if (node != nullptr && i % 20 == 0) parent = node;
    }
    char* const text = tarn_tree_format(root, "%s %d", "a number", 7);
    if (is_there(text)) CHECK(strcmp(text, "a number 7") == 0);
    (void)is_there(tarn_tree_string(root, "text"));
    void* const with_heap = tarn_tree_allocate_with_heap(root, 100, nullptr);
    if (is_there(with_heap)) (void)is_there(tarn_tree_allocate(with_heap, 100));
    kept.check();
  }
  CHECK(tarn_tree_check(root) == 1);
  kept.forget();
  const Watched watched;
  CHECK(tarn_tree_dispose(root) == 0);
}

void xalloc() {
  {
    const Watched watched;
    for (std::size_t i = 0; i < some(2000); ++i) {
      for (const std::size_t bytes : {10, 100, 4000, 60000}) {
        if (bytes > 5000 && i % 30 != 0) continue;
        kept.take(tarn_xmalloc(bytes), bytes);
      }
    }
    kept.give(2, [](void* p) { tarn_xfree(p); });
  }
  kept.give(1, [](void* p) { tarn_xfree(p); });
  tarn_xalloc_destroy();
}

void unalloc() {
  {
    const Watched watched;
    for (std::size_t i = 0; i < some(5000); ++i) kept.take(tarn_unalloc(1500), 1500);
    kept.give(2, [](void* p) { tarn_unfree(p); });
  }
  kept.give(1, [](void* p) { tarn_unfree(p); });
}

void purgeable() {
  tarn_purgeable image = {};
  const Watched watched;
  if (!is_ok(tarn_purgeable_begin(&image, tarn_heap_main(), 400'000))) return;
  void* pixels = tarn_purgeable_lock(&image);
  if (pixels == nullptr) pixels = tarn_purgeable_refill(&image);
  if (is_there(pixels)) {
    pattern_fill(pixels, 400'000, 3);
    tarn_purgeable_unlock(&image);
  }
  (void)tarn_recover(SIZE_MAX, TARN_RECOVER_PURGEABLES);
  pixels = tarn_purgeable_lock(&image);
  if (pixels != nullptr) {
    CHECK(pattern_holds(pixels, 400'000, 3));
    tarn_purgeable_unlock(&image);
  }
  CHECK(is_ok(tarn_purgeable_end(&image)));
}

// --- What the library is asked ---------------------------------------------------------------

int see_unreachable(const tarn_unreachable_block*, void*) { return 0; }

void searched() {
  for (std::size_t i = 0; i < some(500); ++i) kept.take(malloc(i + 1), i + 1);
  {
    const Watched watched;
    tarn_unreachable_result result = TARN_UNREACHABLE_RESULT();
    const int found = tarn_find_unreachable(nullptr, see_unreachable, nullptr, &result);
    CHECK(found >= 0 || is_refused());
  }
  kept.give_all();
}

void asked() {
  for (std::size_t i = 0; i < some(500); ++i) kept.take(malloc(i + 1), i + 1);
  {
    const Watched watched;
    const struct mallinfo2 info = mallinfo2();
    CHECK(info.arena != 0);
    tarn_heap_stats stats = TARN_HEAP_STATS();
    CHECK(is_ok(tarn_heap_get_stats(tarn_heap_main(), &stats)));
    tarn_account account{};
    (void)tarn_process_account(&account, sizeof account);
    char text[200];
    CHECK(tarn_site_text(__builtin_return_address(0), text, sizeof text) != 0);
    tarn_thread_idle();
    (void)tarn_recover(SIZE_MAX, 0);
  }
  kept.give_all();
}

void purged_in_background() {
  const Watched watched;
  (void)tarn_purge_in_background();
  for (std::size_t i = 0; i < some(500); ++i) kept.take(malloc(5000), 5000);
  kept.give_all();
}

// The report may lack what the kernel refuses, and the process ends as it should.
void misused() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(nowhere >= 0);
  void* const p = malloc(100);
  free(p);
  dup2(nowhere, STDERR_FILENO);
  const Watched watched;
  free(opaque_block(p));
}

// --- A new process ---------------------------------------------------------------------------

const char* self;

// From the first call of a library on: one may say that the program cannot start. (The dynamic
// linker of glibc 2.36 does not look whether its own first call of mmap failed.)
void started() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nowhere, STDERR_FILENO);
  shared().watching.store(true);
  execl(self, self, "started", static_cast<char*>(nullptr));
  _exit(1);
}

int small_program() {
  for (std::size_t i = 0; i < some(2000); ++i) free(malloc(i * 10));
  return 0;
}

// --- All of it -------------------------------------------------------------------------------

// How a piece may end, beside well.
enum class Ends { well, by_abort, refused };

struct Piece {
  const char* name;
  void (*work)();
  Ends ends = Ends::well;
};

constexpr Piece pieces[] = {
    {"blocks_64", blocks<64, 6000>},
    {"blocks_1000", blocks<1000, 4000>},
    {"blocks_20000", blocks<20'000, 400>},
    {"blocks_300000", blocks<300'000, 60>},
    {"blocks_2000000", blocks<2'000'000, 20>},
    {"blocks_40000000", blocks<40'000'000, 4>},
    {"zeroed", zeroed},
    {"resized", resized},
    {"aligned", aligned},
    {"operators", operators},
    {"frees", frees},
    {"mixture", mixture},
    {"threads", threads},
    {"forks", forks},
    {"heap", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, 0, End::destroy>},
    {"heap.serialised", heap<TARN_MODE_FAST, TARN_HEAP_SERIALISED, 0, End::clear>},
    {"heap.deleted", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, 0, End::remove>},
    {"heap.separate", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, TARN_HEAP_SEPARATE, End::clear>},
    {"heap.secret", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, TARN_HEAP_SECRET, End::destroy>},
    {"heap.checked", heap<TARN_MODE_CHECKED, TARN_HEAP_SHARED, 0, End::clear>},
    {"heap.guarded", heap<TARN_MODE_GUARDED, TARN_HEAP_SHARED, 0, End::remove>},
    {"heap.classes", heap_with_classes},
    {"heap.region", heap_in_a_region},
    {"heap.source", heap_over_a_source},
    {"heap.frozen", frozen},
    {"pool", pool},
    {"object_cache", object_cache},
    {"arena", arena},
    {"shared_arena", shared_arena},
    {"tree", tree},
    {"xalloc", xalloc},
    {"unalloc", unalloc},
    {"purgeable", purgeable},
    {"searched", searched},
    {"asked", asked},
    {"purged_in_background", purged_in_background},
    {"misused", misused, Ends::by_abort},
    {"started", started, Ends::refused},
};

std::uint64_t live_blocks() {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  CHECK(tarn_heap_get_stats(tarn_heap_main(), &stats) == 0);
  return stats.live_blocks;
}

// After a piece, whatever was refused in it: all can be had, nothing is lost.
void be_well() {
  CHECK(kept.count() == 0);
  for (const std::size_t bytes : mixed_bytes) {
    void* const p = malloc(bytes / 4);
    CHECK(p != nullptr);
    kept.take(p, bytes / 4);
  }
  kept.give_all();
  (void)malloc_trim(0);
}

void do_piece(const Piece& piece) {
  const std::uint64_t before = live_blocks();
  piece.work();
  be_well();
  // A thread of libc's may keep its own; what a refused call leaves is as much as a few blocks.
  CHECK(live_blocks() <= before + 8);
}

void judge(const Piece& piece, const supervised::Refusals& refusals, int status) {
  const bool by_signal = WIFSIGNALED(status);
  if (status == 0 && piece.ends != Ends::by_abort) return;
  if (by_signal && WTERMSIG(status) == SIGABRT && piece.ends == Ends::by_abort) return;
  if (!by_signal && WEXITSTATUS(status) == 77) skip("this kernel has no user notifications");
  if (!by_signal && piece.ends == Ends::refused && shared().refused.load() != 0) return;
  dprintf(STDERR_FILENO, "%s, with call %ld %s refused: %s %d\n", piece.name, refusals.first,
          refusals.and_later ? "and later ones" : "alone", by_signal ? "signal" : "status",
          by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
  _exit(1);
}

constexpr long all_calls_up_to = 12;

// Refuses every call in turn; if sampled, beyond the first ones fewer and fewer.
long refuse_each(const Piece& piece, bool sampled) {
  long runs = 0;
  for (const bool and_later : {false, true}) {
    for (long n = 1;; n += sampled && n > all_calls_up_to ? n / 4 : 1) {
      const supervised::Refusals refusals = {n, and_later,
                                             piece.ends == Ends::refused ? "/ld-linux" : nullptr};
      judge(piece, refusals, supervised::run(refusals, 60, [&] { do_piece(piece); }));
      ++runs;
      if (shared().calls.load() < n) break;
    }
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  self = argv[0];
  CHECK(argc == 2);
  const bool is_new = strcmp(argv[1], "started") == 0 && getenv("TARN_TEST_STARTED") != nullptr;
  if (is_new) return small_program();
  (void)setenv("TARN_TEST_STARTED", "1", 1);
  begin(1200);
  const bool sampled = strcmp(argv[1], "sampled") == 0;
  const bool all = sampled || strcmp(argv[1], "all") == 0;
  long runs = 0;
  for (const Piece& piece : pieces) {
    if (!all && strcmp(argv[1], piece.name) != 0) continue;
    const long of_piece = refuse_each(piece, sampled);
    printf("%-20s %5ld runs\n", piece.name, of_piece);
    fflush(stdout);
    runs += of_piece;
  }
  CHECK(runs > 0);
  printf("%ld runs in which a call was refused\n", runs);
  return 0;
}
