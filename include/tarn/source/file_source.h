/* file_source.h: chunks from a mapped file or from named shared memory, in C. (C++:
 * tarn/source/file_source.hpp.) The file grows as chunks are taken. When it is opened again, the
 * chunks that were not released are there, at the same offsets. Several processes may share a file,
 * and each of them may take and release chunks.
 *
 *   tarn_file_source file;
 *   tarn_file_source_init(&file, &TARN_FILE_SOURCE_OPTIONS(.name = "index",
 *                                                          .flags = TARN_FILE_CREATE));
 *
 * One thread at a time uses a tarn_file_source. Different ones of the same file, in one process or
 * in several, exclude each other by a lock on the file, which takes two system calls for each call
 * here. The child of a fork must not use its parent's. docs/sources.md.
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
  TARN_FILE_CREATE = 1,    /* Creates the file if it does not exist, is empty or all zeros, or if
                              the process that was creating it has died. */
  TARN_FILE_EXCLUSIVE = 2, /* With TARN_FILE_CREATE: the file must not exist. */
  TARN_FILE_PRIVATE = 4,   /* Changes stay in this process and are lost at its end. The file has
                              to be readable only. No process may change it meanwhile. */
  TARN_FILE_SHARED_MEMORY = 8, /* `name` is a name of shared memory: it begins with a slash, and has
                                  no other one. */
  TARN_FILE_DESCRIPTOR = 16    /* The file is `descriptor`, which is copied; `name` is not used. It
                                  must have been opened anew for each source. */
};

typedef struct tarn_file_source_options {
  size_t bytes;     /* sizeof(tarn_file_source_options); TARN_FILE_SOURCE_OPTIONS(...) sets it. */
  const char* name; /* The name of the file; not kept. */
  int descriptor;
  unsigned flags;     /* Of enum tarn_file_flag. */
  unsigned mode;      /* The permissions of a file that is created. 0: 0600. */
  size_t file_bytes;  /* The size of a file that is created. 0: as small as possible. */
  size_t bytes_max;   /* The most that the file may grow to, at least a page. As much address space
                         is reserved. 0: 1 GiB, or the file's size if that is more. */
  size_t chunk_bytes; /* How much pools and arenas take at a time. 0: an eighth of bytes_max, but
                         what they prefer if bytes_max is at least 2 MiB. */
} tarn_file_source_options;

#define TARN_FILE_SOURCE_OPTIONS(...) TARN_SIZED(tarn_file_source_options, __VA_ARGS__)

/* All of it is the source's own. It must not be copied or moved. */
typedef struct tarn_file_source {
  char* start; /* The start of the mapping; null: there is none. */
  size_t mapped_bytes;
  size_t bytes_max;
  void* reserved;
  size_t reserved_bytes;
  size_t chunk_bytes;
  int file;
  unsigned flags;
  const char* why; /* After a failure: what was wrong, in words. A static string. */
} tarn_file_source;

typedef struct tarn_file_source_stats {
  size_t bytes;        /* sizeof(tarn_file_source_stats); TARN_FILE_SOURCE_STATS(...) sets it. */
  uint64_t file_bytes; /* The bytes of the file. */
  uint64_t free_bytes; /* The part of file_bytes that is free. */
  uint64_t chunks;     /* Chunks that are out, including those of earlier processes. */
  uint64_t acquired;   /* Chunks taken since the file was made. */
} tarn_file_source_stats;

#define TARN_FILE_SOURCE_STATS(...) TARN_SIZED(tarn_file_source_stats, __VA_ARGS__)

/* Opens the file. Returns 0, or -1 with errno, and says in `why` what was wrong:
 *   EINVAL   options that make no sense, a name that cannot be one, no regular file
 *   ENOENT, EEXIST, EACCES, and others of open(2)
 *   EBADMSG  the file is not one of a file source, is cut short, or was damaged
 *   EFBIG    it is larger than bytes_max, or may not be so large (RLIMIT_FSIZE)
 *   ENOSPC   the storage is full      ENOMEM  no address space
 * A file that was created stays when this fails later. Linear in the free ranges. */
TARN_API int tarn_file_source_init(tarn_file_source* source,
                                   const tarn_file_source_options* options);

/* Unmaps and closes the file. The file keeps its chunks. */
TARN_API void tarn_file_source_destroy(tarn_file_source* source);

/* Takes a chunk of at least `bytes` bytes whose address is aligned to `alignment`. Up to 2 MiB it
 * is so aligned again when the file is opened again. Returns a null chunk when the file cannot
 * grow: at bytes_max, at a limit, or because the storage is full; errno says which. Linear in the
 * free ranges. */
TARN_API tarn_chunk tarn_file_source_acquire(tarn_file_source* source, size_t bytes,
                                             size_t alignment);

/* Gives a chunk back, which any process that shares the file may have taken; null is ignored. A
 * chunk that is not out is misuse. The file does not shrink. */
TARN_API void tarn_file_source_release(tarn_file_source* source, tarn_chunk chunk);

/* Convert between addresses, which hold for one mapping only, and offsets in the file, which hold
 * for all. The offset of a pointer that is not in the file is SIZE_MAX, and the address of bytes
 * that the file does not have is null. Constant time; tarn_file_source_at makes system calls when
 * another process has made the file grow. */
TARN_API size_t tarn_file_source_offset(const tarn_file_source* source, const void* p);
TARN_API void* tarn_file_source_at(tarn_file_source* source, size_t offset, size_t bytes);

/* Set and read the root: one pointer that is stored in the file, by which the program finds
 * everything else. It is null at first. Setting returns 0, or -1 with EINVAL for a pointer that
 * does not lie in the file. */
TARN_API int tarn_file_source_set_root(tarn_file_source* source, const void* p);
TARN_API void* tarn_file_source_root(tarn_file_source* source);

/* Waits until all that was written is in the storage. Returns 0, or -1 with errno EIO or ENOSPC,
 * and with EINVAL for a private source. Without this call the system writes at a time of its
 * choice. Processes see each other's writes at once in any case. */
TARN_API int tarn_file_source_sync(tarn_file_source* source);

/* owns: 1 when p lies in a chunk that is out. check: 1 when every invariant holds. get_stats: 0, or
 * -1 with errno. All are linear in the free ranges. */
TARN_API int tarn_file_source_owns(const tarn_file_source* source, const void* p);
TARN_API int tarn_file_source_check(const tarn_file_source* source);
TARN_API int tarn_file_source_get_stats(const tarn_file_source* source,
                                        tarn_file_source_stats* stats);

/* The tarn_source for pools and arenas. It refers to `source`, which must stay where it is. */
TARN_API tarn_source tarn_file_source_get(tarn_file_source* source);

/* Removes the name of shared memory. Processes that have it open go on using it. Returns 0, or -1
 * with errno, such as ENOENT. */
TARN_API int tarn_shared_memory_unlink(const char* name);

#ifdef __cplusplus
}
#endif

#endif
#endif
