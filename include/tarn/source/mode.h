/* mode.h: how strictly a heap, a pool or an arena checks the use of its blocks, in C. (C++:
 * tarn/source/mode.hpp.) The mode is fixed when the allocator is made. What each kind does in a
 * mode, and what that costs, is in tarn/heap/heap.h, tarn/pool/pool.h and tarn/arena/arena.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_MODE_H
#define TARN_MODE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#ifdef __cplusplus
extern "C" {
#endif

/* A mode that is none of these numbers is refused, and so is one that a kind of allocator does not
 * have, or not with its other options or on this system: EINVAL or ENOTSUP, and a line on standard
 * error that says why. */
enum tarn_mode {
  TARN_MODE_FAST = 0,        /* Finds only what is cheap to find. */
  TARN_MODE_CHECKED = 1,     /* Finds and reports wrong frees and writes beyond a block. */
  TARN_MODE_GUARDED = 2,     /* Each block ends at an OS page that faults. */
  TARN_MODE_PASSTHROUGH = 3, /* Each block is one of the program's malloc, which tools watch. */
  TARN_MODE_HARDENED = 4     /* Of the process's malloc alone (docs/options.md). */
};

#ifdef __cplusplus
}
#endif

#endif
#endif
