/* file.c: tarn/source/file_source.h from C: a file of one program that the next one opens.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/source/file_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"

static const char path[] = "file_in_c.data";
static const char memory[] = "/tarn_file_in_c";

static void write_it(void) {
  tarn_file_source file;
  tarn_file_source_stats stats = TARN_FILE_SOURCE_STATS();
  tarn_file_source_options options =
      TARN_FILE_SOURCE_OPTIONS(.name = path, .flags = TARN_FILE_CREATE | TARN_FILE_EXCLUSIVE);
  tarn_source source;
  tarn_chunk a, b;
  CHECK(tarn_file_source_init(&file, &options) == 0);
  source = tarn_file_source_get(&file);
  a = source.acquire(source.context, 100000, 64);
  b = source.acquire(source.context, 100, 4096);
  CHECK(a.data != NULL && (uintptr_t)a.data % 64 == 0 && a.bytes >= 100000);
  CHECK(b.data != NULL && (uintptr_t)b.data % 4096 == 0);
  CHECK(tarn_file_source_owns(&file, b.data) && !tarn_file_source_owns(&file, &file));
  strcpy(b.data, "from C");
  CHECK(tarn_file_source_set_root(&file, b.data) == 0);
  CHECK(tarn_file_source_set_root(&file, &file) == -1 && errno == EINVAL);
  source.release(source.context, a);
  CHECK(tarn_file_source_get_stats(&file, &stats) == 0);
  CHECK(stats.chunks == 1 && stats.acquired == 2 && stats.file_bytes > 100000);
  CHECK(tarn_file_source_sync(&file) == 0);
  CHECK(tarn_file_source_acquire(&file, SIZE_MAX, 16).data == NULL);
  CHECK(tarn_file_source_acquire(&file, 16, 3).data == NULL && errno == EINVAL);
  CHECK(tarn_file_source_check(&file));
  tarn_file_source_destroy(&file);
  CHECK(tarn_file_source_acquire(&file, 16, 16).data == NULL);
}

static void read_it(void) {
  tarn_file_source file;
  tarn_file_source_options options = TARN_FILE_SOURCE_OPTIONS(.name = path);
  CHECK(tarn_file_source_init(&file, &options) == 0);
  CHECK(strcmp(tarn_file_source_root(&file), "from C") == 0);
  CHECK(tarn_file_source_at(&file, tarn_file_source_offset(&file, tarn_file_source_root(&file)),
                            100) == tarn_file_source_root(&file));
  CHECK(tarn_file_source_set_root(&file, NULL) == 0 && tarn_file_source_root(&file) == NULL);
  tarn_file_source_destroy(&file);
}

static void errors(void) {
  tarn_file_source file;
  tarn_file_source_options options = TARN_FILE_SOURCE_OPTIONS(.name = "not there");
  CHECK(tarn_file_source_init(&file, &options) == -1 && errno == ENOENT);
  CHECK(strcmp(file.why, "there is no file of this name") == 0);
  tarn_file_source_destroy(&file);
  CHECK(tarn_file_source_init(&file, NULL) == -1 && errno == EINVAL);
  options.bytes = 1;
  CHECK(tarn_file_source_init(&file, &options) == -1 && errno == EINVAL);
}

static void shared_memory(void) {
  tarn_file_source made, attached;
  tarn_file_source_options options =
      TARN_FILE_SOURCE_OPTIONS(.name = memory, .flags = TARN_FILE_SHARED_MEMORY | TARN_FILE_CREATE);
  tarn_chunk chunk;
  tarn_shared_memory_unlink(memory);
  CHECK(tarn_file_source_init(&made, &options) == 0);
  options.flags = TARN_FILE_SHARED_MEMORY;
  CHECK(tarn_file_source_init(&attached, &options) == 0);
  chunk = tarn_file_source_acquire(&made, 100000, 16);
  strcpy(chunk.data, "seen");
  CHECK(strcmp(tarn_file_source_at(&attached, tarn_file_source_offset(&made, chunk.data), 5),
               "seen") == 0);
  tarn_file_source_destroy(&made);
  tarn_file_source_destroy(&attached);
  CHECK(tarn_shared_memory_unlink(memory) == 0);
  CHECK(tarn_shared_memory_unlink(memory) == -1 && errno == ENOENT);
}

int main(void) {
  unlink(path);
  write_it();
  read_it();
  CHECK(unlink(path) == 0);
  errors();
  shared_memory();
  return 0;
}
