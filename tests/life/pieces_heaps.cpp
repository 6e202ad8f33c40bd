// pieces_heaps: heaps of each kind, from their making to their end.
//
// SPDX-License-Identifier: MIT
#include "pieces.hpp"

namespace pieces {

namespace {

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
  // Nothing is refused now. (A region may be full, and little may be locked.)
  if (options.region == nullptr && options.flags != TARN_HEAP_SECRET) {
    for (const std::size_t bytes : {40u, 3000u, 60'000u}) {
      void* const p = tarn_heap_allocate(heap, bytes);
      CHECK(p != nullptr);
      kept.take(p, bytes);
    }
  }
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

constexpr Piece heaps_pieces[] = {
    {"heap", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, 0, End::destroy>},
    {"heap.serialised", heap<TARN_MODE_FAST, TARN_HEAP_SERIALISED, 0, End::clear>},
    {"heap.deleted", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, 0, End::remove>},
    {"heap.separate", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, TARN_HEAP_SEPARATE, End::clear>},
    {"heap.secret", heap<TARN_MODE_FAST, TARN_HEAP_SHARED, TARN_HEAP_SECRET, End::destroy>},
    {"heap.checked", heap<TARN_MODE_CHECKED, TARN_HEAP_SHARED, 0, End::clear>},
    {"heap.guarded", heap<TARN_MODE_GUARDED, TARN_HEAP_SHARED, 0, End::remove>},
    {"heap.classes", heap_with_classes},
    {"heap.region", heap_in_a_region, Ends::well, true},
    {"heap.source", heap_over_a_source},
    {"heap.frozen", frozen},
};

}  // namespace

std::span<const Piece> of_heaps() { return heaps_pieces; }

}  // namespace pieces
