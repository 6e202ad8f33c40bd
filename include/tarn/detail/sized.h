/* sized: structs that begin with their size, so that a newer library knows which fields an older
 * program has. Each such struct has a macro with its own name in capitals, which sets `bytes` and
 * the named fields, and zeroes all others:
 *
 *   tarn_pool_options options = TARN_POOL_OPTIONS(.block_bytes = 48);
 *   tarn_pool_init(&pool, &TARN_POOL_OPTIONS(.block_bytes = 48));      // in C
 *   tarn_pool_stats stats = TARN_POOL_STATS();
 *
 * In C++17 fields cannot be named; set them afterwards, or use the classes, which have options of
 * their own. In C the macro is no constant for -Wpedantic, so a static struct has .bytes =
 * sizeof(...) written out. A call that is given another size fails with EINVAL and says on standard
 * error which macro to use.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_SIZED_H
#define TARN_SIZED_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#ifdef __cplusplus
namespace tarn {

template <class T>
TARN_CONSTANT T sized(T made) noexcept {
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
