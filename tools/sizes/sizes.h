/* sizes: the counts of libtarn_sizes.so for `tarn classes -- PROGRAM`: a file that all processes of
 * the program map and add to.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TOOLS_SIZES_H
#define TARN_TOOLS_SIZES_H

#include <stdint.h>

#include "tarn/heap/heap.h"

#define TARN_SIZES_VARIABLE "TARN_SIZES"              /* The path of the file, which exists. */
#define TARN_SIZES_MAGIC UINT64_C(0x3173657a6973726e) /* "nrsizes1" as it lies in memory. */

typedef struct tarn_sizes {
  uint64_t magic;                                   /* Written by the first process that counts. */
  uint64_t processes;                               /* Processes that counted, without forks. */
  uint64_t large;                                   /* Requests above the largest class. */
  uint64_t large_bytes;                             /* The bytes that these asked for. */
  uint64_t requests[TARN_HEAP_CLASS_BYTES_MAX + 1]; /* Requests by size. */
} tarn_sizes;

#endif
