/* task: what the files of bench/returns' program share: blocks in a list, and a meter.
 *
 * Blocks are linked through their own first word, so that the program holds no memory but what the
 * allocator gave; every byte is written. The meter reads /proc into buffers of its own and calls
 * no allocator.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_BENCH_RETURN_TASKS_TASK_H
#define TARN_BENCH_RETURN_TASKS_TASK_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "../meter/process.h"

#define MEBIBYTE ((size_t)1 << 20)

enum { NO_MEMORY = 3 }; /* The program's status when the allocator had none. */

typedef struct block {
  struct block* next;
} block;

typedef struct list {
  block* first;
  block* last;
} list;

typedef struct sizes {
  size_t least, most;
} sizes;

/* What was asked for on the command line. */
typedef struct task {
  uint64_t random; /* The state of random_next(). */
  size_t bytes;    /* Of the peak, and of what is taken afterwards. */
  int pause_ticks; /* Before the demand takes memory. */
  int ticks;       /* From the peak's end to the last sample. */
} task;

/* blocks.c */
uint64_t random_next(uint64_t* state);
block* block_take(size_t size); /* Written. Ends the program if there is no memory. */
void list_fill(list* to, size_t bytes, sizes range, uint64_t* random);
void list_free(list* from); /* The oldest first. */
long blocks_of_lists(void); /* How many list_fill() has taken so far, in all threads. */
extern const sizes small_sizes, large_sizes;

typedef void task_function(task*);
typedef struct choice { /* A table of them ends with a null name. */
  const char* name;
  task_function* call;
} choice;
extern const choice peaks[];   /* Make the peak and free it. A thread may be left that sleeps. */
extern const choice demands[]; /* What the program does afterwards, for task.ticks. */
extern const choice rows[];    /* Single figures. They print themselves. */

/* meter.c */
enum { TICK_MS = 100 };
double seconds_now(void);
void thread_start(void* (*body)(void*), void* argument, pthread_t* thread);
void work_begins(void); /* Adds the time until work_ends() to what work_seconds() says. */
void work_ends(void);
double work_seconds(void);
void samples_begin(void);
void sample_at(int tick); /* Sleeps until then. */
void samples_print(void);
const char* give_all_back(void); /* By the allocator's own call for it: its name, or null. */

#endif
