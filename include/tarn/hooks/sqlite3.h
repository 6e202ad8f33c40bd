/* sqlite3.h: SQLite with a heap for each connection (SQLite 3.8 and later, built for threads).
 * Header only; C and C++.
 *
 *   tarn_sqlite3_install(NULL);                      // once, before anything of SQLite's
 *   sqlite3* db;
 *   tarn_sqlite3_open("a.db", &db, SQLITE_OPEN_READWRITE, NULL, &options);   // with a ceiling, say
 *   ...                                              // SQLite as ever, from any thread
 *   tarn_sqlite3_close(db);                          // in constant time, whatever it held
 *
 * Nothing else changes: a block's connection follows from the mutexes that a thread holds
 * (tarn/hooks/sqlite3_scope.h). Two rules are new. What SQLite hands out for a connection
 * (messages, tables, sqlite3_mprintf in its callbacks) must be freed before it is closed. Callbacks
 * that keep such memory, or open connections, do so between tarn_sqlite3_begin_shared and _end.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_SQLITE3_H
#define TARN_HOOKS_SQLITE3_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stdio.h>

#include "../detail/sized.h"
#include "sqlite3_pages.h"
#include "sqlite3_scope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the heaps of a connection hold. blocks and block_bytes of all owners together are what
 * SQLite's sqlite3_status64(SQLITE_STATUS_MALLOC_COUNT) and (SQLITE_STATUS_MEMORY_USED) say, unless
 * it was told not to count. Pages are counted apart, in SQLite as here. The numbers are exact while
 * no thread is in SQLite. */
typedef struct tarn_sqlite3_stats {
  size_t bytes;             /* sizeof(tarn_sqlite3_stats); TARN_SQLITE3_STATS(...) sets it. */
  uint64_t blocks;          /* Live blocks of xMalloc. */
  uint64_t block_bytes;     /* The usable bytes of these blocks. */
  uint64_t pages;           /* Pages in caches. */
  uint64_t page_bytes;      /* The bytes of these pages, with what goes with them. */
  uint64_t committed_bytes; /* Committed bytes of all its heaps, which a ceiling limits. */
  uint64_t heaps;           /* The number of its heaps. */
} tarn_sqlite3_stats;

#define TARN_SQLITE3_STATS(...) TARN_SIZED(tarn_sqlite3_stats, __VA_ARGS__)

/* --- Owners ----------------------------------------------------------------------------------- */

static inline void tarn_sqlite3_owner_end(tarn_sqlite3_owner* owner) {
  tarn_heap_destroy(owner->pages);
  tarn_heap_destroy(owner->heap);
}

/* Makes the heaps of an owner. options may be null. SQLITE_OK, SQLITE_NOMEM, or SQLITE_MISUSE for
 * options that no heap takes. A region is refused, since it cannot be shared with the heaps for
 * pages. */
static inline int tarn_sqlite3_owner_init(tarn_sqlite3_owner* owner,
                                          const tarn_heap_options* options) {
  tarn_heap_options* const pages = &owner->options;
  memset(owner, 0, sizeof *owner);
  *pages = TARN_HEAP_OPTIONS();
  if (options != NULL) {
    if (options->bytes != sizeof *options || options->region != NULL) return SQLITE_MISUSE;
    pages->threads = options->threads;
    pages->mode = options->mode;
    pages->flags = options->flags;
    if (options->source != NULL) {
      owner->source = *options->source; /* The caller's may end. */
      pages->source = &owner->source;
    }
    owner->soft_bytes = options->soft_mark_bytes;
    if (owner->soft_bytes == 0) owner->soft_bytes = options->ceiling_bytes / 2;
  }
  owner->heap = tarn_heap_create(options);
  if (owner->heap.id == 0) return errno == ENOMEM ? SQLITE_NOMEM : SQLITE_MISUSE;
  pages->name = "sqlite3 pages";
  pages->parent = owner->heap;
  owner->pages = tarn_heap_create(pages);
  if (owner->pages.id != 0) return SQLITE_OK;
  tarn_heap_destroy(owner->heap);
  return SQLITE_NOMEM;
}

static inline void tarn_sqlite3_forget(const tarn_sqlite3_owner* owner) {
  tarn_sqlite3_owner** link = &tarn_sqlite3.shared.next;
  pthread_mutex_lock(&tarn_sqlite3.lock);
  while (*link != NULL && *link != owner) link = &(*link)->next;
  if (*link != NULL) *link = owner->next;
  pthread_mutex_unlock(&tarn_sqlite3.lock);
}

static inline int tarn_sqlite3_owner_is_empty(const tarn_sqlite3_owner* owner) {
  tarn_heap_stats stats = TARN_HEAP_STATS();
  return owner->caches == NULL && tarn_heap_get_stats(owner->heap, &stats) == 0 &&
         stats.live_blocks == 0;
}

/* Ends the owner of a connection that SQLite has closed by itself. What SQLite has handed out may
 * still exist; then tarn_sqlite3_sweep ends the owner later. */
static inline void tarn_sqlite3_end_if_empty(tarn_sqlite3_owner* owner) {
  if (!tarn_sqlite3_owner_is_empty(owner)) {
    owner->db = NULL;
    return;
  }
  tarn_sqlite3_forget(owner);
  tarn_sqlite3_owner_end(owner);
  tarn_free(owner);
}

/* Ends the owners of such connections when nothing of them is left. SQLite frees under the mutex of
 * the statistics, so once we hold that mutex, the thread that freed the last block has left
 * tarn. */
static inline void tarn_sqlite3_sweep(void) {
  tarn_sqlite3_mutex* const freeing = &tarn_sqlite3.statics[SQLITE_MUTEX_STATIC_MEM];
  tarn_sqlite3_owner* swept = NULL;
  tarn_sqlite3_owner** link = &tarn_sqlite3.shared.next;
  pthread_mutex_lock(&freeing->lock);
  pthread_mutex_lock(&tarn_sqlite3.lock);
  while (*link != NULL) {
    tarn_sqlite3_owner* const owner = *link;
    if (__atomic_load_n(&owner->is_closed, __ATOMIC_ACQUIRE) &&
        tarn_sqlite3_owner_is_empty(owner)) {
      *link = owner->next;
      owner->next = swept;
      swept = owner;
    } else {
      link = &owner->next;
    }
  }
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  pthread_mutex_unlock(&freeing->lock);
  while (swept != NULL) {
    tarn_sqlite3_owner* const next = swept->next;
    tarn_sqlite3_owner_end(swept);
    tarn_free(swept);
    swept = next;
  }
}

/* Closes a connection and ends its heap. When SQLite refuses, frees the blocks that it had freed
 * until then. */
static inline int tarn_sqlite3_end(sqlite3* db, tarn_sqlite3_owner* owner) {
  tarn_sqlite3_owner* const before = tarn_sqlite3_here.ending;
  int result;
  tarn_sqlite3_here.ending = owner;
  result = sqlite3_close(db);
  tarn_sqlite3_here.ending = before;
  if (result != SQLITE_OK) {
    tarn_sqlite3_give_ended_back(owner);
    return result;
  }
  tarn_sqlite3_forget(owner);
  tarn_sqlite3_owner_end(owner);
  tarn_free(owner);
  return SQLITE_OK;
}

/* The owner of a connection; the shared owner for null and for other connections. */
static inline tarn_sqlite3_owner* tarn_sqlite3_owner_of(sqlite3* db) {
  const tarn_sqlite3_mutex* const mutex =
      db == NULL ? NULL : (const tarn_sqlite3_mutex*)(const void*)sqlite3_db_mutex(db);
  return mutex == NULL || mutex->owner == NULL ? &tarn_sqlite3.shared : mutex->owner;
}

/* SQLITE_MISUSE, after a line on standard error and in SQLite's log that says what to do. */
__attribute__((cold, noinline, unused)) static int tarn_sqlite3_refuse(const char* function,
                                                                       const char* what) {
  fprintf(stderr, "tarn: %s: %s\n", function, what);
  sqlite3_log(SQLITE_MISUSE, "%s: %s", function, what);
  return SQLITE_MISUSE;
}

/* --- Install ---------------------------------------------------------------------------------- */

static inline void tarn_sqlite3_restore(void) {
  sqlite3_config(SQLITE_CONFIG_MALLOC, &tarn_sqlite3.memory_before);
  sqlite3_config(SQLITE_CONFIG_MUTEX, &tarn_sqlite3.mutexes_before);
  sqlite3_config(SQLITE_CONFIG_PCACHE2, &tarn_sqlite3.caches_before);
}

static inline int tarn_sqlite3_configure(void) {
  sqlite3_mem_methods memory = {
      tarn_sqlite3_allocate, tarn_sqlite3_deallocate,  tarn_sqlite3_reallocate, tarn_sqlite3_size,
      tarn_sqlite3_round,    tarn_sqlite3_memory_init, tarn_sqlite3_memory_end, NULL};
  sqlite3_mutex_methods mutexes = {
      tarn_sqlite3_mutexes_init, tarn_sqlite3_mutexes_end, tarn_sqlite3_mutex_alloc,
      tarn_sqlite3_mutex_free,   tarn_sqlite3_mutex_enter, tarn_sqlite3_mutex_try,
      tarn_sqlite3_mutex_leave,  tarn_sqlite3_mutex_held,  tarn_sqlite3_mutex_notheld};
  sqlite3_pcache_methods2 caches = tarn_sqlite3_cache_methods();
  int result = sqlite3_config(SQLITE_CONFIG_SERIALIZED);
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_MUTEX, &mutexes);
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_PCACHE2, &caches);
  return result;
}

/* Makes SQLite take all its memory from heaps. Memory that belongs to no connection comes from a
 * heap that is made with these options (null: the defaults). Initialises SQLite. SQLITE_MISUSE, a
 * line on standard error, and nothing has changed, when SQLite is initialised already, was built
 * without threads, or this was called before; SQLite's other errors besides. No other thread may be
 * in SQLite. */
static inline int tarn_sqlite3_install(const tarn_heap_options* options) {
  tarn_sqlite3_state* const state = &tarn_sqlite3;
  int result;
  const char* const function = "tarn_sqlite3_install";
  if (state->is_installed) return tarn_sqlite3_refuse(function, "it was called before");
  if (!sqlite3_threadsafe()) {
    return tarn_sqlite3_refuse(function, "this SQLite was built without threads");
  }
  result = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &state->memory_before);
  if (result == SQLITE_MISUSE) {
    return tarn_sqlite3_refuse(function, "SQLite is in use already: call this before all others");
  }
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_GETMUTEX, &state->mutexes_before);
  if (result == SQLITE_OK) result = sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &state->caches_before);
  if (result == SQLITE_OK) result = tarn_sqlite3_owner_init(&state->shared, options);
  if (result != SQLITE_OK) return result;
  pthread_mutex_init(&state->lock, NULL);
  tarn_sqlite3_make_statics();
  state->open_file = tarn_sqlite3_open_file;
  state->make_room = tarn_sqlite3_make_room;
  state->end_if_empty = tarn_sqlite3_end_if_empty;
  result = tarn_sqlite3_configure();
  if (result == SQLITE_OK) result = sqlite3_initialize();
  if (result == SQLITE_OK && !tarn_sqlite3_watch_files()) result = SQLITE_NOMEM;
  if (result != SQLITE_OK) {
    tarn_sqlite3_leave_files();
    sqlite3_shutdown();
    tarn_sqlite3_restore();
    tarn_sqlite3_owner_end(&state->shared);
    return result;
  }
  state->is_installed = 1;
  return SQLITE_OK;
}

/* Shuts SQLite down and ends its heaps with whatever is left in them. SQLite is then as it was
 * before, except that its threading mode stays serialized. SQLITE_BUSY when there are connections,
 * including those made by sqlite3_open (each has a cache). */
static inline int tarn_sqlite3_remove(void) {
  int result;
  if (!tarn_sqlite3.is_installed) return SQLITE_MISUSE;
  tarn_sqlite3_sweep();
  if (tarn_sqlite3.shared.next != NULL || tarn_sqlite3.shared.caches != NULL) return SQLITE_BUSY;
  tarn_sqlite3_leave_files();
  result = sqlite3_shutdown();
  tarn_sqlite3_restore();
  tarn_sqlite3_owner_end(&tarn_sqlite3.shared);
  tarn_sqlite3.is_installed = 0;
  return result;
}

/* --- Connections ------------------------------------------------------------------------------ */

/* What SQLite allocates in the calling thread between these two belongs to no connection. They
 * nest. */
static inline void tarn_sqlite3_begin_shared(void) { tarn_sqlite3_here.shared += 1; }
static inline void tarn_sqlite3_end_shared(void) { tarn_sqlite3_here.shared -= 1; }

/* As sqlite3_open_v2 (with SQLITE_OPEN_FULLMUTEX), with a heap that is made with these options
 * (null: the defaults) for all that the connection needs: statements, schema, pages. The options
 * may name anything but a region. At its ceiling the connection gets SQLITE_NOMEM, while other
 * connections go on. From soft_mark_bytes of pages on (0: half of the ceiling) the caches reuse
 * pages that they could keep, and at the ceiling they give up those that they can. The heap's
 * callbacks must not call SQLite. After an error *db is null; sqlite3_errstr gives the text. */
static inline int tarn_sqlite3_open(const char* name, sqlite3** db, int flags, const char* vfs,
                                    const tarn_heap_options* options) {
  tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  const tarn_sqlite3_thread before = *here;
  tarn_sqlite3_owner* owner;
  int result;
  *db = NULL;
  if (!tarn_sqlite3.is_installed) {
    return tarn_sqlite3_refuse("tarn_sqlite3_open", "call tarn_sqlite3_install first");
  }
  tarn_sqlite3_sweep();
  owner = (tarn_sqlite3_owner*)tarn_malloc(sizeof *owner);
  if (owner == NULL) return SQLITE_NOMEM;
  result = tarn_sqlite3_watch_files() ? tarn_sqlite3_owner_init(owner, options) : SQLITE_NOMEM;
  if (result != SQLITE_OK) {
    tarn_free(owner);
    return result;
  }
  pthread_mutex_lock(&tarn_sqlite3.lock);
  owner->next = tarn_sqlite3.shared.next;
  tarn_sqlite3.shared.next = owner;
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  tarn_sqlite3_set_aside(before.held, 1);
  memset(here, 0, sizeof *here);
  here->opening = owner;
  flags = (flags & ~SQLITE_OPEN_NOMUTEX) | SQLITE_OPEN_FULLMUTEX;
  result = sqlite3_open_v2(name, db, flags, vfs);
  here->opening = NULL;
  owner->db = *db;
  if (result != SQLITE_OK) {
    /* An extension may have left a statement: then the connection ends with it. */
    if (tarn_sqlite3_end(*db, owner) != SQLITE_OK) sqlite3_close_v2(*db);
    *db = NULL;
  }
  *here = before;
  tarn_sqlite3_set_aside(before.held, 0);
  return result;
}

/* As sqlite3_close, and ends the connection's heap. No block is freed one by one, so the time does
 * not depend on their number, except for SQLite's own walks over schemas. For a connection that was
 * opened otherwise it is sqlite3_close. Null gives SQLITE_OK. (sqlite3_close and sqlite3_close_v2
 * close these connections too, block by block; what is still in use then keeps the heap alive.) */
static inline int tarn_sqlite3_close(sqlite3* db) {
  tarn_sqlite3_owner* const owner = tarn_sqlite3_owner_of(db);
  return owner == &tarn_sqlite3.shared ? sqlite3_close(db) : tarn_sqlite3_end(db, owner);
}

/* The connection's heap, for tarn's own functions: its name, its committed bytes, a walk. Null, or
 * a connection that was opened otherwise, gives the heap of what belongs to no connection. Pages
 * are in other heaps, below it. */
static inline tarn_heap tarn_sqlite3_heap(sqlite3* db) { return tarn_sqlite3_owner_of(db)->heap; }

/* --- Statistics ------------------------------------------------------------------------------- */

/* Adds what an owner has to the sum. The state's lock is held. */
static inline void tarn_sqlite3_add_owner(const tarn_sqlite3_owner* owner,
                                          tarn_sqlite3_stats* sum) {
  tarn_heap_stats heap = TARN_HEAP_STATS();
  tarn_heap_get_stats(owner->heap, &heap);
  sum->committed_bytes += heap.committed_bytes; /* The heaps below it included. */
  sum->blocks += heap.live_blocks - __atomic_load_n(&owner->ending_blocks, __ATOMIC_RELAXED);
  sum->block_bytes += heap.live_bytes - __atomic_load_n(&owner->ending_bytes, __ATOMIC_RELAXED);
  sum->pages += __atomic_load_n(&owner->page_count, __ATOMIC_RELAXED);
  sum->page_bytes += __atomic_load_n(&owner->page_bytes, __ATOMIC_RELAXED);
  sum->heaps += 2 + __atomic_load_n(&owner->cache_heaps, __ATOMIC_RELAXED);
}

/* Fills in *stats for a connection; for null, for what belongs to no connection. Returns 0, or -1
 * for a struct of another size. Time linear in the pages of the heap (not of SQLite). */
static inline int tarn_sqlite3_get_stats(sqlite3* db, tarn_sqlite3_stats* stats) {
  if (stats->bytes != sizeof *stats) return -1;
  *stats = TARN_SQLITE3_STATS();
  pthread_mutex_lock(&tarn_sqlite3.lock);
  tarn_sqlite3_add_owner(tarn_sqlite3_owner_of(db), stats);
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  return 0;
}

/* Fills in *stats for all of SQLite. Returns 0, or -1 for a struct of another size. Any thread. */
static inline int tarn_sqlite3_get_totals(tarn_sqlite3_stats* stats) {
  const tarn_sqlite3_owner* owner;
  if (stats->bytes != sizeof *stats) return -1;
  *stats = TARN_SQLITE3_STATS();
  pthread_mutex_lock(&tarn_sqlite3.lock);
  for (owner = &tarn_sqlite3.shared; owner != NULL; owner = owner->next) {
    tarn_sqlite3_add_owner(owner, stats);
  }
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  return 0;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
