// xalloc: the family of xmalloc (tarn/pool/xalloc.h). A request is rounded up to a class of the
// family, and malloc's own heap serves it from the pages of the class of its own that has the size:
//
//   request    1 ... 16 | 17 ... 32 | 33 ... 48 | 49 ... 64 | 65 ... 128 | ...  257 ... 396  ...
//   malloc's      16    |    32     |    48     |    64     |    128     |          400
//
// Its classes in between (80, 96, 112) are not used.
//
// So a hit is malloc's and a count (xalloc_counts.hpp), without a lock. In the other modes the
// family has a heap of its own, and no hits. docs/decisions/0013-xmalloc-on-malloc.md
//
// SPDX-License-Identifier: MIT
#include "tarn/pool/xalloc.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/operations/life.hpp"
#include "heaps/operations/trim.hpp"
#include "kinds/process_wide/block_stacks.hpp"
#include "kinds/process_wide/xalloc_counts.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/blocks/resize.hpp"
#include "malloc/process/process.hpp"
#include "platform/os/thread.hpp"
#include "platform/report/misuse.hpp"
#include "platform/report/options.hpp"
#include "platform/settings/settings.hpp"

namespace tarn {

namespace {

// Names of classes, ascending, of which no two have the same class of malloc's.
struct Classes {
  std::array<std::uint32_t, class_count> names{};
  std::size_t count = 0;

  // Puts a class in its place. Of two that take the same the larger name stays.
  constexpr void add(std::uint32_t name) noexcept {
    std::size_t at = 0;
    while (at < count && class_of(names[at]) < class_of(name)) ++at;
    if (at < count && class_of(names[at]) == class_of(name)) {
      if (names[at] < name) names[at] = name;
      return;
    }
    for (std::size_t i = count++; i > at; --i) names[i] = names[i - 1];
    names[at] = name;
  }
};
// For each class of malloc's that a request has, the one that serves it.
using Served = std::array<SizeClass, class_count>;

constexpr Classes doublings() noexcept {
  Classes classes;
  for (std::uint32_t name = block_align; name <= block_bytes_max; name *= 2) classes.add(name);
  return classes;
}
constexpr Classes usual_classes() noexcept {
  Classes classes = doublings();
  classes.add(48);   // Nodes of maps and sets of numbers, and of lists of strings.
  classes.add(396);  // As Lafreniere's xallocator has them.
  classes.add(768);
  return classes;
}
constexpr Served served_by(const Classes& classes) noexcept {
  Served served{};
  for (std::size_t c = 0, at = 0; c < class_count; ++c) {
    while (class_of(classes.names[at]) < c) ++at;
    served[c] = static_cast<SizeClass>(class_of(classes.names[at]));
  }
  return served;
}

// Written before the first operation.
constinit Classes classes = usual_classes();
constinit Served served = served_by(usual_classes());
constinit std::atomic<bool> chosen{false};
constinit bool counts_requests = false;
constinit int mode = TARN_MODE_FAST;

// The family's heap: malloc's, or its own; it never ends. Null until the first operation. Written
// with release, read with acquire.
constinit std::atomic<HeapRecord*> family{nullptr};

// Hits are for requests and pages below these. 0: every operation takes the slow path, where it is
// looked at. Each thread that makes the family ready writes the same.
constinit std::atomic<std::size_t> hit_bytes_end{0};
constinit std::atomic<std::size_t> hit_classes_end{0};

constinit tarn_xalloc_hooks hooks{};  // Of the program. None: there is no lock.
constinit os::Lock program_lock;      // tarn_xalloc_lock().
constinit unsigned program_locks = 0;

void set_hits() noexcept {
  const bool hits = hooks.lock == nullptr && family.load(std::memory_order_acquire) == &main_record;
  hit_bytes_end.store(hits && !counts_requests ? linear_bytes_max + 1 : 0,
                      std::memory_order_relaxed);
  hit_classes_end.store(hits ? linear_class_max + 1 : 0, std::memory_order_relaxed);
}

// While this lives, the program's lock is held, if it has one. It guards the counts: malloc's heap
// needs no lock, and may call the program.
class Hooked {
 public:
  Hooked() noexcept {
    if (TARN_UNLIKELY(hooks.lock != nullptr)) hooks.lock(hooks.context);
  }
  ~Hooked() {
    if (TARN_UNLIKELY(hooks.lock != nullptr)) hooks.unlock(hooks.context);
  }
  Hooked(const Hooked&) = delete;
  Hooked& operator=(const Hooked&) = delete;
};

// The row of a block that has so many usable bytes. Outside malloc's heap these are the bytes that
// were asked for.
std::size_t row_of(std::size_t usable) noexcept {
  return usable > block_bytes_max ? large_row_of(usable) : served[class_of(usable)];
}

// What a block takes in malloc's heap: the smallest class of the family that holds it and is a
// multiple of the alignment.
std::size_t class_bytes_for(std::size_t bytes, std::size_t alignment = block_align) noexcept {
  std::size_t size = bytes;
  while (size <= block_bytes_max) {
    size = class_block_bytes[served[class_of(size)]];
    if (size % alignment == 0) return size;
    ++size;
  }
  return bytes;
}

// Null, with errno set, when there is no memory for it.
TARN_COLD HeapRecord* make_family() noexcept {
  process.start();
  const int wanted =
      mode != TARN_MODE_FAST ? mode : static_cast<int>(settings[Option::xalloc_mode]);
  HeapRecord* made = &main_record;
  tarn_heap own{};
  if (wanted != TARN_MODE_FAST) {
    tarn_heap_options options = TARN_HEAP_OPTIONS();
    options.name = "xmalloc";
    options.mode = wanted;
    own = heap_create(&options);
    made = static_cast<HeapRecord*>(own.record);
    if (made == nullptr) return nullptr;
  }
  HeapRecord* none = nullptr;
  if (!family.compare_exchange_strong(none, made, std::memory_order_acq_rel)) {
    if (own.record != nullptr) heap_clear(own, true, "xmalloc");
    made = none;
  }
  set_hits();
  return made;
}
TARN_INLINE HeapRecord* the_family() noexcept {
  HeapRecord* const known = family.load(std::memory_order_acquire);
  return TARN_LIKELY(known != nullptr) ? known : make_family();
}

// One of the blocks that the calling thread has stacked; null when there is none of the class.
TARN_INLINE void* take_stacked_of(std::size_t size_class) noexcept {
  return is_stacked(size_class) ? take_stacked(xmalloc_row(size_class)) : nullptr;
}
// The same for what class_bytes_for() says.
void* take_stacked_for(std::size_t class_bytes, std::size_t alignment = block_align) noexcept {
  if (class_bytes > block_bytes_max || alignment > slice_bytes) return nullptr;
  return class_bytes % alignment == 0 ? take_stacked_of(class_of(class_bytes)) : nullptr;
}

// A block of the family's class, in malloc's heap: malloc itself may serve a larger one, which has
// another row.
void* allocate_in_main(const Request& request) noexcept {
  Request wanted = request;
  wanted.bytes = class_bytes_for(request.bytes, request.alignment);
  void* const stacked = take_stacked_for(wanted.bytes, wanted.alignment);
  return stacked != nullptr ? stacked : heap_allocate_slow(main_record.handle(), wanted);
}

void* allocate_by_request(const Request& request) noexcept {
  HeapRecord* const heap = the_family();
  void* block = nullptr;
  if (heap != nullptr) {
    block = heap == &main_record ? allocate_in_main(request)
                                 : heap_allocate_slow(heap->handle(), request);
  }
  const Hooked hooked;  // Programs see their lock held once for each request.
  if (block == nullptr) return nullptr;
  const std::size_t row = row_of(usable_bytes(block, request.function));
  count_taken(row);
  if (counts_requests || row >= large_row) count_request(row, request.bytes);
  return block;
}

// Sizes above linear_bytes_max have their hit path here.
TARN_NOINLINE void* xmalloc_slow(std::size_t bytes, const void* site) noexcept {
  Thread& thread = *current_thread;
  if (bytes <= block_bytes_max && hit_bytes_end.load(std::memory_order_relaxed) != 0 &&
      &thread != no_thread()) {
    const std::size_t size_class = served[class_of(bytes)];
    Page* const page = thread.heap.current[size_class];
    void* block = take_stacked_of(size_class);
    if (block == nullptr && page->free != nullptr) block = page_pop_unmarked(page);
    if (block == nullptr) {
      thread.inside.store(true, std::memory_order_relaxed);
      block = refill_inside(page, bytes);
    }
    if (block != nullptr) {
      if (!take_credit(thread, size_class)) count_made(thread, size_class);
      return block;
    }
  }
  return allocate_by_request({.bytes = bytes, .function = "xmalloc", .site = site});
}

// The thread has no credit for the block that it is about to pop.
TARN_NOINLINE void* make_block(Thread& thread, Page* page) noexcept {
  count_made(thread, page->size_class);
  return page_pop_unmarked(page);
}

TARN_NOINLINE void free_attention(Page* page) noexcept {
  const std::size_t size_class = page->size_class;
  deallocate_attention(page);
  share_credits(*current_thread, size_class);
}

// The page knows which of its blocks its thread has freed last, and so does the cache.
void report_if_just_freed(void* p, const char* function) noexcept {
  const auto* const page = static_cast<const Page*>(page_map.span_of(p));
  if (page->kind_now() != SpanKind::page) return;
  const Block* top = nullptr;
  if (page->size_class < class_count) top = current_thread->cache.lists[page->size_class].first;
  if (page->local_free != p && top != p) return;
  if (page->owner.load(std::memory_order_relaxed) != current_thread) return;
  report_misuse(Misuse::double_free, function, p);
}

// Of another thread, of another kind, or looked at. `size_class` is what the page said when it was
// asked for its owner: its thread may be writing to that line, so it is read once.
TARN_NOINLINE void free_slow(void* p, Page* page, std::size_t size_class,
                             const void* site) noexcept {
  if (p == nullptr) return;
  const bool in_page = page->kind_now() == SpanKind::page;
  const bool is_common = in_page && size_class < class_count;  // Not of a heap's own classes.
  const std::size_t row = is_common ? size_class : row_of(usable_bytes(p, "xfree", site));
  if (in_page && page->owner.load(std::memory_order_relaxed) == current_thread) {
    report_if_just_freed(p, "xfree");
    const bool is_mallocs = page->heap_now() == &current_thread->heap;
    const bool stacks = is_stacked(size_class) && is_mallocs && hooks.lock == nullptr;
    if (stacks) span_of_block(p, "xfree");  // Reports what is no block.
    if (!stacks || !stack_block(xmalloc_row(size_class), p, "xfree")) deallocate_in(page, p);
  } else {
    deallocate_slow(p, FreeCall{"xfree", site});
  }
  const Hooked hooked;
  count_given(row);
}

// A block of `bytes` with what p has of them, in malloc's heap. Null: p is as it was.
void* reallocate_in_main(void* p, std::size_t before, std::size_t bytes,
                         const void* site) noexcept {
  const int saved = errno;
  void* resized = nullptr;
  if (bytes <= block_bytes_max) {
    resized = allocate_in_main({.bytes = bytes, .function = "xrealloc", .site = site});
  }
  if (resized != nullptr) {
    memcpy(resized, p, before < bytes ? before : bytes);
    deallocate_in(static_cast<Page*>(page_map.span_of(p)), p);
  } else {  // A large one; or p may do.
    resized = heap_reallocate(main_record.handle(), p, class_bytes_for(bytes), "xrealloc", site);
  }
  if (resized != nullptr) errno = saved;
  return resized;
}

TARN_NOINLINE void* reallocate_slow(void* p, std::size_t bytes, const void* site) noexcept {
  if (p == nullptr) return tarn_xmalloc(bytes);
  if (bytes == 0) {
    tarn_xfree(p);
    return nullptr;
  }
  const std::size_t before = usable_bytes(p, "xrealloc", site);
  report_if_just_freed(p, "xrealloc");
  HeapRecord* const heap = the_family();
  if (heap == nullptr) return nullptr;
  const bool is_mallocs = heap == &main_record;
  const bool stays = is_mallocs && bytes <= before && before <= block_bytes_max;
  void* const resized = stays        ? p
                        : is_mallocs ? reallocate_in_main(p, before, bytes, site)
                                     : heap_reallocate(heap->handle(), p, bytes, "xrealloc", site);
  const Hooked hooked;
  if (resized == nullptr || stays) return resized;
  const std::size_t after = row_of(usable_bytes(resized, "xrealloc"));
  if (after != row_of(before)) {
    count_taken(after);
    count_given(row_of(before));
  }
  if (counts_requests || after >= large_row) count_request(after, bytes);
  return resized;
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

void* tarn_xmalloc(std::size_t bytes) {
  if (TARN_UNLIKELY(bytes >= hit_bytes_end.load(std::memory_order_relaxed))) {
    return xmalloc_slow(bytes, __builtin_return_address(0));
  }
  Thread& thread = *current_thread;
  const std::size_t size_class = served[linear_class_of(bytes)];
  Page* const page = thread.heap.current[size_class];
  if (TARN_UNLIKELY(page->free == nullptr)) return xmalloc_slow(bytes, __builtin_return_address(0));
  if (TARN_UNLIKELY(!take_credit(thread, size_class))) return make_block(thread, page);
  return page_pop_unmarked(page);
}

void* tarn_xmalloc_aligned(std::size_t alignment, std::size_t bytes) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate_by_request({.bytes = bytes,
                              .alignment = alignment < block_align ? block_align : alignment,
                              .function = "tarn_xmalloc_aligned",
                              .site = __builtin_return_address(0)});
}

void* tarn_xcalloc(std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (!checked_multiply(count, bytes, &product)) product = SIZE_MAX;
  if (product > block_bytes_max) {  // Fresh memory is zero already.
    return allocate_by_request({.bytes = product,
                                .zero = true,
                                .function = "tarn_xcalloc",
                                .site = __builtin_return_address(0)});
  }
  void* const block = tarn_xmalloc(product);
  if (TARN_LIKELY(block != nullptr)) memset(block, 0, product);
  return block;
}

void* tarn_xrealloc(void* p, std::size_t bytes) {
  const auto* const page = static_cast<const Page*>(page_map.span_of(p));
  if (TARN_LIKELY(page->kind_now() == SpanKind::page) &&
      TARN_LIKELY(hit_classes_end.load(std::memory_order_relaxed) != 0) &&
      TARN_LIKELY(bytes - 1 < page->block_bytes) && TARN_LIKELY(page->is_block(p)) &&
      TARN_LIKELY(page->local_free != p)) {
    return p;  // For 0 bytes the difference is the largest number.
  }
  return reallocate_slow(p, bytes, __builtin_return_address(0));
}

// The count comes first: the page is read for the last time by the free.
void tarn_xfree(void* p) {
  auto* const page = static_cast<Page*>(page_map.span_of(p));
  Thread& thread = *current_thread;
  const std::size_t size_class = page->size_class;
  if (TARN_UNLIKELY(page->owner.load(std::memory_order_relaxed) != &thread) ||
      TARN_UNLIKELY(size_class >= hit_classes_end.load(std::memory_order_relaxed)) ||
      TARN_UNLIKELY(page->local_free == p)) {
    return free_slow(p, page, size_class, __builtin_return_address(0));
  }
  ++thread.credits[size_class].given;
  if (deallocate_local(p, page)) free_attention(page);
}

std::size_t tarn_xalloc_usable_bytes(const void* p) {
  const HeapRecord* const known = family.load(std::memory_order_acquire);
  const HeapRecord* const heap = known != nullptr ? known : &main_record;
  return p != nullptr && heap_of(p).record == heap ? usable_bytes(p, "tarn_xalloc_usable_bytes")
                                                   : 0;
}

int tarn_xalloc_init(const tarn_xalloc_options* options) {
  if (options == nullptr) return the_family() == nullptr ? -1 : 0;
  int error = 0;
  Classes made = doublings();
  if (!is_sized(*options, "tarn_xalloc_init", "TARN_XALLOC_OPTIONS") ||
      (options->class_count != 0 && options->class_bytes == nullptr) || options->mode < 0 ||
      options->mode > TARN_MODE_PASSTHROUGH) {
    error = EINVAL;
  }
  std::size_t before = 0;
  for (std::size_t i = 0; error == 0 && i < options->class_count; ++i) {
    const std::size_t name = options->class_bytes[i];
    if (name <= before || name > block_bytes_max) error = EINVAL;
    if (error == 0) made.add(static_cast<std::uint32_t>(name));
    before = name;
  }
  const bool in_use = family.load(std::memory_order_acquire) != nullptr;
  if (error == 0 && (in_use || chosen.exchange(true))) error = EBUSY;
  if (error != 0) {
    errno = error;
    return -1;
  }
  classes = made;
  served = served_by(made);
  counts_requests = (options->flags & TARN_XALLOC_COUNT_REQUESTS) != 0;
  mode = options->mode;
  return the_family() == nullptr ? -1 : 0;
}

void tarn_xalloc_destroy(void) {
  trim(0);
  const Hooked hooked;
  forget_counts();
}

void tarn_xalloc_set_lock(const tarn_xalloc_hooks* given) {
  hooks = given == nullptr ? tarn_xalloc_hooks{} : *given;
  set_hits();
}

void tarn_xalloc_lock(void) {
  static constinit std::atomic<bool> knows_forks{false};
  os::process_on_fork_once(knows_forks, [] { program_lock.recover_after_fork(); });
  if (program_lock.held_by_this_thread()) {
    ++program_locks;
  } else {
    program_lock.lock();
    program_locks = 1;
  }
}

void tarn_xalloc_unlock(void) {
  if (!program_lock.held_by_this_thread()) return;
  if (--program_locks == 0) program_lock.unlock();
}

int tarn_xalloc_get_class_stats(std::size_t number, tarn_xalloc_class_stats* stats) {
  if (stats == nullptr || number >= classes.count + large_rows ||
      !is_sized(*stats, "tarn_xalloc_get_class_stats", "TARN_XALLOC_CLASS_STATS")) {
    errno = EINVAL;
    return -1;
  }
  const bool is_large = number >= classes.count;
  const std::size_t large = is_large ? number - classes.count : 0;
  stats->block_bytes =
      is_large ? std::size_t{1} << (large_log2_least + large) : classes.names[number];
  const Hooked hooked;
  read_counts(is_large ? large_row + large : class_of(classes.names[number]), *stats);
  return 0;
}

}  // extern "C"
