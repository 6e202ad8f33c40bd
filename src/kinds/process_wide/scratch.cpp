// scratch: the functions that tarn/arena/scratch.h leaves to the library.
//
// SPDX-License-Identifier: MIT
#include "tarn/arena/scratch.h"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "platform/base/bits.hpp"
#include "platform/base/check.hpp"
#include "platform/base/config.hpp"
#include "platform/os/process.hpp"

using namespace tarn;

extern "C" {

TARN_EXPORT void* tarn_scratch_spill(tarn_scratch* scratch, std::size_t count, std::size_t bytes) {
  std::size_t product = 0;
  if (!checked_multiply(count, bytes, &product)) {
    os::set_error(os::Error::no_memory);
    return nullptr;
  }
  TARN_ASSERT(scratch->spilled == nullptr);
  scratch->spilled = tarn::allocate(product);
  return scratch->spilled;
}

TARN_EXPORT void tarn_scratch_free(void* spilled) { tarn::deallocate(spilled); }

// Relaxed: the numbers order nothing.
TARN_EXPORT void tarn_scratch_count(tarn_scratch_site* site, std::size_t stack_bytes,
                                    std::size_t bytes) {
  __atomic_fetch_add(&site->uses, 1, __ATOMIC_RELAXED);
  if (bytes > stack_bytes) __atomic_fetch_add(&site->spills, 1, __ATOMIC_RELAXED);
  std::uint64_t seen = __atomic_load_n(&site->bytes_max, __ATOMIC_RELAXED);
  while (bytes > seen && !__atomic_compare_exchange_n(&site->bytes_max, &seen, bytes, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

TARN_EXPORT tarn_scratch_site tarn_scratch_read(const tarn_scratch_site* site) {
  return {__atomic_load_n(&site->uses, __ATOMIC_RELAXED),
          __atomic_load_n(&site->spills, __ATOMIC_RELAXED),
          __atomic_load_n(&site->bytes_max, __ATOMIC_RELAXED)};
}

}  // extern "C"
