// malloc: the malloc family of C, POSIX and glibc under its own names. It makes tarn the malloc of
// a process that preloads or links it.
//
// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <cstdio>

#include "heaps/blocks/lookup.hpp"
#include "heaps/operations/trim.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/family.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/process/account.hpp"
#include "malloc/process/process.hpp"
#include "platform/report/report.hpp"

extern "C" {

TARN_EXPORT void* malloc(std::size_t size) noexcept { return tarn::allocate(size); }

TARN_EXPORT void free(void* p) noexcept { tarn::deallocate(p); }

TARN_EXPORT void* calloc(std::size_t count, std::size_t size) noexcept {
  return tarn::calloc_checked(count, size);
}

TARN_EXPORT void* realloc(void* p, std::size_t size) noexcept { return tarn::realloc_any(p, size); }

TARN_EXPORT void* reallocarray(void* p, std::size_t count, std::size_t size) noexcept {
  return tarn::reallocarray_checked(p, count, size);
}

TARN_EXPORT int posix_memalign(void** p, std::size_t alignment, std::size_t size) noexcept {
  return tarn::posix_memalign_checked(p, alignment, size);
}

TARN_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return tarn::aligned_alloc_checked(alignment, size);
}

TARN_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return tarn::memalign_rounded(alignment, size);
}

TARN_EXPORT void* valloc(std::size_t size) noexcept {
  return tarn::allocate_aligned(size, tarn::slice_bytes);
}

TARN_EXPORT void* pvalloc(std::size_t size) noexcept { return tarn::pvalloc_rounded(size); }

TARN_EXPORT void free_sized(void* p, std::size_t size) noexcept { tarn::deallocate_sized(p, size); }

TARN_EXPORT void free_aligned_sized(void* p, std::size_t alignment, std::size_t size) noexcept {
  tarn::deallocate_sized(p, size, tarn::Origin(tarn::Family::malloc, alignment));
}

TARN_EXPORT std::size_t malloc_usable_size(void* p) noexcept {
  return tarn::usable_bytes(p, "malloc_usable_size", __builtin_return_address(0));
}

TARN_EXPORT int malloc_trim(std::size_t pad) noexcept { return tarn::trim(pad) != 0; }

// arena is the bytes from the OS that are in use or warm, uordblks the live bytes, and fordblks the
// difference. hblks and hblkhd count large blocks. keepcost is what malloc_trim(0) would find warm.
TARN_EXPORT struct mallinfo2 mallinfo2() noexcept {
  tarn_account account;
  tarn::describe_process(&account);
  struct mallinfo2 info {};
  info.arena = account.committed_bytes;
  info.hblks = account.large_live_blocks;
  info.hblkhd = account.large_live_bytes;
  info.uordblks = account.live_bytes;
  // Other threads go on meanwhile, so the two numbers may be of different moments.
  if (account.committed_bytes > account.live_bytes) {
    info.fordblks = account.committed_bytes - account.live_bytes;
  }
  info.keepcost = info.fordblks;
  return info;
}

// As mallinfo2 with ints. A number that does not fit is shown as the largest int.
TARN_EXPORT struct mallinfo mallinfo() noexcept {
  const struct mallinfo2 wide = mallinfo2();
  const auto fit = [](std::size_t n) noexcept {
    return n > std::size_t{INT32_MAX} ? INT32_MAX : static_cast<int>(n);
  };
  struct mallinfo info {};
  info.arena = fit(wide.arena);
  info.hblks = fit(wide.hblks);
  info.hblkhd = fit(wide.hblkhd);
  info.uordblks = fit(wide.uordblks);
  info.fordblks = fit(wide.fordblks);
  info.keepcost = fit(wide.keepcost);
  return info;
}

TARN_EXPORT void malloc_stats() noexcept {
  const struct mallinfo2 info = mallinfo2();
  tarn::Line().text("tarn: committed bytes = ").decimal(info.arena).print();
  tarn::Line().text("tarn: live bytes      = ").decimal(info.uordblks).print();
  tarn::Line().text("tarn: large blocks    = ").decimal(info.hblks).print();
  tarn::Line().text("tarn: large bytes     = ").decimal(info.hblkhd).print();
}

// Writes XML of the same shape as glibc's: one heap, a size element for each class in use, and
// totals.
TARN_EXPORT int malloc_info(int options, FILE* stream) noexcept {
  if (options != 0) return EINVAL;
  tarn_account account;
  tarn::describe_process(&account);
  std::fputs("<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n", stream);
  for (std::size_t c = 0; c < account.class_count; ++c) {
    const tarn_account_class& row = account.classes[c];
    if (row.allocations == 0) continue;
    const auto from = c == 0 ? 0 : account.classes[c - 1].block_bytes + 1;
    std::fprintf(stream, "  <size from=\"%llu\" to=\"%llu\" total=\"%llu\" count=\"%llu\"/>\n",
                 static_cast<unsigned long long>(from),
                 static_cast<unsigned long long>(row.block_bytes),
                 static_cast<unsigned long long>(row.block_bytes) * row.live_blocks,
                 static_cast<unsigned long long>(row.live_blocks));
  }
  std::fprintf(stream,
               "</sizes>\n<total type=\"live\" size=\"%llu\"/>\n"
               "<total type=\"mmap\" count=\"%llu\" size=\"%llu\"/>\n"
               "<system type=\"current\" size=\"%llu\"/>\n<system type=\"max\" size=\"%llu\"/>\n"
               "<aspace type=\"total\" size=\"%llu\"/>\n</heap>\n</malloc>\n",
               static_cast<unsigned long long>(account.live_bytes),
               static_cast<unsigned long long>(account.large_live_blocks),
               static_cast<unsigned long long>(account.large_live_bytes),
               static_cast<unsigned long long>(account.committed_bytes),
               static_cast<unsigned long long>(account.committed_bytes_peak),
               static_cast<unsigned long long>(account.reserved_bytes));
  return 0;
}

// Returns 1 for each parameter of glibc, and 0 for unknown ones and bad values. What they tune does
// not exist here, except for the trim threshold, which is the warm memory to keep.
TARN_EXPORT int mallopt(int parameter, int value) noexcept {
  constexpr int fast_bytes_max = static_cast<int>(80 * sizeof(std::size_t) / 4);
  switch (parameter) {
    case M_MXFAST: return value >= 0 && value <= fast_bytes_max;
    case M_TRIM_THRESHOLD:
      tarn::process.keep_warm(value < 0 ? SIZE_MAX : static_cast<std::size_t>(value));
      return 1;
    case M_TOP_PAD:
    case M_MMAP_THRESHOLD:
    case M_MMAP_MAX:
    case M_CHECK_ACTION:
    case M_PERTURB:
    case M_ARENA_TEST:
    case M_ARENA_MAX:
    case M_NLBLKS:
    case M_GRAIN:
    case M_KEEP: return 1;
    default: return 0;
  }
}

}  // extern "C"
