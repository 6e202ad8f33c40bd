// pieces_kinds: pools, arenas, trees; and what the library is asked.
//
// SPDX-License-Identifier: MIT
#include "pieces.hpp"

namespace pieces {

namespace {

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
  bool is_made = false;
  {
    const Watched watched;
    is_made = is_ok(init(&thing, &source));
    if (is_made) through(table(&thing), bytes, frees);
  }
  if (is_made) {
    kept.check();
    const tarn_malloc_table now = table(&thing);
    for (int i = 0; i < 1000; ++i) CHECK(now.allocate(now.context, bytes) != nullptr);
    const Watched watched;
    destroy(&thing);
  }
  kept.forget();
  (void)tarn_os_source_destroy(&own);
}

tarn_pool_options pool_over(const tarn_source* source) {
  tarn_pool_options options = TARN_POOL_OPTIONS();
  options.block_bytes = 208;
  options.source = source;
  return options;
}

tarn_arena_options arena_over(const tarn_source* source) {
  tarn_arena_options options = TARN_ARENA_OPTIONS();
  options.source = source;
  return options;
}

void pool() {
  over_the_os<tarn_pool>(
      208, true,
      [](tarn_pool* p, const tarn_source* source) {
        const tarn_pool_options options = pool_over(source);
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
        options.objects = pool_over(source);
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
        const tarn_arena_options options = arena_over(source);
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
        const tarn_arena_options options = arena_over(source);
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
      for (const std::size_t bytes : {10u, 100u, 4000u, 60000u}) {
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
  void* const p = malloc(100);
  free(p);
  fall_silent();
  const Watched watched;
  free(opaque_block(p));
}

constexpr Piece kinds_pieces[] = {
    {"pool", pool},
    {"object_cache", object_cache},
    {"arena", arena},
    {"shared_arena", shared_arena},
    {"tree", tree},
    {"xalloc", xalloc, Ends::well, true},
    {"unalloc", unalloc, Ends::well, true},
    {"purgeable", purgeable},
    {"searched", searched},
    {"asked", asked},
    {"purged_in_background", purged_in_background},
    {"misused", misused, Ends::by_abort},
};

}  // namespace

std::span<const Piece> of_kinds() { return kinds_pieces; }

}  // namespace pieces
