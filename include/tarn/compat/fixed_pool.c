/* compat/fixed_pool.c: GetPool and its sisters as functions, for libraries that are configured with
 * their names. Compile it with the program, as C99 or C++11, and link with tarn; the header's
 * inline functions do the same, so files with and without it may be mixed.
 *
 *   cc -I INCLUDE/tarn/compat program.c INCLUDE/tarn/compat/fixed_pool.c $(pkg-config --libs tarn)
 *
 * SPDX-License-Identifier: MIT */
#define TARN_FIXED_POOL_FUNCTIONS
#include "fixed_pool.h"
