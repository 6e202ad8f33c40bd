/* fork_stdio: forks while other threads are inside getline, fopen, fclose and fflush, all of which
 * hold locks of the C library and allocate under them. An allocator that takes its own lock in
 * the prepare handler waits for such a thread for ever: fork takes the stream locks afterwards.
 *
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>

#include "load.h"

enum { LINES = 200, FORKS = 150 };

static char path[] = "/tmp/tarn-life-XXXXXX";
static atomic_bool stopping;

static void write_lines(void) {
  const int file = mkstemp(path);
  FILE* stream = file < 0 ? NULL : fdopen(file, "w");
  CHECK(stream != NULL);
  for (int i = 0; i < LINES; ++i) fprintf(stream, "%d %0*d\n", i, 100 + i * 97, i);
  CHECK(fclose(stream) == 0);
}

static void read_lines(void) {
  FILE* stream = fopen(path, "r");
  CHECK(stream != NULL);
  char* line = NULL;
  size_t capacity = 0;
  for (int i = 0; i < LINES; ++i) {
    const ssize_t length = getline(&line, &capacity, stream);
    CHECK(length > 100 + i * 97);
    CHECK(atoi(line) == i && line[length - 1] == '\n');
    if (i % 3 == 0) {
      free(line);
      line = NULL;
      capacity = 0;
    }
  }
  free(line);
  CHECK(fclose(stream) == 0);
}

static void* read_for_ever(void* unused) {
  while (!atomic_load(&stopping)) read_lines();
  return unused;
}

static void* flush_for_ever(void* unused) {
  pthread_t readers[2];
  for (int i = 0; i < 2; ++i) CHECK(pthread_create(&readers[i], NULL, read_for_ever, NULL) == 0);
  while (!atomic_load(&stopping)) {
    FILE* stream = fopen("/dev/null", "w");
    CHECK(stream != NULL);
    CHECK(fprintf(stream, "%d", 1) == 1);
    CHECK(fflush(NULL) == 0);
    CHECK(fclose(stream) == 0);
  }
  for (int i = 0; i < 2; ++i) CHECK(pthread_join(readers[i], NULL) == 0);
  return unused;
}

/* Sits inside getline on a pipe that stays silent, with the stream's lock held. */
static void* wait_in_getline(void* argument) {
  char* line = NULL;
  size_t capacity = 0;
  CHECK(getline(&line, &capacity, argument) > 0);
  free(line);
  return NULL;
}

static void child_body(uint64_t turn) {
  alarm(30);
  load_churn(turn + 1, 100, NULL);
  read_lines();
  FILE* stream = fopen("/dev/null", "w");
  CHECK(stream != NULL);
  CHECK(fprintf(stream, "%d\n", 5) > 0);
  CHECK(fclose(stream) == 0);
  _exit(0);
}

static void fork_repeatedly(void) {
  for (uint64_t turn = 0; turn < FORKS; ++turn) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) child_body(turn);
    CHECK(status_of_child(child) == 0);
  }
}

/* fflush(NULL) holds the lock of all streams while it waits for those of the readers. */
static void fork_beside_flushing(void) {
  pthread_t flushing;
  CHECK(pthread_create(&flushing, NULL, flush_for_ever, NULL) == 0);
  fork_repeatedly();
  atomic_store(&stopping, true);
  CHECK(pthread_join(flushing, NULL) == 0);
  atomic_store(&stopping, false);
}

static void fork_beside_waiting(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  FILE* silent = fdopen(ends[0], "r");
  CHECK(silent != NULL);
  pthread_t waiting;
  pthread_t reading;
  CHECK(pthread_create(&waiting, NULL, wait_in_getline, silent) == 0);
  CHECK(pthread_create(&reading, NULL, read_for_ever, NULL) == 0);
  fork_repeatedly();
  atomic_store(&stopping, true);
  CHECK(write(ends[1], "end\n", 4) == 4);
  CHECK(pthread_join(waiting, NULL) == 0);
  CHECK(pthread_join(reading, NULL) == 0);
  CHECK(fclose(silent) == 0 && close(ends[1]) == 0);
}

int main(void) {
  begin(120);
  write_lines();
  static load background;
  load_start(&background, 1);
  fork_beside_flushing();
  fork_beside_waiting();
  load_stop(&background);
  CHECK(unlink(path) == 0);
  return 0;
}
