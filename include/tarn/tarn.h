/* tarn.h: the whole C interface: the malloc family, heaps, pools, arenas, trees, sources, and
 * diagnosis. (C++: tarn/tarn.hpp.) Each header can also be included by itself; a folder holds the
 * headers for one job. Headers that serve one particular library or one older interface are not
 * included here: see tarn/hooks/ and tarn/compat/.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_TARN_H
#define TARN_TARN_H

#include "detail/language.h"
#if defined(TARN_LANGUAGE)

#include "arena/arena.h"
#include "arena/scratch.h"
#include "arena/shared_arena.h"
#include "diagnose/account.h"
#include "diagnose/misuse.h"
#include "diagnose/report.h"
#include "diagnose/unreachable.h"
#include "heap/heap.h"
#include "heap/heap_source.h"
#include "heap/malloc.h"
#include "heap/malloc_table.h"
#include "heap/recover.h"
#include "heap/tlsf.h"
#include "heap/unalloc.h"
#include "pool/array_pool.h"
#include "pool/fixed_allocator.h"
#include "pool/object_cache.h"
#include "pool/pool.h"
#include "pool/region_array_pool.h"
#include "pool/shared_array_pool.h"
#include "pool/static_pool.h"
#include "pool/xalloc.h"
#include "source/adaptors.h"
#include "source/buffer_source.h"
#include "source/file_source.h"
#include "source/mode.h"
#include "source/os_source.h"
#include "source/source.h"
#include "tree/tree.h"
#include "tree/tree_report.h"

#define TARN_VERSION_MAJOR 0
#define TARN_VERSION_MINOR 1
#define TARN_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library in use, as "major.minor.patch". The string is static and must not be
 * freed. Any thread. */
TARN_API const char* tarn_version(void);

#ifdef __cplusplus
}
#endif

#endif
#endif
