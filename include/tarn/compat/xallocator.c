/* compat/xallocator.c: xmalloc and its sisters as functions, for libraries that are configured with
 * their names. Compile it with the program, as C99 or C++11, and link with tarn; the header's
 * inline functions do the same, so files with and without it may be mixed.
 *
 *   cc -I INCLUDE/tarn/compat program.c INCLUDE/tarn/compat/xallocator.c $(pkg-config --libs tarn)
 *
 * SPDX-License-Identifier: MIT */
#define TARN_XALLOCATOR_FUNCTIONS
#define XALLOCATOR_NO_LOCK_NAMES /* A program may have functions of these names. */
#include "xallocator.h"
