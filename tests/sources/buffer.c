/* buffer.c: tarn/source/buffer_source.h from C, with nothing of the library linked.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/source/buffer_source.h"

#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

static unsigned char memory[2000];

static void is_used_again(void) {
  tarn_buffer_source buffer;
  tarn_chunk a, b, all;
  tarn_buffer_source_init(&buffer, memory, sizeof memory);
  CHECK(tarn_buffer_source_check(&buffer));
  CHECK(buffer.gaps.bytes > sizeof memory - 31);
  a = tarn_buffer_source_acquire(&buffer, 100, 64);
  b = tarn_buffer_source_acquire(&buffer, 100, 256);
  CHECK(a.data != NULL && a.bytes == 112 && (uintptr_t)a.data % 64 == 0);
  CHECK(b.data != NULL && (uintptr_t)b.data % 256 == 0);
  CHECK(tarn_buffer_source_owns(&buffer, a.data));
  CHECK(!tarn_buffer_source_owns(&buffer, &buffer));
  CHECK(tarn_buffer_source_acquire(&buffer, SIZE_MAX, 16).data == NULL);
  CHECK(tarn_buffer_source_acquire(&buffer, 16, 3).data == NULL);
  CHECK(buffer.gaps.chunks == 2 && buffer.gaps.acquired == 2 && buffer.gaps.refused == 2);
  tarn_buffer_source_release(&buffer, a);
  tarn_buffer_source_release(&buffer, b);
  tarn_buffer_source_release(&buffer, (tarn_chunk){NULL, 0});
  all = tarn_buffer_source_acquire(&buffer, buffer.gaps.bytes, 1);
  CHECK(all.data != NULL && buffer.gaps.free_bytes == 0 && buffer.gaps.free_bytes_min == 0);
  CHECK(tarn_buffer_source_check(&buffer));
}

static void is_a_source(void) {
  tarn_buffer_source buffer;
  tarn_source source;
  tarn_chunk chunk;
  tarn_buffer_source_init(&buffer, memory, sizeof memory);
  source = tarn_buffer_source_get(&buffer);
  CHECK(source.bytes == sizeof source && source.chunk_bytes == 256 && source.zeroed == 0);
  chunk = source.acquire(source.context, 500, 16);
  CHECK(chunk.data != NULL && buffer.gaps.chunks == 1);
  source.release(source.context, chunk);
  CHECK(buffer.gaps.chunks == 0);
}

/* Without the library there are no words for it, and yet no harm comes of it. */
static void misuse_ends_the_process(void) {
  const pid_t child = fork();
  int status = 0;
  CHECK(child >= 0);
  if (child == 0) {
    tarn_buffer_source buffer;
    tarn_chunk chunk;
    tarn_buffer_source_init(&buffer, memory, sizeof memory);
    chunk = tarn_buffer_source_acquire(&buffer, 16, 16);
    tarn_buffer_source_release(&buffer, chunk);
    tarn_buffer_source_release(&buffer, chunk);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status != 0);
}

int main(void) {
  is_used_again();
  is_a_source();
  misuse_ends_the_process();
  return 0;
}
