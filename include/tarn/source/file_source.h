/* file_source.h: chunks from a file that is mapped, or from named shared memory, in C. (C++:
 * tarn/source/file_source.hpp.) The file grows as chunks are taken; when it is opened again, the
 * chunks that were not released are there, at the same offsets. Processes may share one: all of
 * them take and release chunks.
 *
 *   tarn_file_source file;
 *   tarn_file_source_init(&file, &TARN_FILE_SOURCE_OPTIONS(.name = "index",
 *                                                          .flags = TARN_FILE_CREATE));
 *
 * One thread at a time for each tarn_file_source; processes, and several of them in one, exclude
 * each other through the file (two calls of the system for each call here). A child of a fork must
 * not use its parent's. docs/sources.md.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_FILE_SOURCE_H
#define TARN_FILE_SOURCE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/sized.h"
#include "source.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tarn_file_flag {
  TARN_FILE_CREATE = 1,        /* If it is not there, or empty. */
  TARN_FILE_EXCLUSIVE = 2,     /* With TARN_FILE_CREATE: it must not be there. */
  TARN_FILE_PRIVATE = 4,       /* What is written stays with this process, and is gone at its end;
                                  the file need only be readable. Nobody may change it meanwhile. */
  TARN_FILE_SHARED_MEMORY = 8, /* `name` is that of shared memory: a slash, and no other. */
  TARN_FILE_DESCRIPTOR = 16    /* The file is `descriptor`, which is copied; no name is used. For
                                  each source it must have been opened anew. */
};

typedef struct tarn_file_source_options {
  size_t bytes;     /* sizeof(tarn_file_source_options); TARN_FILE_SOURCE_OPTIONS(...) sets it. */
  const char* name; /* Of the file; not kept. */
  int descriptor;
  unsigned flags;     /* Of enum tarn_file_flag. */
  unsigned mode;      /* Rights of a file that is created; 0: 0600. */
  size_t file_bytes;  /* At first, when it is created; 0: as little as can be. */
  size_t bytes_max;   /* The file never grows beyond, and as much address space is taken; at least
                         a page. 0: 1 GiB, or what the file has if that is more. */
  size_t chunk_bytes; /* What pools and arenas take at a time; 0: an eighth of bytes_max, as they
                         like from 2 MiB on. */
} tarn_file_source_options;

#define TARN_FILE_SOURCE_OPTIONS(...) TARN_SIZED(tarn_file_source_options, __VA_ARGS__)

/* All of it is the source's own; it must not be copied or moved. */
typedef struct tarn_file_source {
  char* start; /* Of the mapping; null: none. */
  size_t mapped_bytes;
  size_t bytes_max;
  void* reserved;
  size_t reserved_bytes;
  size_t chunk_bytes;
  int file;
  unsigned flags;
  const char* why; /* After a failure: what was wrong, in words. Static. */
} tarn_file_source;

typedef struct tarn_file_source_stats {
  size_t bytes;        /* sizeof(tarn_file_source_stats); TARN_FILE_SOURCE_STATS(...) sets it. */
  uint64_t file_bytes; /* The bytes of the file. */
  uint64_t free_bytes; /* The part of file_bytes that is free. */
  uint64_t chunks;     /* Chunks that are out, including those of earlier processes. */
  uint64_t acquired;   /* Chunks taken since the file was made. */
} tarn_file_source_stats;

#define TARN_FILE_SOURCE_STATS(...) TARN_SIZED(tarn_file_source_stats, __VA_ARGS__)

/* 0; or -1 with errno, and `why` in words:
 *   EINVAL   options that make no sense, a name that cannot be one, no regular file
 *   ENOENT, EEXIST, EACCES, and others of open(2)
 *   EBADMSG  the file is not one of a file source, is cut short, or was damaged
 *   EFBIG    it is larger than bytes_max, or may not be so large (RLIMIT_FSIZE)
 *   ENOSPC   the storage is full      ENOMEM  no address space
 * A file that was created stays when this fails later. Time linear in the free ranges. */
TARN_API int tarn_file_source_init(tarn_file_source* source,
                                   const tarn_file_source_options* options);

/* Unmaps and closes. The file stays as it is, chunks and all. */
TARN_API void tarn_file_source_destroy(tarn_file_source* source);

/* At least `bytes`, aligned to `alignment` of the address (up to 2 MiB it is so when the file is
 * opened again). Null when the file cannot grow: at bytes_max, at a limit, with the storage full;
 * errno says which. Linear in the free ranges. */
TARN_API tarn_chunk tarn_file_source_acquire(tarn_file_source* source, size_t bytes,
                                             size_t alignment);

/* Takes a chunk back, of any process that shares the file; null is ignored. What is not out is
 * misuse. The file does not shrink. */
TARN_API void tarn_file_source_release(tarn_file_source* source, tarn_chunk chunk);

/* Addresses hold for one mapping, offsets in the file for all. SIZE_MAX for a pointer that is not
 * in it; null for `bytes` at an offset that the file does not have. Constant time; the second asks
 * the system when another process has let the file grow. */
TARN_API size_t tarn_file_source_offset(const tarn_file_source* source, const void* p);
TARN_API void* tarn_file_source_at(tarn_file_source* source, size_t offset, size_t bytes);

/* One pointer that the file remembers, for finding everything else; null at first. Set: 0, or -1
 * with EINVAL for what does not lie in the file. */
TARN_API int tarn_file_source_set_root(tarn_file_source* source, const void* p);
TARN_API void* tarn_file_source_root(tarn_file_source* source);

/* Waits until all that was written is in the storage. 0, or -1 with errno: EIO, ENOSPC; EINVAL for
 * a private source. Without it the system writes when it likes; processes see each other's writes
 * at once. */
TARN_API int tarn_file_source_sync(tarn_file_source* source);

/* 1 when p lies in a chunk that is out; when every invariant holds. Linear in the free ranges. */
TARN_API int tarn_file_source_owns(const tarn_file_source* source, const void* p);
TARN_API int tarn_file_source_check(const tarn_file_source* source);
TARN_API int tarn_file_source_get_stats(const tarn_file_source* source,
                                        tarn_file_source_stats* stats);

/* The source, which stays where it is, as one for pools and arenas. */
TARN_API tarn_source tarn_file_source_get(tarn_file_source* source);

/* Takes the name of shared memory away. Processes that have it open go on using it. Returns 0, or
 * -1 with errno, such as ENOENT. */
TARN_API int tarn_shared_memory_unlink(const char* name);

#ifdef __cplusplus
}
#endif

#endif
#endif
