/* kinds: a pool or heap of each kind, as the crimes see it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TEST_KINDS_H
#define TARN_TEST_KINDS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct kind {
  const char* name;
  void* (*allocate)(void); /* A block of `bytes` bytes; the next one lies behind it. */
  void (*deallocate)(void* p);
  size_t bytes;
};

extern const struct kind cpp_kinds[];
extern const size_t cpp_kind_count;

#ifdef __cplusplus
}
#endif

#endif
