/* at_limit: threads that go on at 90 % of what they may have, while the sizes that they ask for
 * change. What cannot be had is refused by null and ENOMEM, and nothing else happens: no block is
 * damaged, nobody is killed, and in the end everything can be had again.
 *
 * Usage: at_limit address|data|group SECONDS. The limits are RLIMIT_AS, RLIMIT_DATA, and that of a
 * control group (skipped where none can be made). In the first two, 90 % of the bytes that could be
 * had at the start are live; in a group, usage is kept at 90 %.
 *
 * SPDX-License-Identifier: MIT */
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <malloc.h>

#include "load.h"

enum {
  WORKERS = 3,
  SLOTS = 60000,
  LOOK_EVERY = 64,
  REFUSED_GIVES = 10,
  SHED_PART = 100,
  SHED_ROUNDS = 20
};

static const size_t limit_bytes = 256 * MEBIBYTE;

/* From, to: what a phase asks for, uniformly in the logarithm. */
static const size_t phases[][2] = {{16, 65536},      {16, 256},         {1000, 8000},
                                   {30000, 1000000}, {500000, 8000000}, {64, 2000000}};
enum { PHASES = sizeof phases / sizeof phases[0], PHASE_MS = 500 };

static struct {
  bool is_group;
  size_t live_most; /* Of all workers; not in a group. */
  pthread_barrier_t begun;
  atomic_bool stopping;
  atomic_ulong steps, refusals, trims;
  char usage_file[PATH_MAX];
} all;

typedef struct worker {
  load_block** slots;
  size_t live;
  uint64_t random;
  pthread_t thread;
} worker;

static uint64_t now_ms(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static size_t read_number(const char* path) {
  char text[64];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  CHECK(length > 0);
  text[length] = '\0';
  return strtoul(text, NULL, 10);
}

static bool write_text(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool done = write(file, text, strlen(text)) == (ssize_t)strlen(text);
  close(file);
  return done;
}

static size_t size_in(const size_t range[2], uint64_t* random) {
  size_t most = range[0];
  while (most < range[1] && random_next(random) % 100 < 85) most *= 2;
  if (most > range[1]) most = range[1];
  return range[0] + random_next(random) % (most - range[0] + 1);
}

static void give(worker* self, size_t slot) {
  load_block* const block = self->slots[slot];
  if (block == NULL) return;
  self->slots[slot] = NULL;
  self->live -= block->size;
  load_give(block);
}

static void keep(worker* self, size_t slot, load_block* block, size_t size) {
  block->size = size;
  pattern_fill(block + 1, size - sizeof *block, (unsigned)size);
  self->slots[slot] = block;
  self->live += size;
}

/* By realloc now and then, so that blocks grow and shrink where they are, or move. */
static bool step(worker* self, size_t slot, size_t size) {
  load_block* old = self->slots[slot];
  if (old == NULL || random_next(&self->random) % 4 != 0) {
    give(self, slot);
    errno = 0;
    load_block* const block = malloc(size);
    if (block != NULL) keep(self, slot, block, size);
    return block != NULL;
  }
  load_check(old);
  const size_t old_size = old->size;
  const size_t both = old_size < size ? old_size : size;
  errno = 0;
  load_block* const block = realloc(old, size);
  if (block == NULL) {
    load_check(old);
    return false;
  }
  CHECK(pattern_holds_prefix(block + 1, both - sizeof *block, old_size - sizeof *block,
                             (unsigned)old_size));
  self->live -= old_size;
  keep(self, slot, block, size);
  return true;
}

static void give_some(worker* self, size_t count) {
  for (size_t i = 0; i < count; ++i) give(self, random_next(&self->random) % SLOTS);
}

/* In a group: frees until so much more can be had below 90 %. */
static void shed(worker* self, size_t bytes) {
  for (int round = 1; read_number(all.usage_file) + bytes > limit_bytes / 10 * 9; ++round) {
    give_some(self, SLOTS / SHED_PART);
    if (round % SHED_ROUNDS != 0) continue;
    atomic_fetch_add(&all.trims, 1);
    (void)malloc_trim(0);
  }
}

static void* work(void* argument) {
  worker* const self = argument;
  size_t slot = 0;
  (void)pthread_barrier_wait(&all.begun);
  const uint64_t began = now_ms();
  const size_t* range = phases[0];
  for (uint64_t i = 0; !atomic_load(&all.stopping); ++i) {
    if (i % LOOK_EVERY == 0) range = phases[(now_ms() - began) / PHASE_MS % PHASES];
    const size_t size = size_in(range, &self->random);
    if (all.is_group) {
      shed(self, size);
    } else {
      while (self->live + size > all.live_most / WORKERS && self->live != 0) {
        give(self, slot++ % SLOTS);
      }
    }
    atomic_fetch_add(&all.steps, 1);
    if (step(self, random_next(&self->random) % SLOTS, size)) continue;
    CHECK(errno == ENOMEM && !all.is_group);
    atomic_fetch_add(&all.refusals, 1);
    give_some(self, SLOTS / REFUSED_GIVES);
  }
  for (size_t i = 0; i < SLOTS; ++i) give(self, i);
  return NULL;
}

/* How many bytes can be had in blocks of the first phase. */
static size_t bytes_to_be_had(load_block** slots) {
  uint64_t random = 1;
  size_t count = 0, bytes = 0;
  for (; count < SLOTS; ++count) {
    const size_t size = size_in(phases[0], &random);
    load_block* const block = malloc(size);
    if (block == NULL) break;
    keep(&(worker){.slots = slots}, count, block, size);
    bytes += size;
  }
  CHECK(count < SLOTS); /* The limit was met. */
  for (size_t i = 0; i < count; ++i) {
    load_give(slots[i]);
    slots[i] = NULL;
  }
  return bytes;
}

static void live_at_the_limit(unsigned seconds) {
  static worker workers[WORKERS];
  static load_block* slots[WORKERS][SLOTS];
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 256 * 1024) == 0);
  CHECK(pthread_barrier_init(&all.begun, NULL, WORKERS + 1) == 0);
  for (size_t i = 0; i < WORKERS; ++i) {
    workers[i].slots = slots[i];
    workers[i].random = 77 + i;
    CHECK(pthread_create(&workers[i].thread, &small, work, &workers[i]) == 0);
  }
  if (!all.is_group) {
    const size_t had = bytes_to_be_had(slots[0]);
    CHECK(had > limit_bytes / 8); /* Guarded blocks take two pages each, at least. */
    all.live_most = had / 10 * 9;
  }
  (void)pthread_barrier_wait(&all.begun);
  sleep(seconds);
  atomic_store(&all.stopping, true);
  for (size_t i = 0; i < WORKERS; ++i) CHECK(pthread_join(workers[i].thread, NULL) == 0);
  for (size_t size = 10; size < limit_bytes / 4; size *= 3) {
    load_block* const block = malloc(size + sizeof *block);
    CHECK(block != NULL);
    free(block);
  }
  printf("%lu steps, %lu refused, %lu trims\n", all.steps, all.refusals, all.trims);
}

/* Its own group within that of this process; false where none can be made. */
static bool make_group(char* group) {
  char line[PATH_MAX] = "", path[2 * PATH_MAX];
  bool is_first_form = false, found = false;
  FILE* const file = fopen("/proc/self/cgroup", "re");
  while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    is_first_form = strstr(line, ":memory:") != NULL;
    found = is_first_form || (strncmp(line, "0::", 3) == 0 &&
                              access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0);
  }
  if (file != NULL) fclose(file);
  if (!found) return false;
  (void)snprintf(group, PATH_MAX, "%s%s/tarn.at_limit.%d",
                 is_first_form ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup", strrchr(line, ':') + 1,
                 (int)getpid());
  if (mkdir(group, 0755) != 0) return false;
  char bytes[32];
  (void)snprintf(bytes, sizeof bytes, "%zu", limit_bytes);
  (void)snprintf(path, sizeof path, "%s/%s", group,
                 is_first_form ? "memory.limit_in_bytes" : "memory.max");
  (void)snprintf(all.usage_file, sizeof all.usage_file, "%.4000s/%s", group,
                 is_first_form ? "memory.usage_in_bytes" : "memory.current");
  return write_text(path, bytes) && access(all.usage_file, R_OK) == 0;
}

static void in_group(unsigned seconds) {
  char group[PATH_MAX] = "", path[2 * PATH_MAX];
  all.is_group = true;
  if (!make_group(group)) {
    (void)rmdir(group);
    skip("no control group for memory can be made here");
  }
  const pid_t child = fork();
  if (child == 0) {
    alarm(seconds + 30); /* Before the parent's, which takes the group away. */
    char number[32];
    (void)snprintf(number, sizeof number, "%d", (int)getpid());
    (void)snprintf(path, sizeof path, "%s/cgroup.procs", group);
    CHECK(write_text(path, number));
    live_at_the_limit(seconds);
    fflush(stdout);
    _exit(0);
  }
  const int status = status_of_child(child);
  (void)rmdir(group);
  CHECK(status == 0);
}

int main(int argc, char** argv) {
  CHECK(argc == 3);
  const unsigned seconds = (unsigned)strtoul(argv[2], NULL, 10);
  begin(seconds + 60);
  if (strcmp(argv[1], "group") == 0) {
    in_group(seconds);
    return 0;
  }
  const bool is_address = strcmp(argv[1], "address") == 0;
  CHECK(is_address || strcmp(argv[1], "data") == 0);
  const size_t most = limit_bytes + (is_address ? mapped_bytes() : 0);
  const struct rlimit limit = {most, most};
  CHECK(setrlimit(is_address ? RLIMIT_AS : RLIMIT_DATA, &limit) == 0);
  live_at_the_limit(seconds);
  return 0;
}
