/* messages: a child writes messages into blocks of a shared pool and sends their tickets through a
 * pipe; the parent takes the blocks over, reads and frees them. The child ends without a word while
 * it still has a block, and the parent reclaims that.
 *
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tarn/pool/array_pool.h"

enum { BLOCK_COUNT = 8, BLOCK_BYTES = 64, MEMBERS_MAX = 2, MESSAGE_COUNT = 100 };

static void* notes;
static size_t notes_bytes;
static void* blocks;

/* Both processes see what is written here. */
static void* map_shared(size_t bytes) {
  void* data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) exit(1);
  return data;
}

/* A program whose processes live longer would use the start time too, since process ids are used
 * again. */
static uint64_t identity(pid_t process) { return tarn_array_identity((uint32_t)process, 0); }

static void join(tarn_shared_array_pool* pool) {
  const tarn_array_status status = tarn_shared_array_pool_attach(
      pool, notes, notes_bytes, blocks, (size_t)BLOCK_COUNT * BLOCK_BYTES, identity(getpid()));
  if (status == TARN_ARRAY_OK) return;
  fprintf(stderr, "messages: %s\n", tarn_array_status_text(status));
  _exit(1);
}

static void* allocate_or_wait(tarn_shared_array_pool* pool) {
  for (;;) { /* All blocks are under way: the reader will free some. */
    void* block = tarn_shared_array_pool_allocate(pool);
    if (block != NULL) return block;
    usleep(100);
  }
}

static void write_messages(int pipe_end) {
  tarn_shared_array_pool pool;
  join(&pool);
  for (int i = 0; i != MESSAGE_COUNT; ++i) {
    char* message = allocate_or_wait(&pool);
    snprintf(message, BLOCK_BYTES, "message %d of %d", i, MESSAGE_COUNT);
    const uint64_t ticket = tarn_shared_array_pool_ticket(&pool, message);
    if (write(pipe_end, &ticket, sizeof ticket) != sizeof ticket) _exit(1);
  }
  allocate_or_wait(&pool);
  _exit(0);
}

int main(void) {
  notes_bytes = tarn_shared_array_pool_bytes(BLOCK_COUNT, BLOCK_BYTES, MEMBERS_MAX);
  notes = map_shared(notes_bytes);
  blocks = map_shared((size_t)BLOCK_COUNT * BLOCK_BYTES);
  int ends[2];
  if (tarn_shared_array_pool_format(notes, notes_bytes, BLOCK_COUNT, BLOCK_BYTES, MEMBERS_MAX,
                                    TARN_ARRAY_ZEROED) != TARN_ARRAY_OK ||
      pipe(ends) != 0) {
    return 1;
  }
  tarn_shared_array_pool pool;
  join(&pool);
  const pid_t child = fork();
  if (child == 0) write_messages(ends[1]);
  close(ends[1]);
  uint64_t ticket = 0;
  while (read(ends[0], &ticket, sizeof ticket) == sizeof ticket) {
    char* message = tarn_shared_array_pool_adopt(&pool, ticket);
    if (message == NULL) continue; /* Its sender is gone, and its blocks are reclaimed. */
    puts(message);
    tarn_shared_array_pool_deallocate(&pool, message);
  }
  waitpid(child, NULL, 0);
  printf("%zu block was left behind; ", tarn_shared_array_pool_reclaim(&pool, identity(child)));
  const int is_whole =
      tarn_shared_array_pool_in_use(&pool) == 0 && tarn_shared_array_pool_check(&pool);
  printf(is_whole ? "all %d are free\n" : "of %d some are lost\n", BLOCK_COUNT);
  return 0;
}
