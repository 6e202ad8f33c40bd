/* adaptors.h: sources that wrap another source to count, limit, lock or trace its calls, or to make
 * them fail, in C. (C++: tarn/source/adaptors.hpp, which wraps allocators as well.) Header only.
 * Adaptors nest.
 *
 *   tarn_limited_source part = {.inner = tarn_buffer_source_get(&buffer), .limit_bytes = 10000};
 *   const tarn_source source = tarn_limited_source_get(&part);   // never more than 10,000 bytes
 *
 * To make one, set `inner` and the fields that say what it is to do; all others must be zero at
 * first and may be read. It must stay where it is. One thread at a time uses an adaptor, except a
 * locked one, which has to be the outermost of those that several threads use. If `inner` has no
 * release, neither has the adaptor.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_ADAPTORS_H
#define TARN_ADAPTORS_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "source.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts all calls exactly. Bytes are those that were granted. */
typedef struct tarn_counted_source {
  tarn_source inner;
  uint64_t taken;   /* Chunks taken since the beginning. */
  uint64_t given;   /* Chunks given back. */
  uint64_t refused; /* Requests that got no chunk. */
  uint64_t bytes;   /* Bytes of the chunks that are out. */
  uint64_t bytes_peak;
} tarn_counted_source;

/* Never lets more than limit_bytes be out: requests beyond that get a null chunk. */
typedef struct tarn_limited_source {
  tarn_source inner;
  size_t limit_bytes; /* May be changed. While more than that is out, all requests fail. */
  size_t bytes;       /* The bytes of the chunks that are out. */
} tarn_limited_source;

/* Lets any thread use the source, one at a time. */
typedef struct tarn_locked_source {
  tarn_source inner;
  void (*lock)(void* context);
  void (*unlock)(void* context);
  void* context;
} tarn_locked_source;

/* Calls sink after each request, with a null chunk if it failed, and before a chunk is given back;
 * then `released` is not 0. */
typedef struct tarn_traced_source {
  tarn_source inner;
  void (*sink)(void* context, int released, tarn_chunk chunk);
  void* context;
} tarn_traced_source;

/* Makes request number `failing`, counted by `calls`, fail; and all later ones, too, if `onwards`.
 * */
typedef struct tarn_failing_source {
  tarn_source inner;
  uint64_t failing; /* 0: no request fails. */
  int onwards;
  uint64_t calls;
} tarn_failing_source;

static inline void tarn_source_give(const tarn_source* source, tarn_chunk chunk) {
  if (source->release != NULL) source->release(source->context, chunk);
}

/* A copy of `inner` with other functions. Its chunk_bytes and zeroed stay. */
static inline tarn_source tarn_source_around(const tarn_source* inner, void* self,
                                             tarn_chunk (*acquire)(void*, size_t, size_t),
                                             void (*release)(void*, tarn_chunk)) {
  tarn_source made = *inner;
  made.acquire = acquire;
  made.release = inner->release == NULL ? NULL : release;
  made.context = self;
  return made;
}

static inline tarn_chunk tarn_counted_source_acquire(void* context, size_t bytes,
                                                     size_t alignment) {
  tarn_counted_source* const self = (tarn_counted_source*)context;
  const tarn_chunk chunk = self->inner.acquire(self->inner.context, bytes, alignment);
  if (chunk.data == NULL) {
    ++self->refused;
    return chunk;
  }
  ++self->taken;
  self->bytes += chunk.bytes;
  if (self->bytes > self->bytes_peak) self->bytes_peak = self->bytes;
  return chunk;
}
static inline void tarn_counted_source_release(void* context, tarn_chunk chunk) {
  tarn_counted_source* const self = (tarn_counted_source*)context;
  if (chunk.data != NULL) {
    ++self->given;
    self->bytes -= chunk.bytes;
  }
  tarn_source_give(&self->inner, chunk);
}
static inline tarn_source tarn_counted_source_get(tarn_counted_source* self) {
  return tarn_source_around(&self->inner, self, tarn_counted_source_acquire,
                            tarn_counted_source_release);
}

/* If the source grants more than is left, the chunk goes back to it. */
static inline tarn_chunk tarn_limited_source_acquire(void* context, size_t bytes,
                                                     size_t alignment) {
  tarn_limited_source* const self = (tarn_limited_source*)context;
  const size_t room = self->bytes < self->limit_bytes ? self->limit_bytes - self->bytes : 0;
  tarn_chunk chunk = {NULL, 0};
  if (bytes > room) return chunk;
  chunk = self->inner.acquire(self->inner.context, bytes, alignment);
  if (chunk.data != NULL && chunk.bytes > room) {
    tarn_source_give(&self->inner, chunk);
    chunk.data = NULL;
    chunk.bytes = 0;
  }
  self->bytes += chunk.bytes;
  return chunk;
}
static inline void tarn_limited_source_release(void* context, tarn_chunk chunk) {
  tarn_limited_source* const self = (tarn_limited_source*)context;
  if (chunk.data != NULL) self->bytes -= chunk.bytes;
  tarn_source_give(&self->inner, chunk);
}
static inline tarn_source tarn_limited_source_get(tarn_limited_source* self) {
  return tarn_source_around(&self->inner, self, tarn_limited_source_acquire,
                            tarn_limited_source_release);
}

static inline tarn_chunk tarn_locked_source_acquire(void* context, size_t bytes, size_t alignment) {
  tarn_locked_source* const self = (tarn_locked_source*)context;
  tarn_chunk chunk;
  self->lock(self->context);
  chunk = self->inner.acquire(self->inner.context, bytes, alignment);
  self->unlock(self->context);
  return chunk;
}
static inline void tarn_locked_source_release(void* context, tarn_chunk chunk) {
  tarn_locked_source* const self = (tarn_locked_source*)context;
  self->lock(self->context);
  tarn_source_give(&self->inner, chunk);
  self->unlock(self->context);
}
static inline tarn_source tarn_locked_source_get(tarn_locked_source* self) {
  return tarn_source_around(&self->inner, self, tarn_locked_source_acquire,
                            tarn_locked_source_release);
}

static inline tarn_chunk tarn_traced_source_acquire(void* context, size_t bytes, size_t alignment) {
  tarn_traced_source* const self = (tarn_traced_source*)context;
  const tarn_chunk chunk = self->inner.acquire(self->inner.context, bytes, alignment);
  self->sink(self->context, 0, chunk);
  return chunk;
}
static inline void tarn_traced_source_release(void* context, tarn_chunk chunk) {
  tarn_traced_source* const self = (tarn_traced_source*)context;
  self->sink(self->context, 1, chunk);
  tarn_source_give(&self->inner, chunk);
}
static inline tarn_source tarn_traced_source_get(tarn_traced_source* self) {
  return tarn_source_around(&self->inner, self, tarn_traced_source_acquire,
                            tarn_traced_source_release);
}

static inline tarn_chunk tarn_failing_source_acquire(void* context, size_t bytes,
                                                     size_t alignment) {
  tarn_failing_source* const self = (tarn_failing_source*)context;
  const uint64_t call = ++self->calls;
  const tarn_chunk none = {NULL, 0};
  if (self->failing != 0 && (self->onwards ? call >= self->failing : call == self->failing)) {
    return none;
  }
  return self->inner.acquire(self->inner.context, bytes, alignment);
}
static inline void tarn_failing_source_release(void* context, tarn_chunk chunk) {
  tarn_source_give(&((tarn_failing_source*)context)->inner, chunk);
}
static inline tarn_source tarn_failing_source_get(tarn_failing_source* self) {
  return tarn_source_around(&self->inner, self, tarn_failing_source_acquire,
                            tarn_failing_source_release);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
