/* words: counts the words of a text and prints the most frequent ones. Its nodes come from a pool,
 * its strings from an arena; nothing is freed one by one. words.cpp is the same in C++.
 *
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tarn/arena/arena.h"
#include "tarn/arena/shared_arena.h"
#include "tarn/pool/pool.h"

struct word {
  struct word* next;
  const char* text;
  unsigned count;
};

enum { heads_count = 4096 };
static struct word* heads[heads_count];
static tarn_pool words;
static tarn_arena strings;

static void out_of_memory(void) {
  fputs("words: out of memory\n", stderr);
  exit(1);
}

static unsigned hash(const char* text, size_t length) {
  unsigned value = 2166136261; /* FNV-1a. */
  for (size_t i = 0; i < length; ++i) value = (value ^ (unsigned char)text[i]) * 16777619;
  return value;
}

static void add(const char* text, size_t length) {
  struct word** const head = &heads[hash(text, length) % heads_count];
  for (struct word* word = *head; word != NULL; word = word->next) {
    if (strncmp(word->text, text, length) == 0 && word->text[length] == '\0') {
      ++word->count;
      return;
    }
  }
  struct word* const word = tarn_pool_allocate(&words);
  char* const copy = tarn_arena_copy_string_n(&strings, text, length);
  if (word == NULL || copy == NULL) out_of_memory();
  *word = (struct word){*head, copy, 1};
  *head = word;
}

struct listing {
  struct word** all;
  size_t count;
};

static int list(void* block, void* context) {
  struct listing* const listing = context;
  listing->all[listing->count++] = block;
  return 0;
}

static int by_count(const void* left, const void* right) {
  const struct word* const a = *(struct word* const*)left;
  const struct word* const b = *(struct word* const*)right;
  if (a->count != b->count) return a->count > b->count ? -1 : 1;
  return strcmp(a->text, b->text);
}

static void print_top(size_t most) {
  tarn_pool_stats blocks = TARN_POOL_STATS();
  tarn_arena_stats used = TARN_ARENA_STATS();
  tarn_pool_get_stats(&words, &blocks);
  tarn_arena_get_stats(&strings, &used);
  tarn_scratch_arena scratch = tarn_scratch_arena_begin(NULL, 0);
  if (scratch.arena == NULL) out_of_memory();
  struct listing listing = {
      tarn_arena_allocate_zeroed(scratch.arena, blocks.live_blocks, sizeof(struct word*)), 0};
  if (listing.all == NULL) out_of_memory();
  tarn_pool_walk(&words, list, &listing);
  qsort(listing.all, listing.count, sizeof *listing.all, by_count);
  for (size_t i = 0; i < listing.count && i < most; ++i) {
    printf("%6u %s\n", listing.all[i]->count, listing.all[i]->text);
  }
  printf("%zu words, %zu bytes of strings\n", listing.count, (size_t)used.used_bytes);
  tarn_scratch_arena_end(&scratch);
}

int main(void) {
  const tarn_pool_options options =
      TARN_POOL_OPTIONS(.name = "words", .block_bytes = sizeof(struct word));
  if (tarn_pool_init(&words, &options) != 0 || tarn_arena_init(&strings, NULL) != 0) return 1;
  char* word = NULL; /* In an arena, it can grow where it is. */
  size_t length = 0, room = 0;
  tarn_scratch_arena line = tarn_scratch_arena_begin(NULL, 0);
  for (int c = getchar();; c = getchar()) {
    if (isalpha(c)) {
      if (length == room) {
        const size_t larger = room == 0 ? 64 : 2 * room;
        word = tarn_arena_resize(line.arena, word, room, larger, 1);
        if (word == NULL) out_of_memory();
        room = larger;
      }
      word[length++] = (char)tolower(c);
    } else if (length != 0) {
      add(word, length);
      length = 0;
    }
    if (c == EOF) break;
  }
  tarn_scratch_arena_end(&line);
  print_top(10);
  tarn_arena_destroy(&strings);
  tarn_pool_destroy(&words);
  return 0;
}
