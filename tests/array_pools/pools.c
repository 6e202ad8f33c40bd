/* The pools over given memory in C: what C++ tests in detail, once more through
 * tarn/pool/array_pool.h.
 *
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "tarn/pool/array_pool.h"

enum { BLOCKS = 300, BYTES = 24 };

static int count_and_free(void* block, void* context) {
  tarn_array_pool* pool = context;
  tarn_array_pool_deallocate(pool, block);
  return tarn_array_pool_is_empty(pool);
}

static void region(void) {
  static uint64_t notes[200];
  static unsigned char blocks[BLOCKS * BYTES];
  tarn_array_pool pool;
  CHECK(tarn_array_pool_bytes(BLOCKS, BYTES, TARN_ARRAY_EXACT) <= sizeof notes);
  CHECK(tarn_array_pool_attach(&pool, notes, sizeof notes, blocks, sizeof blocks) ==
        TARN_ARRAY_NO_POOL);
  CHECK(tarn_array_pool_format(notes, sizeof notes, BLOCKS, BYTES, 8) == TARN_ARRAY_BAD_ARGUMENT);
  CHECK(tarn_array_pool_format(notes, sizeof notes, BLOCKS, BYTES, TARN_ARRAY_EXACT) ==
        TARN_ARRAY_OK);
  CHECK(tarn_array_pool_attach(&pool, notes, sizeof notes, blocks, sizeof blocks) == TARN_ARRAY_OK);
  void* taken[BLOCKS];
  for (size_t i = 0; i != BLOCKS; ++i) {
    taken[i] = tarn_array_pool_allocate(&pool);
    CHECK(taken[i] == blocks + i * BYTES);
    memset(taken[i], 1, BYTES);
  }
  CHECK(tarn_array_pool_allocate(&pool) == NULL && tarn_array_pool_is_full(&pool));
  CHECK(!tarn_array_pool_is_empty(&pool));
  for (size_t i = 0; i < BLOCKS; i += 2) tarn_array_pool_deallocate(&pool, taken[i]);
  CHECK(!tarn_array_pool_is_empty(&pool) && !tarn_array_pool_is_full(&pool));
  CHECK(tarn_array_pool_in_use(&pool) == BLOCKS / 2 && tarn_array_pool_check(&pool));
  CHECK(tarn_array_pool_peak(&pool) == BLOCKS);
  CHECK(tarn_array_pool_allocate(&pool) == taken[BLOCKS - 2]);
  CHECK(tarn_array_pool_owns(&pool, taken[7]) && !tarn_array_pool_owns(&pool, notes));
  CHECK(tarn_array_pool_at(&pool, tarn_array_pool_index_of(&pool, taken[7])) == taken[7]);
  CHECK(tarn_array_pool_walk(&pool, count_and_free, &pool) == 1);
  CHECK(tarn_array_pool_is_empty(&pool) && tarn_array_pool_check(&pool));
  CHECK(strlen(tarn_array_status_text(TARN_ARRAY_DAMAGED)) > 10);
}

static void shared(void) {
  static uint64_t notes[400];
  static unsigned char blocks[BLOCKS * BYTES];
  tarn_shared_array_pool one;
  tarn_shared_array_pool two;
  CHECK(tarn_shared_array_pool_bytes(BLOCKS, BYTES, 2) <= sizeof notes);
  CHECK(tarn_shared_array_pool_attach(&one, notes, sizeof notes, blocks, sizeof blocks, 1) ==
        TARN_ARRAY_NO_POOL);
  memset(notes, 0x77, sizeof notes);
  CHECK(tarn_shared_array_pool_format(notes, sizeof notes, BLOCKS, BYTES, 2, 0) == TARN_ARRAY_OK);
  CHECK(tarn_shared_array_pool_attach(&one, notes, sizeof notes, blocks, sizeof blocks, 1) ==
        TARN_ARRAY_OK);
  CHECK(tarn_shared_array_pool_attach(&two, notes, sizeof notes, blocks, sizeof blocks, 2) ==
        TARN_ARRAY_OK);
  void* block = tarn_shared_array_pool_allocate(&one);
  CHECK(block == blocks && tarn_shared_array_pool_owner(&two, block) == 1);
  CHECK(tarn_shared_array_pool_adopt(&two, tarn_shared_array_pool_ticket(&one, block)) == block);
  tarn_shared_array_pool_deallocate(&two, block);
  tarn_shared_array_pool_deallocate(&two, NULL);
  for (size_t i = 0; i != BLOCKS; ++i) CHECK(tarn_shared_array_pool_allocate(&two) != NULL);
  CHECK(tarn_shared_array_pool_allocate(&one) == NULL);
  CHECK(tarn_shared_array_pool_in_use(&one) == BLOCKS && tarn_shared_array_pool_check(&one));
  CHECK(tarn_shared_array_pool_reclaim(&one, 2) == BLOCKS);
  CHECK(tarn_shared_array_pool_in_use(&one) == 0 && tarn_shared_array_pool_check(&one));
  CHECK(tarn_shared_array_pool_peak(&one) == BLOCKS);
  CHECK(tarn_shared_array_pool_leave(&one) == 0);
}

int main(void) {
  region();
  shared();
  return 0;
}
