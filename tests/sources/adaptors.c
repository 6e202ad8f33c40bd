/* adaptors.c: tarn/source/adaptors.h: each adaptor, all of them nested, and a pool over them.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/source/adaptors.h"

#include "../check.h"
#include "tarn/pool/pool.h"
#include "tarn/source/buffer_source.h"

static _Alignas(4096) unsigned char memory[65536];
static tarn_buffer_source buffer;

static tarn_source whole(void) {
  tarn_buffer_source_init(&buffer, memory, sizeof memory);
  return tarn_buffer_source_get(&buffer);
}

static tarn_chunk take(const tarn_source* source, size_t bytes) {
  return source->acquire(source->context, bytes, 16);
}

static void counted(void) {
  tarn_counted_source counts = {.inner = whole()};
  const tarn_source source = tarn_counted_source_get(&counts);
  const tarn_chunk a = take(&source, 100), b = take(&source, 1000);
  CHECK(take(&source, sizeof memory).data == NULL);
  source.release(source.context, a);
  CHECK(counts.taken == 2 && counts.given == 1 && counts.refused == 1);
  CHECK(counts.bytes == b.bytes && counts.bytes_peak == a.bytes + b.bytes);
  CHECK(source.chunk_bytes == counts.inner.chunk_bytes && source.bytes == sizeof source);
}

static void limited(void) {
  tarn_limited_source all = {.inner = whole(), .limit_bytes = 1000};
  tarn_limited_source part = {.inner = tarn_limited_source_get(&all), .limit_bytes = 900};
  const tarn_source outer = tarn_limited_source_get(&all), inner = tarn_limited_source_get(&part);
  const tarn_chunk a = take(&inner, 800);
  CHECK(a.data != NULL && take(&inner, 101).data == NULL);
  CHECK(take(&outer, 201).data == NULL && take(&outer, 200).data == NULL);
  CHECK(take(&outer, 192).data != NULL && all.bytes == 992);
  CHECK(take(&inner, 1).data == NULL && buffer.gaps.chunks == 2);
  inner.release(inner.context, a);
  CHECK(part.bytes == 0 && all.bytes == 192);
  CHECK(take(&inner, SIZE_MAX).data == NULL);
}

static int depth;
static int locks;
static void lock(void* context) {
  CHECK(context == memory && depth++ == 0);
  ++locks;
}
static void unlock(void* context) { CHECK(context == memory && --depth == 0); }

static int events;
static tarn_chunk last;
static void note(void* context, int released, tarn_chunk chunk) {
  CHECK(context == &events && released == (events % 2));
  ++events;
  last = chunk;
}

static void nested(void) {
  tarn_failing_source failing = {.inner = whole()};
  tarn_traced_source traced = {
      .inner = tarn_failing_source_get(&failing), .sink = note, .context = &events};
  tarn_locked_source locked = {
      .inner = tarn_traced_source_get(&traced), .lock = lock, .unlock = unlock, .context = memory};
  const tarn_source source = tarn_locked_source_get(&locked);
  tarn_chunk chunk = take(&source, 100);
  CHECK(chunk.data != NULL && last.data == chunk.data && locks == 1 && events == 1);
  source.release(source.context, chunk);
  CHECK(locks == 2 && events == 2 && depth == 0 && buffer.gaps.chunks == 0);
  failing.calls = 0;
  failing.failing = 2;
  source.release(source.context, take(&source, 16));
  CHECK(take(&source, 16).data == NULL && last.data == NULL);
  events = 0;
  CHECK(take(&source, 16).data != NULL);
  events = 0;
  failing.onwards = 1;
  CHECK(take(&source, 16).data == NULL);
}

static void under_a_pool(void) {
  tarn_counted_source counts = {.inner = whole()};
  tarn_limited_source part = {.inner = tarn_counted_source_get(&counts), .limit_bytes = 20000};
  const tarn_source source = tarn_limited_source_get(&part);
  const tarn_pool_options options = TARN_POOL_OPTIONS(.block_bytes = 64, .source = &source);
  tarn_pool pool;
  size_t blocks = 0;
  CHECK(tarn_pool_init(&pool, &options) == 0);
  while (tarn_pool_allocate(&pool) != NULL) ++blocks;
  CHECK(blocks > 100 && part.bytes <= 20000 && counts.bytes == part.bytes);
  tarn_pool_destroy(&pool);
  CHECK(part.bytes == 0 && counts.taken == counts.given);
}

int main(void) {
  counted();
  limited();
  nested();
  under_a_pool();
  return 0;
}
