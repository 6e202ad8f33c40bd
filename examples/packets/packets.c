/* packets_c COUNT: packets.cpp in C, with packets of several sizes from a lock-free static heap.
 *
 * SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include "tarn/pool/static_pool.h"

typedef struct packet {
  uint32_t number;
  uint32_t bytes;
  uint8_t data[];
} packet;

/* Block sizes and counts: all memory that the program will ever use. */
#define PACKET_SIZES(X) X(32, 16) X(96, 8) X(288, 4)
TARN_STATIC_HEAP_LOCK_FREE(packet_heap, PACKET_SIZES, 1)
enum { packets_max = 16 + 8 + 4 };

static struct packet_heap packets;

/* One writer (the handler), one reader (the main loop). Its slots suffice for all packets. */
static packet* slots[packets_max];
static atomic_size_t queue_begin, queue_end;
static uint32_t next_number;
static atomic_uint lost;

static void put(packet* received) {
  const size_t end = atomic_load_explicit(&queue_end, memory_order_relaxed);
  slots[end % packets_max] = received;
  atomic_store_explicit(&queue_end, end + 1, memory_order_release); /* Pairs with get(). */
}

static packet* get(void) {
  const size_t begin = atomic_load_explicit(&queue_begin, memory_order_relaxed);
  if (begin == atomic_load_explicit(&queue_end, memory_order_acquire)) return NULL;
  packet* const first = slots[begin % packets_max];
  atomic_store_explicit(&queue_begin, begin + 1, memory_order_release);
  return first;
}

/* The interrupt handler. When the main loop is behind, a packet is lost: the handler never waits
 * for the heap. */
static void on_interrupt(int signal) {
  (void)signal;
  for (uint32_t burst = 0; burst < 3; ++burst) {
    const uint32_t bytes = (next_number * 37 + burst * 101) % 280;
    packet* const received = packet_heap_allocate(&packets, sizeof(packet) + bytes, 1);
    if (received == NULL) {
      atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
      continue;
    }
    received->number = next_number++;
    received->bytes = bytes;
    for (uint32_t i = 0; i < bytes; ++i) received->data[i] = (uint8_t)received->number;
    put(received);
  }
}

static void add_in_use(const tarn_static_stats* stats, void* sum) {
  *(size_t*)sum += stats->in_use;
}

int main(int argc, char** argv) {
  const unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
  struct sigaction action = {0};
  action.sa_handler = on_interrupt;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every_ms = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every_ms, NULL);

  unsigned long handled = 0;
  while (handled < count) {
    packet* const next = get();
    if (next == NULL) continue;
    for (uint32_t i = 0; i < next->bytes; ++i) {
      if (next->number != handled || next->data[i] != (uint8_t)handled) {
        fprintf(stderr, "packets_c: packet %lu is broken\n", handled);
        return 1;
      }
    }
    packet_heap_deallocate(&packets, next);
    ++handled;
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  signal(SIGALRM, SIG_IGN);
  for (packet* rest = get(); rest != NULL; rest = get()) packet_heap_deallocate(&packets, rest);

  size_t in_use = 0;
  packet_heap_each_class(&packets, add_in_use, &in_use);
  printf("%lu packets handled, %zu in use, %u lost\n", handled, in_use, atomic_load(&lost));
  return packet_heap_check(&packets) && in_use == 0 ? 0 : 1;
}
