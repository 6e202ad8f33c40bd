/* returns: reaches a peak of memory, frees it, and shows what stays resident over time.
 *
 *   returns PEAK DEMAND SEED MIB PAUSE_MS DURATION_MS
 *   returns row NAME SEED MIB
 *
 * Prints one line of JSON. Status 2: words that make no sense; 3: the allocator had no memory.
 *
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "task.h"

enum { WORDS_OF_ROW = 5, WORDS_OF_RUN = 7, TICKS_MAX = 4000 };

static int usage(void) {
  fputs(
      "usage: returns small|large|thread|ended|class idle|small|large|thread SEED MIB PAUSE_MS "
      "DURATION_MS\n"
      "       returns row resident|sparse|served|growth|holes|pairs|handover SEED MIB\n",
      stderr);
  return 2;
}

/* From 0 to `most`; -1 where the word says anything else. */
static long number(const char* word, long most) {
  char* end = NULL;
  const long value = strtol(word, &end, 10);
  return *word == '\0' || *end != '\0' || value < 0 || value > most ? -1 : value;
}

static long faults(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt + used.ru_majflt;
}

/* Multiplied, since generators of this kind begin alike from numbers that are near each other. */
static bool read_task(const char* seed_word, const char* size_word, task* into) {
  const long seed = number(seed_word, 1000000);
  const long mebibytes = number(size_word, 16384);
  if (seed <= 0 || mebibytes <= 0) return false;
  *into =
      (task){.random = (uint64_t)seed * 0x9E3779B97F4A7C15, .bytes = (size_t)mebibytes * MEBIBYTE};
  return true;
}

static bool read_times(const char* pause_word, const char* duration_word, task* into) {
  const long pause = number(pause_word, TICKS_MAX * TICK_MS);
  const long duration = number(duration_word, TICKS_MAX * TICK_MS);
  into->pause_ticks = (int)(pause / TICK_MS);
  into->ticks = (int)(duration / TICK_MS);
  return pause >= 0 && into->ticks > into->pause_ticks; /* Else the demand would never begin. */
}

static task_function* chosen(const choice* known, const char* name) {
  while (known->name != NULL && strcmp(known->name, name) != 0) ++known;
  return known->call;
}

static int run(task_function* peak, task_function* demand, task* asked) {
  const double start = seconds_now();
  const long faults_before = faults();
  work_begins();
  peak(asked);
  work_ends();
  const long filled = peak_kib();
  samples_begin();
  demand(asked);
  const long most = peak_kib();
  const long taken = faults() - faults_before;
  const double wall = seconds_now() - start;
  const char* call = give_all_back();
  const long left = resident_kib();
  printf(
      "{\"filled_kib\": %ld, \"peak_kib\": %ld, \"wall_s\": %.3f, \"work_s\": %.4f, "
      "\"faults\": %ld, \"blocks\": %ld, ",
      filled, most, wall, work_seconds(), taken, blocks_of_lists());
  if (call != NULL) printf("\"given_back_by\": \"%s\", \"given_back_kib\": %ld, ", call, left);
  printf("\"samples\": [");
  samples_print();
  printf("]}\n");
  return 0;
}

int main(int count, char** words) {
  task asked;
  if (count == WORDS_OF_ROW && strcmp(words[1], "row") == 0) {
    task_function* row = chosen(rows, words[2]);
    if (row == NULL || !read_task(words[3], words[4], &asked)) return usage();
    row(&asked);
    return 0;
  }
  if (count != WORDS_OF_RUN) return usage();
  task_function* peak = chosen(peaks, words[1]);
  task_function* demand = chosen(demands, words[2]);
  if (peak == NULL || demand == NULL || !read_task(words[3], words[4], &asked) ||
      !read_times(words[5], words[6], &asked)) {
    return usage();
  }
  return run(peak, demand, &asked);
}
