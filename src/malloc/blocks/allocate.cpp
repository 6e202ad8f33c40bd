// allocate: see allocate.hpp. What is done with a block that comes back: free.hpp, resize.hpp.
//
// SPDX-License-Identifier: MIT
#include "malloc/blocks/allocate.hpp"

#include <cerrno>
#include <cstring>

#include "engine/threads/cache_care.hpp"
#include "engine/threads/ending_threads.hpp"
#include "engine/threads/refill.hpp"
#include "engine/threads/thread_life.hpp"
#include "engine/upkeep/upkeep.hpp"
#include "heaps/hardened/hardened.hpp"
#include "heaps/heap/large.hpp"
#include "heaps/heap/recovery.hpp"
#include "malloc/blocks/default_heap.hpp"
#include "malloc/process/process.hpp"
#include "platform/base/check.hpp"

namespace tarn {

namespace {

// What `attempt()` gives, after it gave nothing: tried again as long as memory can be recovered.
template <class Attempt>
void* try_again(std::size_t bytes, Attempt attempt) noexcept {
  for (int tries = 0; recover_for({}, bytes, tries); ++tries) {
    if (void* const block = attempt()) return block;
  }
  errno = ENOMEM;
  return nullptr;
}

TARN_COLD void* allocate_large_again(std::size_t bytes, std::size_t alignment, bool zero) noexcept {
  return try_again(bytes, [&] { return large_allocate(bytes, alignment, zero); });
}

// Of large blocks 4 MiB are worth a look at what is due, as 64 refills are.
constexpr std::size_t bytes_of_work = (std::size_t{4} << 20) / work_between;

Thread* this_thread() noexcept {
  if (current_thread != no_thread()) return current_thread;
  process.start();  // May allocate, and so come here.
  return current_thread != no_thread() ? current_thread : thread_start();
}

// A thread that begins may have a default heap from then on.
TARN_COLD void begin_thread() noexcept {
  if (!thread_is_ending) this_thread();
}
TARN_INLINE void begin_thread_if_new() noexcept {
  if (TARN_UNLIKELY(current_thread == no_thread())) begin_thread();
}

// True when the default heap is to serve the request. Asked once for each.
TARN_INLINE bool is_for_default_heap() noexcept {
  begin_thread_if_new();
  return TARN_UNLIKELY(has_default_heap()) && (!is_sampled() || sample_is_due());
}

// True when `block` is the result: of a sample that the process's heap cannot give, malloc's own
// heap serves.
TARN_NOINLINE bool default_heap_gives(const Request& request, void*& block) noexcept {
  const int saved = errno;
  block = default_heap_allocate(request);
  if (block != nullptr || !is_sampled()) return true;
  errno = saved;
  return false;
}

// A block that was kept took nothing that upkeep would look at: it is worth one refill.
void count_large(Thread& thread, std::size_t bytes, bool was_kept) noexcept {
  const std::size_t work = was_kept ? work_of_refill : bytes / bytes_of_work;
  count_work(thread, static_cast<std::uint32_t>(work < work_between ? work : work_between));
}

const char* name_of_call(std::size_t alignment, bool zero) noexcept {
  return zero ? "calloc" : alignment > block_align ? "aligned_alloc" : "malloc";
}

// A thread that has no record has nowhere to count, or to keep what it frees. Not inline: hits of
// large classes would need a stack frame for it.
TARN_NOINLINE void* allocate_large(std::size_t bytes, std::size_t alignment, bool zero,
                                   Family family, const void* site) noexcept {
  TARN_ASSERT(is_power_of_two(alignment));
  void* block = nullptr;
  if (is_for_default_heap() && default_heap_gives({.bytes = bytes,
                                                   .alignment = alignment,
                                                   .zero = zero,
                                                   .function = name_of_call(alignment, zero),
                                                   .family = family,
                                                   .site = site},
                                                  block)) {
    return block;
  }
  Thread* const thread = TARN_UNLIKELY(thread_is_ending) ? nullptr : this_thread();
  if (TARN_LIKELY(thread != nullptr)) {
    const std::uint64_t kept_before = thread->span_cache.taken.read();
    block = large_allocate(bytes, alignment, zero);
    count_large(*thread, bytes, thread->span_cache.taken.read() != kept_before);
  } else {
    upkeep();
    block = large_allocate(bytes, alignment, zero);
  }
  return TARN_LIKELY(block != nullptr) ? block : allocate_large_again(bytes, alignment, zero);
}

// What a block may be instead: an aligned one is of its class.
enum class Instead : bool { none, larger };
constexpr Instead instead_of(std::size_t alignment) noexcept {
  return alignment > block_align ? Instead::none : Instead::larger;
}

// A block that is at hand, or was made so, and what that is worth to upkeep.
struct Found {
  void* block;
  std::uint32_t work;
};

Found find_block(Thread& thread, std::size_t size_class, std::size_t bytes,
                 Instead instead) noexcept {
  Busy busy(thread);
  // A record that has just been taken over may have some.
  if (void* const block = cache_take(thread.cache, size_class)) return {block, 0};
  if (instead == Instead::larger) {
    if (void* const block = cache_take_larger(thread, size_class, bytes)) return {block, 1};
  }
  Page* const page = refill_for(thread.heap, size_class, bytes);
  if (TARN_LIKELY(page != nullptr)) {
    TARN_ASSERT(page->size_class == size_class && page->free != nullptr);
    cache_fill(thread, *page);
    return {cache_take(thread.cache, size_class), work_of_refill};
  }
  void* const block =
      instead == Instead::larger ? cache_take_any_larger(thread, size_class, bytes) : nullptr;
  return {block, work_of_refill};
}

// Null when out of memory. pre: size_class < class_count
void* refilled(std::size_t size_class, std::size_t bytes, Instead instead) noexcept {
  TARN_ASSERT(size_class < class_count && bytes <= class_block_bytes[size_class]);
  if (TARN_UNLIKELY(thread_is_ending)) return ending_threads.allocate(size_class);
  Thread* const thread = this_thread();
  if (thread == nullptr) return nullptr;
  TARN_ASSERT(thread == current_thread && !has_other_default_heap());
  os::await_fork();
  const Found found = find_block(*thread, size_class, bytes, instead);
  count_work(*thread, found.work);
  return found.block;
}

TARN_COLD void* refilled_again(std::size_t size_class, std::size_t bytes,
                               Instead instead) noexcept {
  return try_again(bytes, [&] { return refilled(size_class, bytes, instead); });
}

// From malloc's own heap; in a sampled thread hits have not looked at what is at hand.
TARN_INLINE void* allocate_own(std::size_t size_class, std::size_t bytes,
                               Instead instead) noexcept {
  if (TARN_UNLIKELY(has_default_heap())) {
    if (void* const block = cache_take(current_thread->cache, size_class)) return block;
  }
  void* const block = refilled(size_class, bytes, instead);
  return TARN_LIKELY(block != nullptr) ? block : refilled_again(size_class, bytes, instead);
}

TARN_NOINLINE void* allocate_class_slow(std::size_t size_class, std::size_t bytes, Family family,
                                        const void* site,
                                        std::size_t alignment = block_align) noexcept {
  if (is_served_hardened() && alignment <= block_align) {
    if (void* const block = hardened_at_hand(bytes, family, site)) return block;
  }
  void* block = nullptr;
  if (is_for_default_heap() && default_heap_gives({.bytes = bytes,
                                                   .alignment = alignment,
                                                   .function = name_of_call(alignment, false),
                                                   .family = family,
                                                   .site = site},
                                                  block)) {
    return block;
  }
  return allocate_own(size_class, bytes, instead_of(alignment));
}

TARN_NOINLINE void* allocate_zeroed_slow(std::size_t size_class, std::size_t bytes,
                                         const void* site) noexcept {
  if (is_served_hardened()) {
    if (void* const block = hardened_at_hand(bytes, Family::malloc, site)) {
      return bytes > seal_watched_bytes - seal_bytes ? memset(block, 0, bytes) : block;
    }
  }
  void* block = nullptr;
  if (is_for_default_heap() && default_heap_gives({.bytes = bytes,
                                                   .zero = true,
                                                   .function = "calloc",
                                                   .family = Family::malloc,
                                                   .site = site},
                                                  block)) {
    return block;
  }
  block = allocate_own(size_class, bytes, Instead::larger);
  if (TARN_UNLIKELY(block == nullptr)) return nullptr;
  return memset(block, 0, static_cast<const Page*>(page_map.span_of(block))->block_bytes);
}

TARN_INLINE void* stepped(std::size_t bytes, Family family, const void* site) noexcept {
  if (TARN_UNLIKELY(bytes > block_bytes_max)) return allocate_large(bytes, 1, false, family, site);
  const std::size_t size_class = stepped_class_of(bytes);
  if (void* const block = cache_take(current_serving->cache, size_class)) return block;
  return allocate_class_slow(size_class, bytes, family, site);
}

}  // namespace

void* allocate_slow(std::size_t bytes, Family family, const void* site) noexcept {
  return allocate_class_slow(linear_class_of(bytes), bytes, family, site);
}

void* allocate_stepped(std::size_t bytes) noexcept {
  return stepped(bytes, Family::malloc, __builtin_return_address(0));
}

void* allocate_stepped(std::size_t bytes, Family family, const void* site) noexcept {
  return stepped(bytes, family, site);
}

namespace {

// Of what is not at hand, and of no bytes.
TARN_NOINLINE void* allocate_zeroed_past_hand(std::size_t bytes, const void* site) noexcept {
  if (TARN_UNLIKELY(bytes > block_bytes_max)) {
    return allocate_large(bytes, 1, true, Family::malloc, site);
  }
  const std::size_t size_class = class_of(bytes);
  if (void* const block = cache_take(current_serving->cache, size_class)) {
    return memset(block, 0, class_block_bytes[size_class]);
  }
  return allocate_zeroed_slow(size_class, bytes, site);
}

}  // namespace

void* allocate_zeroed(std::size_t bytes) noexcept {
  if (TARN_LIKELY(bytes - 1 < linear_bytes_max)) {
    std::size_t usable = align_up(bytes, block_align);
    if (void* const block = cache_take(current_serving->cache, linear_class_of(usable))) {
      // Of unknown size: gcc would write its own loop, a slow one.
      __asm__("" : "+r"(usable));
      return memset(block, 0, usable);
    }
  }
  return allocate_zeroed_past_hand(bytes, __builtin_return_address(0));
}

void* allocate_aligned(std::size_t bytes, std::size_t alignment, Family family,
                       const void* site) noexcept {
  TARN_ASSERT(is_power_of_two(alignment));
  if (alignment <= block_align && bytes > linear_bytes_max) {
    return allocate_stepped(bytes, family, site);
  }
  if (alignment <= block_align) {
    void* const block = allocate_at_hand(bytes);
    return TARN_LIKELY(block != nullptr) ? block : allocate_slow(bytes, family, site);
  }
  begin_thread_if_new();
  if (bytes <= block_bytes_max && alignment <= slice_bytes && !has_other_default_heap()) {
    const std::size_t size_class = aligned_class_of(bytes, alignment);
    if (size_class < class_count) {
      if (void* const block = cache_take(current_serving->cache, size_class)) return block;
      return allocate_class_slow(size_class, bytes, family, site, alignment);
    }
  }
  return allocate_large(bytes, alignment, false, family, site);
}

}  // namespace tarn
