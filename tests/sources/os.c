/* os.c: tarn/source/os_source.h from C.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/source/os_source.h"

#include <errno.h>
#include <string.h>

#include "../check.h"

int main(void) {
  tarn_os_source pages;
  tarn_os_source_options options = TARN_OS_SOURCE_OPTIONS(.flags = TARN_OS_SOURCE_POPULATE);
  tarn_os_source_stats stats = TARN_OS_SOURCE_STATS();
  tarn_source source;
  tarn_chunk chunk;

  CHECK(tarn_os_source_init(&pages, &options) == 0);
  source = tarn_os_source_get(&pages);
  CHECK(source.bytes == sizeof source && source.zeroed == 1);
  chunk = source.acquire(source.context, 10000, 1 << 20);
  CHECK(chunk.data != NULL && chunk.bytes == 12288 && (uintptr_t)chunk.data % (1 << 20) == 0);
  memset(chunk.data, 1, chunk.bytes);
  CHECK(tarn_os_source_get_stats(&pages, &stats) == 0);
  CHECK(stats.chunks == 1 && stats.held_bytes == 12288 && stats.kept_bytes == 0);
  source.release(source.context, chunk);
  CHECK(tarn_os_source_acquire(&pages, SIZE_MAX, 1).data == NULL);
  CHECK(tarn_os_source_get_stats(&pages, &stats) == 0);
  CHECK(stats.chunks == 0 && stats.held_bytes == 0 && stats.refused == 1);
  stats.bytes = 1;
  CHECK(tarn_os_source_get_stats(&pages, &stats) == -1 && errno == EINVAL);
  CHECK(tarn_os_source_destroy(&pages) == 0);
  CHECK(tarn_os_source_acquire(&pages, 1, 1).data == NULL);

  options.flags = 1u << 31;
  CHECK(tarn_os_source_init(&pages, &options) == -1 && errno == EINVAL);
  options.flags = TARN_OS_SOURCE_NODE;
  options.node = 1023;
  CHECK(tarn_os_source_init(&pages, &options) == -1 && errno == ENOTSUP);
  CHECK(tarn_os_source_init(&pages, NULL) == 0);
  tarn_os_source_destroy(&pages);
  return 0;
}
