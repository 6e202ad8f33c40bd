// vm in tests: see fake.hpp.
//
// SPDX-License-Identifier: MIT
#include "platform/os/vm.hpp"

#include <atomic>
#include <cerrno>
#include <sys/mman.h>

#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/slice.hpp"
#include "platform/os/fake/fake.hpp"

namespace tarn::os {

namespace {

std::atomic<std::uint64_t> call_count{0};
std::atomic<std::uint64_t> failing_call{0};
std::atomic<bool> failing_onwards{false};
std::atomic<std::size_t> reserved_bytes{0};
std::atomic<std::size_t> purged_bytes{0};
std::atomic<std::size_t> limit{0};
std::atomic<void*> last_filled{nullptr};
std::atomic<std::size_t> last_filled_bytes{0};
std::atomic<bool> tells_resident{false};

// While it lives: errno is as it was afterwards, as the contract has it.
class KeptErrno {
 public:
  KeptErrno() = default;
  ~KeptErrno() { errno = saved_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int saved_ = errno;
};

bool call_fails() noexcept {
  const std::uint64_t call = call_count.fetch_add(1, std::memory_order_relaxed) + 1;
  const std::uint64_t failing = failing_call.load(std::memory_order_relaxed);
  if (failing == 0) return false;
  return failing_onwards.load(std::memory_order_relaxed) ? call >= failing : call == failing;
}

// Of tests that use it, none has two threads.
bool exceeds_limit(std::size_t bytes) noexcept {
  return limit.load() != 0 && reserved_bytes.load() + bytes > limit.load();
}

// For assertions: what the contract says of all ranges.
[[maybe_unused]] bool is_whole(const void* start, std::size_t bytes) noexcept {
  return start != nullptr && bytes != 0 && address_of(start) % slice_bytes == 0 &&
         bytes % slice_bytes == 0;
}

}  // namespace

namespace fake {

void limit_bytes(std::size_t bytes) noexcept { limit.store(bytes); }

void fail_at(std::uint64_t n, bool onwards) noexcept {
  call_count.store(0);
  failing_onwards.store(onwards);
  failing_call.store(n);
}

std::uint64_t calls() noexcept { return call_count.load(); }
std::size_t bytes_reserved() noexcept { return reserved_bytes.load(); }
std::size_t bytes_purged() noexcept { return purged_bytes.load(); }
void* filled_huge() noexcept { return last_filled.load(); }
std::size_t filled_huge_bytes() noexcept { return last_filled_bytes.load(); }
void tell_resident(bool on) noexcept { tells_resident.store(on); }

}  // namespace fake

void* vm_reserve(std::size_t bytes) noexcept {
  const KeptErrno kept;
  if (call_fails() || exceeds_limit(bytes)) return nullptr;
  void* const start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  reserved_bytes.fetch_add(bytes);
  return start;
}

void* vm_reserve_sparse(std::size_t bytes) noexcept { return vm_reserve(bytes); }

std::size_t vm_bytes_there_can_be() noexcept { return SIZE_MAX; }

bool vm_release(void* start, std::size_t bytes) noexcept {
  const KeptErrno kept;
  TARN_ASSERT(is_whole(start, bytes));
  if (call_fails() || munmap(start, bytes) != 0) return false;
  reserved_bytes.fetch_sub(bytes);
  return true;
}

bool vm_prefer_huge(void*, std::size_t) noexcept { return !call_fails(); }
void vm_avoid_huge(void*, std::size_t) noexcept {}
bool vm_is_huge_unasked(void*) noexcept { return false; }
bool vm_fill_huge(void* at, std::size_t bytes) noexcept {
  last_filled.store(at);
  last_filled_bytes.store(bytes);
  if (call_fails()) return false;
  for (std::size_t i = 0; i < bytes; i += slice_bytes) static_cast<volatile char*>(at)[i] = 0;
  return true;
}
bool vm_populate(void*, std::size_t) noexcept { return !call_fails(); }
bool vm_bind(void*, std::size_t, unsigned node) noexcept { return !call_fails() && node == 0; }

bool vm_purge(void* start, std::size_t bytes) noexcept {
  const KeptErrno kept;
  TARN_ASSERT(is_whole(start, bytes));
  if (call_fails() || madvise(start, bytes, MADV_DONTNEED) != 0) return false;
  purged_bytes.fetch_add(bytes);
  return true;
}

bool vm_close(void* start, std::size_t bytes) noexcept {
  const KeptErrno kept;
  TARN_ASSERT(is_whole(start, bytes));
  const bool fails = call_fails();  // As where the range is of two mappings.
  const std::size_t closed = fails ? bytes / 2 / slice_bytes * slice_bytes : bytes;
  return mprotect(start, closed, PROT_NONE) == 0 && !fails;
}

bool vm_open(void* start, std::size_t bytes) noexcept {
  const KeptErrno kept;
  TARN_ASSERT(is_whole(start, bytes));
  return !call_fails() && mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool vm_guard(void* start, std::size_t bytes) noexcept {
  if (!vm_close(start, bytes)) return false;
  vm_purge(start, bytes);
  return true;
}
bool vm_unguard(void* start, std::size_t bytes) noexcept { return vm_open(start, bytes); }
bool vm_guards_are_markers() noexcept { return false; }

void* vm_grow(void* start, std::size_t bytes, std::size_t wanted) noexcept {
  const KeptErrno kept;
  TARN_ASSERT(is_whole(start, bytes) && is_whole(start, wanted) && wanted > bytes);
  if (call_fails() || exceeds_limit(wanted - bytes)) return nullptr;
  void* const grown = mremap(start, bytes, wanted, MREMAP_MAYMOVE);
  if (grown == MAP_FAILED) return nullptr;
  reserved_bytes.fetch_add(wanted - bytes);
  return grown;
}

std::size_t vm_resident(const void* start, std::size_t bytes) noexcept {
  const KeptErrno kept;
  TARN_ASSERT(is_whole(start, bytes));
  std::size_t resident = 0;
  for (std::size_t at = 0; tells_resident.load() && at < bytes; at += slice_bytes) {
    unsigned char there = 0;
    auto* const page = const_cast<char*>(static_cast<const char*>(start)) + at;
    if (mincore(page, slice_bytes, &there) == 0 && (there & 1) != 0) resident += slice_bytes;
  }
  return resident;
}

void vm_name(void*, std::size_t, const char*) noexcept {}

bool vm_protect(void* start, std::size_t bytes, bool writable) noexcept {
  const KeptErrno kept;
  TARN_ASSERT(is_whole(start, bytes));
  return !call_fails() &&
         mprotect(start, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

bool vm_lock(void*, std::size_t) noexcept { return !call_fails(); }
bool vm_hide(void*, std::size_t) noexcept { return !call_fails(); }

}  // namespace tarn::os
