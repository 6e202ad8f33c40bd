/* misuse.h: what the library knows when a program misuses memory: a double free, a write behind a
 * block, and the like. It is written to standard error, or to the file of TARN_OPTIONS=report_file,
 * as text or as one line of JSON (report_json=1); then the program's function is called, and the
 * process ends: by SIGABRT, or with the exit status of misuse_status. docs/reports.md is the guide.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_MISUSE_H
#define TARN_MISUSE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "../detail/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Calls, the innermost first, as return addresses: of each, the byte before it is the last one of
 * the call (tarn_site_text tells where that is). None: `count` is 0. */
typedef struct tarn_calls {
  const void* const* calls;
  size_t count;
} tarn_calls;

/* All texts and calls are valid during the program's function only. */
typedef struct tarn_misuse {
  size_t bytes;           /* sizeof(tarn_misuse) of the library: later ones have more at the end. */
  const char* kind;       /* "double free", "overrun", ...: docs/reports.md lists them. */
  const char* text;       /* What follows the kind in the report's first line. */
  const char* function;   /* That found it: "free", "tarn_pool_deallocate", "a write", ... */
  const void* address;    /* What the program gave, or the first byte that was written wrongly. */
  const void* block;      /* Where the block begins; NULL: none is known. */
  size_t block_bytes;     /* What was asked for. */
  const char* owner_kind; /* "heap", "pool", "arena", ...; NULL: not known. */
  const char* owner_name; /* NULL: it has none. */
  uint64_t owner_id;      /* A heap's number; 0: of no heap, or of one that has ended. */
  tarn_calls allocated_at; /* How the program came to the call that made the block, ... */
  tarn_calls freed_at;     /* ... to the one that freed it, ... */
  tarn_calls now_at;       /* ... and to the one that found the misuse. */
} tarn_misuse;

typedef void (*tarn_misuse_function)(const tarn_misuse* misuse, void* context);

/* From now on `function` is called when a misuse has been reported, in the thread that found it and
 * before the process ends; also, in the handler of SIGSEGV, for a fault at a guarded block, after
 * which the program's own handler comes. NULL: none. It must not allocate or free, nor use what
 * another thread may hold, nor call exit() (_exit() it may): the heap's lock may be held. Where two
 * threads find something at once, the second one waits. Any thread; not while a misuse may be
 * found. */
TARN_API void tarn_on_misuse(tarn_misuse_function function, void* context);

#ifdef __cplusplus
}
#endif

#endif
#endif
