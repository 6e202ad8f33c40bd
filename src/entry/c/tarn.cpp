// tarn: the functions of tarn/heap/malloc.h and tarn/diagnose/account.h, and the version.
//
// SPDX-License-Identifier: MIT
#include "tarn/tarn.h"
#include "heaps/blocks/lookup.hpp"
#include "heaps/operations/trim.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/process/account.hpp"

#include "engine/upkeep/upkeep.hpp"
#include "heaps/heap/recovery.hpp"
#include "malloc/blocks/family.hpp"
#include "platform/os/pressure.hpp"

#define TARN_STRING(x) TARN_STRING_OF(x)
#define TARN_STRING_OF(x) #x

extern "C" {

void* tarn_malloc(std::size_t size) { return tarn::allocate(size); }

void* tarn_calloc(std::size_t count, std::size_t size) { return tarn::calloc_checked(count, size); }

void* tarn_realloc(void* p, std::size_t size) { return tarn::realloc_any(p, size); }

void* tarn_reallocarray(void* p, std::size_t count, std::size_t size) {
  return tarn::reallocarray_checked(p, count, size);
}

void tarn_free(void* p) { tarn::deallocate(p); }
void tarn_free_sized(void* p, std::size_t size) { tarn::deallocate_sized(p, size); }
void tarn_free_aligned_sized(void* p, std::size_t alignment, std::size_t size) {
  tarn::deallocate_sized(p, size, tarn::Origin(tarn::Family::malloc, alignment));
}

int tarn_posix_memalign(void** p, std::size_t alignment, std::size_t size) {
  return tarn::posix_memalign_checked(p, alignment, size);
}

void* tarn_aligned_alloc(std::size_t alignment, std::size_t size) {
  return tarn::aligned_alloc_checked(alignment, size);
}

void* tarn_memalign(std::size_t alignment, std::size_t size) {
  return tarn::memalign_rounded(alignment, size);
}

void* tarn_valloc(std::size_t size) { return tarn::allocate_aligned(size, tarn::slice_bytes); }
void* tarn_pvalloc(std::size_t size) { return tarn::pvalloc_rounded(size); }

std::size_t tarn_malloc_usable_size(const void* p) {
  return tarn::usable_bytes(p, "malloc_usable_size", __builtin_return_address(0));
}

void tarn_thread_idle(void) { tarn::thread_idle(); }

int tarn_purge_in_background(void) { return tarn::background.start() ? 0 : -1; }

int tarn_pressure_open(unsigned stall_ms, unsigned window_ms) {
  // The limits of the kernel. The products below cannot overflow then.
  if (stall_ms == 0 || stall_ms > window_ms || window_ms > 10'000) {
    errno = EINVAL;
    return -1;
  }
  return tarn::os::pressure_open(stall_ms * 1'000, window_ms * 1'000);
}

int tarn_pressure_serve(int descriptor, int timeout_ms) {
  const int ready = tarn::os::pressure_wait(descriptor, timeout_ms);
  if (ready == 1) tarn::relieve_pressure();
  return ready;
}

int tarn_malloc_trim(std::size_t pad) { return tarn::trim(pad) != 0; }

const char* tarn_version(void) {
  return TARN_STRING(TARN_VERSION_MAJOR) "." TARN_STRING(TARN_VERSION_MINOR) "." TARN_STRING(
      TARN_VERSION_PATCH);
}

int tarn_process_account(tarn_account* account, std::size_t bytes) {
  if (account == nullptr || bytes < sizeof(tarn_account)) {
    errno = EINVAL;
    return -1;
  }
  tarn::describe_process(account);
  return 0;
}

}  // extern "C"
