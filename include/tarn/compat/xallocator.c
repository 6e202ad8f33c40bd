/* compat/xallocator.c: xmalloc and its sisters as functions, for libraries that are configured with
 * their names. Compile it with the program, as C99 or C++11, and link with tarn; the header's
 * inline functions do the same, so files with and without it may be mixed.
 *
 *   cc -I INCLUDE/tarn/compat program.c INCLUDE/tarn/compat/xallocator.c $(pkg-config --libs tarn)
 *
 * SPDX-License-Identifier: MIT */
#include "../pool/xalloc.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

void* xmalloc(size_t size);
void xfree(void* p);
void* xrealloc(void* p, size_t size);
void xalloc_init(void);
void xalloc_destroy(void);
void xalloc_stats(void);

void* xmalloc(size_t size) { return tarn_xmalloc(size); }
void xfree(void* p) { tarn_xfree(p); }
void* xrealloc(void* p, size_t size) { return tarn_xrealloc(p, size); }
void xalloc_init(void) { (void)tarn_xalloc_init(NULL); }
void xalloc_destroy(void) { tarn_xalloc_destroy(); }

void xalloc_stats(void) {
  tarn_xalloc_class_stats stats = TARN_XALLOC_CLASS_STATS();
  size_t i;
  for (i = 0; tarn_xalloc_get_class_stats(i, &stats) == 0; ++i) {
    if (stats.in_use_peak == 0) continue;
    printf("xallocator Block Size: %lu Block Count: %lu Blocks In Use: %lu\n",
           (unsigned long)stats.block_bytes, (unsigned long)stats.in_use_peak,
           (unsigned long)stats.in_use);
  }
}

#ifdef __cplusplus
}
#endif
