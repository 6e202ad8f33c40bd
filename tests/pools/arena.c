/* arena.c: tarn/arena/arena.h from C: the same promises, with the essentials of each.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/arena/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"

static void count_up(void* context) { ++*(int*)context; }

static tarn_arena_stats stats_of(const tarn_arena* arena) {
  tarn_arena_stats stats = TARN_ARENA_STATS();
  CHECK(tarn_arena_get_stats(arena, &stats) == 0);
  return stats;
}

static void in_mode(int mode) {
  const tarn_arena_options options =
      TARN_ARENA_OPTIONS(.name = "document", .mode = mode, .limit_bytes = 1000000,
                         .keep_bytes = TARN_ARENA_KEEP_TYPICAL);
  tarn_arena arena;
  CHECK(tarn_arena_init(&arena, &options) == 0);
  int released = 0;
  CHECK(tarn_arena_on_release(&arena, count_up, &released) == 0);
  const tarn_arena_mark mark = tarn_arena_get_mark(&arena);
  for (int i = 0; i < 1000; ++i) {
    char* const text = tarn_arena_format(&arena, "%d:%s", i, "value");
    CHECK(text != NULL && atoi(text) == i);
    int* const numbers = tarn_arena_allocate_zeroed(&arena, 10, sizeof(int));
    CHECK(numbers != NULL && (uintptr_t)numbers % 16 == 0 && numbers[9] == 0);
  }
  CHECK(tarn_arena_on_release(&arena, count_up, &released) == 0);
  CHECK(stats_of(&arena).used_bytes > 50000);
  tarn_arena_rewind(&arena, &mark);
  CHECK(released == 1 && tarn_arena_check(&arena));
  CHECK(stats_of(&arena).used_bytes < 200);

  char* text = tarn_arena_copy_string(&arena, "hello");
  CHECK(strcmp(text, "hello") == 0 && tarn_arena_owns(&arena, text + 1));
  CHECK(!tarn_arena_owns(&arena, &arena));
  CHECK(tarn_arena_try_expand(&arena, text, 6, 100) == 1);
  CHECK(tarn_arena_try_expand(&arena, text, 100, 2000000) == 0);
  text = tarn_arena_resize(&arena, text, 100, 100000, 1);
  CHECK(text != NULL && strcmp(text, "hello") == 0);
  CHECK(strcmp(tarn_arena_copy_string_n(&arena, "hello", 2), "he") == 0);
  CHECK(*(char*)tarn_arena_copy(&arena, "x", 1, 64) == 'x');
  errno = 0;
  CHECK(tarn_arena_allocate(&arena, 2000000) == NULL && errno == ENOMEM);
  errno = 0;
  CHECK(tarn_arena_allocate(&arena, SIZE_MAX) == NULL && errno == ENOMEM);
  CHECK(tarn_arena_allocate(&arena, SIZE_MAX - 20) == NULL);
  CHECK(tarn_arena_allocate_zeroed(&arena, SIZE_MAX / 2, 3) == NULL);
  CHECK(tarn_arena_allocate(&arena, 0) != NULL);
  errno = 0;
  CHECK(tarn_arena_allocate_slow(&arena, 8, 48) == NULL && errno == EINVAL);

  tarn_arena moved;
  tarn_arena_move(&moved, &arena);
  CHECK(tarn_arena_allocate(&arena, 1) == NULL);
  tarn_arena_reset(&moved);
  CHECK(released == 2 && stats_of(&moved).used_bytes == 0 && stats_of(&moved).resets == 1);
  CHECK(stats_of(&moved).retained_bytes == stats_of(&moved).held_bytes);
  CHECK(tarn_arena_trim(&moved) != 0 && stats_of(&moved).held_bytes == 0);
  char* const last = tarn_arena_allocate(&moved, 40);
  tarn_arena_deallocate(&moved, last, 40);
  CHECK(tarn_arena_allocate(&moved, 40) == last);
  tarn_arena_reset_keeping(&moved, TARN_ARENA_KEEP_NOTHING);
  CHECK(tarn_arena_check(&moved) && stats_of(&moved).chunks == 0);
  tarn_arena_stats wrong = {.bytes = 3};
  CHECK(tarn_arena_get_stats(&moved, &wrong) == -1);
  tarn_arena_destroy(&moved);
  tarn_arena_destroy(&moved);
}

int main(void) {
  in_mode(TARN_MODE_FAST);
  in_mode(TARN_MODE_CHECKED);
  tarn_arena arena;
  const tarn_arena_options wrong = {.bytes = 7};
  errno = 0;
  CHECK(tarn_arena_init(&arena, &wrong) == -1 && errno == EINVAL);
  CHECK(tarn_arena_allocate(&arena, 8) == NULL);
  CHECK(tarn_arena_init(&arena, NULL) == 0 && tarn_arena_allocate(&arena, 8) != NULL);
  tarn_arena_destroy(&arena);
  puts("arena.c: ok");
  return 0;
}
