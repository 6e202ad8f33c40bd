/* names: runs the programs of smrtheap.c, smrtheap_walks.c and fixed_pool.c.
 *
 * SPDX-License-Identifier: MIT */
#include "names.h"

#include "smrtheap.h" /* Again, in another file: what is one for the process is one. */

int main(void) {
  MEM_POOL_INFO info;
  const MEM_POOL pool = MemPoolInit(0);
  CHECK(MemPoolFirst(&info) && info.pool == pool && !MemPoolNext(&info));
  CHECK(MemPoolFree(pool));
  smrtheap();
  smrtheap_walks();
  fixed_pool();
  return 0;
}
