/* sizes: what libtarn_sizes.so counts for `tarn classes -- PROGRAM`: a file that all processes of
 * the program map, and add to.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TOOLS_SIZES_H
#define TARN_TOOLS_SIZES_H

#include <stdint.h>

#include "tarn/heap/heap.h"

#define TARN_SIZES_VARIABLE "TARN_SIZES" /* The file's path; it is there, and long enough. */
#define TARN_SIZES_MAGIC UINT64_C(0x3173657a6973726e) /* "nrsizes1" as it lies in memory. */

typedef struct tarn_sizes {
  uint64_t magic;                                   /* Written by the first process that counts. */
  uint64_t processes;                               /* That have counted here, forks left out. */
  uint64_t large;                                   /* Requests above the largest class, */
  uint64_t large_bytes;                             /* and what they asked for. */
  uint64_t requests[TARN_HEAP_CLASS_BYTES_MAX + 1]; /* By size. */
} tarn_sizes;

#endif
