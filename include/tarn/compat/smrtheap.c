/* compat/smrtheap.c: the functions of smrtheap.h as functions, for libraries that are configured
 * with their names. Compile it with the program, as C99 or C++11, and link with tarn; the header's
 * inline functions do the same, so files with and without it may be mixed.
 *
 *   cc -I INCLUDE/tarn/compat program.c INCLUDE/tarn/compat/smrtheap.c $(pkg-config --libs tarn)
 *
 * SPDX-License-Identifier: MIT */
#define TARN_SMRTHEAP_FUNCTIONS
#include "smrtheap.h"
