/* sized: structs that begin with their size, so that a later library knows which fields an older
 * program has. Each has a macro by its own name that sets `bytes`, the fields that are named, and
 * all others to zero:
 *
 *   tarn_pool_options options = TARN_POOL_OPTIONS(.block_bytes = 48);
 *   tarn_pool_init(&pool, &TARN_POOL_OPTIONS(.block_bytes = 48));      // in C
 *   tarn_pool_stats stats = TARN_POOL_STATS();
 *
 * In C++17 no fields are named, but set afterwards; classes have options of their own. In C this is
 * no constant for -Wpedantic: a static struct has .bytes = sizeof(...) written out. A call that is
 * given another size fails with EINVAL, and says on standard error which macro to write.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_SIZED_H
#define TARN_SIZED_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#ifdef __cplusplus
namespace tarn {

template <class T>
constexpr T sized(T made) noexcept {
  made.bytes = sizeof made;
  return made;
}

}  // namespace tarn
#define TARN_SIZED(Type, ...) (::tarn::sized(Type{__VA_ARGS__}))
#else
#define TARN_SIZED(Type, ...) ((Type){.bytes = sizeof(Type), __VA_ARGS__})
#endif

#endif
#endif
