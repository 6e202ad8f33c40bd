// vm on Linux: anonymous private mappings.
//
// SPDX-License-Identifier: MIT
#include "platform/os/vm.hpp"

#include <atomic>
#include <cerrno>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/slice.hpp"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif

namespace tarn::os {

namespace {

// Whether the call gives 0; errno stays as it was.
template <class Call>
bool succeeds(Call call) noexcept {
  const int saved = errno;
  const bool done = call() == 0;
  errno = saved;
  return done;
}

// For assertions: what the contract says of all ranges.
[[maybe_unused]] bool is_whole(const void* start, std::size_t bytes) noexcept {
  return start != nullptr && bytes != 0 && address_of(start) % slice_bytes == 0 &&
         bytes % slice_bytes == 0;
}

void* map(std::size_t bytes, int flags) noexcept {
  TARN_ASSERT(bytes != 0 && bytes % slice_bytes == 0);
  const int saved = errno;
  void* const start =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  errno = saved;
  return start == MAP_FAILED ? nullptr : start;
}

}  // namespace

void* vm_reserve(std::size_t bytes) noexcept { return map(bytes, 0); }

void* vm_reserve_sparse(std::size_t bytes) noexcept {
  void* const start = map(bytes, MAP_NORESERVE);
  if (start != nullptr) vm_avoid_huge(start, bytes);
  return start;
}

std::size_t vm_bytes_there_can_be() noexcept {
  const int saved = errno;
  struct sysinfo machine {};
  const bool known = sysinfo(&machine) == 0;
  errno = saved;
  if (!known) return SIZE_MAX;
  return (static_cast<std::size_t>(machine.totalram) + machine.totalswap) * machine.mem_unit;
}

bool vm_release(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  return succeeds([=] { return munmap(start, bytes); });
}

bool vm_prefer_huge(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  return succeeds([=] { return madvise(start, bytes, MADV_HUGEPAGE); });
}

void vm_avoid_huge(void* start, std::size_t bytes) noexcept {
  const std::uintptr_t first = align_up(address_of(start), slice_bytes);
  const std::uintptr_t end = align_down(address_of(start) + bytes, slice_bytes);
  if (first >= end) return;
  succeeds([=] { return madvise(reinterpret_cast<void*>(first), end - first, MADV_NOHUGEPAGE); });
}

bool vm_is_huge_unasked(void* start) noexcept {
  auto* const first = static_cast<volatile char*>(start);
  *first = 0;
  return vm_resident(static_cast<char*>(start) + huge_page_bytes / 2, slice_bytes) != 0;
}

bool vm_fill_huge(void* start, std::size_t bytes) noexcept {
  const int saved = errno;
  const bool asked = madvise(start, bytes, MADV_HUGEPAGE) == 0;
  const bool has_none = !asked && errno == EINVAL;  // Else what others have may just be moved.
  errno = saved;
  auto* const at = static_cast<volatile char*>(start);
  for (std::size_t i = 0; asked && i < bytes; i += huge_page_bytes) at[i] = 0;
  // Else khugepaged fills up what is dropped later, and the mapping would be split.
  vm_avoid_huge(start, bytes);
  return !has_none;
}

bool vm_populate(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  const int saved = errno;
  bool done = madvise(start, bytes, MADV_POPULATE_WRITE) == 0;
  if (!done && errno == EINVAL) {  // Kernels before 5.14: a write to each page.
    auto* const at = static_cast<volatile char*>(start);
    for (std::size_t i = 0; i < bytes; i += slice_bytes) at[i] = 0;
    done = true;
  }
  errno = saved;
  return done;
}

bool vm_bind(void* start, std::size_t bytes, unsigned node) noexcept {
  constexpr unsigned nodes_max = 1024;  // The most that a kernel can have.
  constexpr int bind = 2;               // MPOL_BIND, of a header that need not be there.
  constexpr unsigned word_bits = 8 * sizeof(unsigned long);
  if (node >= nodes_max) return false;
  unsigned long nodes[nodes_max / word_bits] = {};
  nodes[node / word_bits] = 1ul << node % word_bits;
  // The kernel counts one more.
  return succeeds([&] { return syscall(SYS_mbind, start, bytes, bind, nodes, nodes_max + 1, 0u); });
}

bool vm_purge(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  return succeeds([=] { return madvise(start, bytes, MADV_DONTNEED); });
}

bool vm_close(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  const int saved = errno;
  const bool done = mprotect(start, bytes, PROT_NONE) == 0;
  errno = saved;
  return done;
}

bool vm_open(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  const int saved = errno;
  const bool done = mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
  errno = saved;
  return done;
}

namespace {

// Whether guards are markers. Refused: the kernel has none, a filter refuses them, or all memory is
// locked.
enum class Markers : std::uint8_t { unknown, there, refused };
std::atomic<Markers> markers{Markers::unknown};

// What guards have been made of so far. A range may have either, or both.
std::atomic<bool> has_markers{false};
std::atomic<bool> has_rights{false};

bool remove_markers(void* start, std::size_t bytes) noexcept {
  return succeeds([=] { return madvise(start, bytes, MADV_GUARD_REMOVE); });
}

// Whether memory as new as can be takes markers.
bool new_memory_takes_markers() noexcept {
  void* const page = map(slice_bytes, 0);
  if (page == nullptr) return false;  // There is no memory for guards, either.
  const bool done = succeeds([=] { return madvise(page, slice_bytes, MADV_GUARD_INSTALL); });
  vm_release(page, slice_bytes);
  return done;
}

// Looks again when a range could not be marked: it may be locked, or there was no memory for its
// page tables.
void ask_for_markers() noexcept {
  const bool there = new_memory_takes_markers();
  if (there) has_markers.store(true, std::memory_order_relaxed);
  markers.store(there ? Markers::there : Markers::refused, std::memory_order_relaxed);
}

bool put_markers(void* start, std::size_t bytes) noexcept {
  if (markers.load(std::memory_order_relaxed) == Markers::unknown) ask_for_markers();
  if (markers.load(std::memory_order_relaxed) == Markers::refused) return false;
  if (succeeds([=] { return madvise(start, bytes, MADV_GUARD_INSTALL); })) return true;
  ask_for_markers();
  return false;
}

}  // namespace

bool vm_guard(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  if (put_markers(start, bytes)) return true;
  has_rights.store(true, std::memory_order_relaxed);  // First: whoever opens the range asks for it.
  if (vm_close(start, bytes)) {
    vm_purge(start, bytes);  // If it is refused, the memory stays taken.
    return true;
  }
  // A part may have them.
  if (has_markers.load(std::memory_order_relaxed)) remove_markers(start, bytes);
  return false;
}

// The thread that guarded a range has handed it on since, so that this one knows what it is of.
bool vm_unguard(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  if (has_rights.load(std::memory_order_relaxed) && !vm_open(start, bytes)) return false;
  return !has_markers.load(std::memory_order_relaxed) || remove_markers(start, bytes);
}

bool vm_guards_are_markers() noexcept {
  return markers.load(std::memory_order_relaxed) == Markers::there;
}

void* vm_grow(void* start, std::size_t bytes, std::size_t wanted) noexcept {
  TARN_ASSERT(is_whole(start, bytes) && is_whole(start, wanted) && wanted > bytes);
  // Without MREMAP_FIXED: with it, kernels before 6.17 unmap the target before they find out that
  // they cannot move, and another thread's mapping may take its place.
  const int saved = errno;
  void* const grown = mremap(start, bytes, wanted, MREMAP_MAYMOVE);
  errno = saved;
  return grown == MAP_FAILED ? nullptr : grown;
}

std::size_t vm_resident(const void* start, std::size_t bytes) noexcept {
  const int saved = errno;
  unsigned char pages[512];  // The lowest bit of each says it.
  constexpr std::size_t batch_bytes = sizeof pages * slice_bytes;
  auto* at = const_cast<unsigned char*>(static_cast<const unsigned char*>(start));
  std::size_t resident = 0;
  for (std::size_t left = bytes; left != 0;) {
    const std::size_t part = left < batch_bytes ? left : batch_bytes;
    const std::size_t count = part / slice_bytes;
    if (mincore(at, part, pages) == 0) {
      for (std::size_t i = 0; i < count; ++i) resident += pages[i] & 1u;
    }
    at += part;
    left -= part;
  }
  errno = saved;
  return resident * slice_bytes;
}

void vm_name(void* start, std::size_t bytes, const char* name) noexcept {
  // Kernels without CONFIG_ANON_VMA_NAME say EINVAL; then asking again is a call for nothing.
  static std::atomic<bool> names_refused{false};
  if (names_refused.load(std::memory_order_relaxed)) return;
  if (!succeeds([=] { return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, start, bytes, name); })) {
    names_refused.store(true, std::memory_order_relaxed);
  }
}

bool vm_protect(void* start, std::size_t bytes, bool writable) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  const int rights = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  return succeeds([=] { return mprotect(start, bytes, rights); });
}

bool vm_lock(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  return succeeds([=] { return mlock(start, bytes); });
}

bool vm_hide(void* start, std::size_t bytes) noexcept {
  TARN_ASSERT(is_whole(start, bytes));
  return succeeds([=] { return madvise(start, bytes, MADV_DONTDUMP); }) &&
         succeeds([=] { return madvise(start, bytes, MADV_WIPEONFORK); });
}

}  // namespace tarn::os
