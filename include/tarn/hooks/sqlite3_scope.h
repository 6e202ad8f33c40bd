/* sqlite3_scope.h: whose memory SQLite asks for; part of tarn/hooks/sqlite3.h.
 *
 * SQLite's functions for memory say nothing about connections. But a thread that works with a
 * connection holds its mutex, and a thread that works with what connections share (files' inodes,
 * shared caches, VFS, lists) holds another one besides. So the mutexes are ours, and a block
 * belongs to
 *   - a connection, while the thread holds its mutex and, at most, that of the statistics;
 *   - no connection (it is shared) in every other case: two connections' mutexes, a static or a
 *     fast one, or none.
 * What a file's xOpen allocates is shared too: the unix VFS passes parts of it to other
 * connections. A block that grows stays in its heap.
 *
 * Lock order: SQLite's mutexes, then the state's lock, then tarn's.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_SQLITE3_SCOPE_H
#define TARN_HOOKS_SQLITE3_SCOPE_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

#include "../heap/heap.h"
#include "../heap/malloc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An owner of memory: one for each connection, and one for what is shared. */
typedef struct tarn_sqlite3_owner {
  tarn_heap heap;  /* For what SQLite asks for by xMalloc. */
  tarn_heap pages; /* For small page caches. Below `heap`, as their own heaps are. */
  /* Its caches. Under the state's lock, except for the thread that has the connection. */
  struct tarn_sqlite3_cache* caches;
  struct tarn_sqlite3_owner* next; /* The next owner. Under the state's lock. */
  tarn_heap_options options;       /* The options of the heaps for pages. */
  tarn_source source;              /* The source of those heaps, if the options name one. */
  size_t soft_bytes;               /* Pages are reused beyond so many bytes of them. 0: no limit. */
  /* The bytes of the pages of all caches, with their headers. Atomic, since shared caches have
   * several locks. */
  size_t page_bytes;
  size_t page_count;      /* The number of these pages. Atomic. */
  size_t cache_heaps;     /* The caches that have a heap of their own. Atomic. */
  sqlite3* db;            /* The connection, once it exists. */
  void* ended;            /* Blocks freed while it is closed; each points to the next. */
  uint64_t ending_blocks; /* How many these are. They are still in the heap. Atomic. */
  uint64_t ending_bytes;  /* Their usable bytes. Atomic. */
  int has_mutex;          /* It has its mutex: the first one that is made for it. */
  int is_closed;          /* SQLite has freed that mutex. Atomic. The connection may live. */
} tarn_sqlite3_owner;

typedef struct tarn_sqlite3_mutex {
  pthread_mutex_t lock;
  /* The thread that holds a recursive mutex. Atomic: only that thread finds itself here. */
  const void* thread;
  unsigned depth;            /* How often that thread holds it. */
  int kind;                  /* SQLITE_MUTEX_... */
  int is_aside;              /* Held while its thread opens another connection: not among `held`. */
  tarn_sqlite3_owner* owner; /* The owner of its connection; null: shared. */
  struct tarn_sqlite3_mutex* before; /* The recursive one that the thread took before. */
} tarn_sqlite3_mutex;

typedef struct tarn_sqlite3_thread {
  tarn_sqlite3_mutex* held;    /* The recursive mutexes that it holds. */
  unsigned shared;             /* How many other mutexes, or calls whose memory is shared. */
  int has_statistics;          /* It holds the mutex of the statistics. */
  tarn_sqlite3_owner* opening; /* The owner of the connection that is being made. */
  tarn_sqlite3_owner* ending;  /* The owner of the connection that is being closed. */
  /* The owner of a connection that SQLite has closed, until its last block is freed. */
  tarn_sqlite3_owner* closed;
  const sqlite3_vfs* vfs;   /* The VFS whose xOpen the thread is in. */
  const char* file_name;    /* The name of the file that xOpen is to open. */
  const sqlite3_file* file; /* The file that xOpen fills in. */
} tarn_sqlite3_thread;

enum { TARN_SQLITE3_STATIC_MUTEXES = 16 };

typedef int (*tarn_sqlite3_file_open)(sqlite3_vfs* vfs, const char* name, sqlite3_file* file,
                                      int flags, int* out_flags);

/* What was seen of a VFS whose xOpen is or was ours. It is kept when the VFS is gone, since there
 * may be copies of that, or files that it has opened. */
typedef struct tarn_sqlite3_vfs {
  struct tarn_sqlite3_vfs* next; /* The one that was seen next. */
  const sqlite3_vfs* vfs;        /* Where it lies, or lay. */
  tarn_sqlite3_file_open open;   /* Its own xOpen. */
  const void* data;              /* Its pAppData. */
  int (*remove)(sqlite3_vfs* vfs, const char* name, int syncs);
  int (*access)(sqlite3_vfs* vfs, const char* name, int flags, int* result);
  int (*complete)(sqlite3_vfs* vfs, const char* name, int bytes, char* path);
} tarn_sqlite3_vfs;

typedef struct tarn_sqlite3_state {
  pthread_mutex_t lock;
  int is_installed;
  tarn_sqlite3_owner shared;
  tarn_sqlite3_mutex statics[TARN_SQLITE3_STATIC_MUTEXES];
  /* Each file of a program has its own copies of these functions; these are the installer's. */
  tarn_sqlite3_file_open open_file;
  size_t (*make_room)(tarn_sqlite3_owner* owner); /* Frees pages that caches can spare. */
  void (*end_if_empty)(tarn_sqlite3_owner* owner);
  tarn_sqlite3_vfs* files;
  sqlite3_mem_methods memory_before;
  sqlite3_mutex_methods mutexes_before;
  sqlite3_pcache_methods2 caches_before;
} tarn_sqlite3_state;

TARN_WEAK tarn_sqlite3_state tarn_sqlite3;
TARN_WEAK __thread tarn_sqlite3_thread tarn_sqlite3_here;

/* --- Memory ----------------------------------------------------------------------------------- */

/* The owner to which a block belongs that the calling thread allocates now. */
static inline tarn_sqlite3_owner* tarn_sqlite3_current(void) {
  const tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  tarn_sqlite3_owner* owner = here->opening;
  if (here->shared != 0) return &tarn_sqlite3.shared;
  if (here->held != NULL) owner = here->held->before == NULL ? here->held->owner : NULL;
  return owner == NULL ? &tarn_sqlite3.shared : owner;
}

static inline int tarn_sqlite3_size(void* p) { return (int)tarn_malloc_usable_size(p); }
static inline int tarn_sqlite3_round(int bytes) { return (bytes + 7) & ~7; }

/* xMalloc. SQLite rounds sizes up only when it counts, but each block needs room for a pointer
 * (`ended`). */
static inline void* tarn_sqlite3_allocate(int least) {
  const size_t bytes = (size_t)tarn_sqlite3_round(least);
  tarn_sqlite3_owner* const owner = tarn_sqlite3_current();
  void* const p = tarn_heap_allocate(owner->heap, bytes);
  if (TARN_LIKELY(p != NULL) || tarn_sqlite3.make_room(owner) == 0) return p;
  return tarn_heap_allocate(owner->heap, bytes);
}

/* Whether the block's connection may have been closed, so that other threads may end its heap. */
static inline int tarn_sqlite3_may_be_swept(const void* p) {
  const tarn_sqlite3_mutex* const held = tarn_sqlite3_here.held;
  return held == NULL || held->owner == NULL || tarn_heap_of(p).id != held->owner->heap.id;
}

/* Frees a block. The last block of a connection that SQLite has closed by itself is the connection
 * itself. */
static inline void tarn_sqlite3_give_back(void* p) {
  tarn_sqlite3_owner* const closed = tarn_sqlite3_here.closed;
  if (TARN_LIKELY(closed == NULL) || p != (void*)closed->db) {
    tarn_heap_deallocate(p);
    return;
  }
  tarn_sqlite3_here.closed = NULL;
  tarn_heap_deallocate(p);
  tarn_sqlite3.end_if_empty(closed);
}

/* xFree. Blocks of a connection that is being closed stay, and end at once with its heap. Where
 * SQLite does not count, it frees under no mutex; then this takes one, so that tarn_sqlite3_sweep
 * waits. */
static inline void tarn_sqlite3_deallocate(void* p) {
  const tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  tarn_sqlite3_owner* const ending = here->ending;
  pthread_mutex_t* const freeing = &tarn_sqlite3.statics[SQLITE_MUTEX_STATIC_MEM].lock;
  if (TARN_UNLIKELY(ending != NULL) && tarn_heap_of(p).id == ending->heap.id) {
    *(void**)p = ending->ended;
    ending->ended = p;
    __atomic_add_fetch(&ending->ending_blocks, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&ending->ending_bytes, tarn_malloc_usable_size(p), __ATOMIC_RELAXED);
    return;
  }
  if (TARN_LIKELY(here->has_statistics) || !tarn_sqlite3_may_be_swept(p)) {
    tarn_sqlite3_give_back(p);
    return;
  }
  pthread_mutex_lock(freeing);
  tarn_sqlite3_give_back(p);
  pthread_mutex_unlock(freeing);
}
/* Frees the blocks that SQLite freed before it refused to close the connection. */
static inline void tarn_sqlite3_give_ended_back(tarn_sqlite3_owner* owner) {
  while (owner->ended != NULL) {
    void* const p = owner->ended;
    owner->ended = *(void**)p;
    tarn_heap_deallocate(p);
  }
  __atomic_store_n(&owner->ending_blocks, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&owner->ending_bytes, 0, __ATOMIC_RELAXED);
}
static inline void* tarn_sqlite3_reallocate(void* p, int least) {
  const size_t bytes = (size_t)tarn_sqlite3_round(least);
  const tarn_heap heap = tarn_heap_of(p);
  tarn_sqlite3_owner* const owner = tarn_sqlite3_current();
  void* const moved = tarn_heap_reallocate(heap, p, bytes);
  if (TARN_LIKELY(moved != NULL) || owner->heap.id != heap.id) return moved;
  return tarn_sqlite3.make_room(owner) == 0 ? NULL : tarn_heap_reallocate(heap, p, bytes);
}
static inline int tarn_sqlite3_memory_init(void* context) {
  (void)context;
  return SQLITE_OK;
}
static inline void tarn_sqlite3_memory_end(void* context) { (void)context; }

/* --- Mutexes ---------------------------------------------------------------------------------- */

/* Makes the static mutexes, once. xMutexInit is no place for it: SQLite calls that in each
 * sqlite3_mutex_alloc of a static one. */
static inline void tarn_sqlite3_make_statics(void) {
  int i;
  for (i = 0; i != TARN_SQLITE3_STATIC_MUTEXES; ++i) {
    pthread_mutex_init(&tarn_sqlite3.statics[i].lock, NULL);
    tarn_sqlite3.statics[i].kind = i;
  }
}
static inline int tarn_sqlite3_mutexes_init(void) { return SQLITE_OK; }
static inline int tarn_sqlite3_mutexes_end(void) { return SQLITE_OK; }

static inline sqlite3_mutex* tarn_sqlite3_mutex_alloc(int kind) {
  tarn_sqlite3_owner* const opening = tarn_sqlite3_here.opening;
  tarn_sqlite3_mutex* mutex;
  if (kind != SQLITE_MUTEX_FAST && kind != SQLITE_MUTEX_RECURSIVE) {
    return kind < TARN_SQLITE3_STATIC_MUTEXES ? (sqlite3_mutex*)&tarn_sqlite3.statics[kind] : NULL;
  }
  mutex = (tarn_sqlite3_mutex*)tarn_calloc(1, sizeof *mutex);
  if (mutex == NULL) return NULL;
  pthread_mutex_init(&mutex->lock, NULL);
  mutex->kind = kind;
  if (kind == SQLITE_MUTEX_RECURSIVE && opening != NULL && !opening->has_mutex) {
    opening->has_mutex = 1;
    mutex->owner = opening;
  }
  return (sqlite3_mutex*)mutex;
}

/* xMutexFree. A connection in tarn_sqlite3_close is ended there, and one that could not be opened
 * (without memory SQLite closes it) in tarn_sqlite3_open. All others are marked as closed here. */
static inline void tarn_sqlite3_mutex_free(sqlite3_mutex* opaque) {
  tarn_sqlite3_mutex* const mutex = (tarn_sqlite3_mutex*)opaque;
  tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  if (mutex->owner != NULL && mutex->owner != here->ending && mutex->owner != here->opening) {
    here->closed = mutex->owner;
    __atomic_store_n(&mutex->owner->is_closed, 1, __ATOMIC_RELEASE);
  }
  pthread_mutex_destroy(&mutex->lock);
  tarn_free(mutex);
}

/* Whether memory is shared while this mutex is held. The mutex of the statistics is held around
 * each xMalloc, and that of random numbers around none. */
static inline int tarn_sqlite3_mutex_shares(const tarn_sqlite3_mutex* mutex) {
  return mutex->kind != SQLITE_MUTEX_STATIC_MEM && mutex->kind != SQLITE_MUTEX_STATIC_PRNG;
}

static inline void tarn_sqlite3_mutex_taken(tarn_sqlite3_mutex* mutex) {
  tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  if (mutex->kind != SQLITE_MUTEX_RECURSIVE) {
    here->shared += (unsigned)tarn_sqlite3_mutex_shares(mutex);
    here->has_statistics |= mutex->kind == SQLITE_MUTEX_STATIC_MEM;
    return;
  }
  __atomic_store_n(&mutex->thread, (const void*)here, __ATOMIC_RELAXED);
  mutex->depth = 1;
  mutex->before = here->held;
  here->held = mutex;
}

/* Sets aside, or takes back, the mutexes that a thread holds when it begins to open a connection
 * (perhaps in a callback of another one). What it does with the other connection meanwhile is
 * shared. */
static inline void tarn_sqlite3_set_aside(tarn_sqlite3_mutex* held, int is_aside) {
  for (; held != NULL; held = held->before) held->is_aside = is_aside;
}

/* Enters a recursive mutex once more; 0 when the thread does not hold it yet. */
static inline int tarn_sqlite3_mutex_again(tarn_sqlite3_mutex* mutex) {
  if (mutex->kind != SQLITE_MUTEX_RECURSIVE) return 0;
  if (__atomic_load_n(&mutex->thread, __ATOMIC_RELAXED) != (const void*)&tarn_sqlite3_here) {
    return 0;
  }
  mutex->depth += 1;
  tarn_sqlite3_here.shared += (unsigned)mutex->is_aside;
  return 1;
}

static inline void tarn_sqlite3_mutex_enter(sqlite3_mutex* opaque) {
  tarn_sqlite3_mutex* const mutex = (tarn_sqlite3_mutex*)opaque;
  if (tarn_sqlite3_mutex_again(mutex)) return;
  pthread_mutex_lock(&mutex->lock);
  tarn_sqlite3_mutex_taken(mutex);
}
static inline int tarn_sqlite3_mutex_try(sqlite3_mutex* opaque) {
  tarn_sqlite3_mutex* const mutex = (tarn_sqlite3_mutex*)opaque;
  if (tarn_sqlite3_mutex_again(mutex)) return SQLITE_OK;
  if (pthread_mutex_trylock(&mutex->lock) != 0) return SQLITE_BUSY;
  tarn_sqlite3_mutex_taken(mutex);
  return SQLITE_OK;
}

/* xMutexLeave. Mutexes may be left in any order, as SQLite does now and then. */
static inline void tarn_sqlite3_mutex_leave(sqlite3_mutex* opaque) {
  tarn_sqlite3_mutex* const mutex = (tarn_sqlite3_mutex*)opaque;
  tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  if (mutex->kind != SQLITE_MUTEX_RECURSIVE) {
    here->shared -= (unsigned)tarn_sqlite3_mutex_shares(mutex);
    if (mutex->kind == SQLITE_MUTEX_STATIC_MEM) here->has_statistics = 0;
  } else {
    tarn_sqlite3_mutex** link = &here->held;
    here->shared -= (unsigned)mutex->is_aside;
    if (--mutex->depth != 0) return;
    while (*link != mutex) link = &(*link)->before;
    *link = mutex->before;
    __atomic_store_n(&mutex->thread, (const void*)NULL, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&mutex->lock);
}

/* xMutexHeld and xMutexNotheld, for builds of SQLite with assertions. */
static inline int tarn_sqlite3_mutex_held(sqlite3_mutex* opaque) {
  tarn_sqlite3_mutex* const mutex = (tarn_sqlite3_mutex*)opaque;
  return mutex == NULL || mutex->kind != SQLITE_MUTEX_RECURSIVE ||
         __atomic_load_n(&mutex->thread, __ATOMIC_RELAXED) == (const void*)&tarn_sqlite3_here;
}
static inline int tarn_sqlite3_mutex_notheld(sqlite3_mutex* opaque) {
  tarn_sqlite3_mutex* const mutex = (tarn_sqlite3_mutex*)opaque;
  return mutex == NULL || mutex->kind != SQLITE_MUTEX_RECURSIVE || !tarn_sqlite3_mutex_held(opaque);
}

/* --- Files ------------------------------------------------------------------------------------ */

/* How similar a VFS is to one that was seen. */
static inline int tarn_sqlite3_likeness(const tarn_sqlite3_vfs* seen, const sqlite3_vfs* vfs) {
  return (seen->vfs == vfs) + 2 * (vfs->pAppData != NULL && seen->data == vfs->pAppData) +
         (seen->remove == vfs->xDelete) + (seen->access == vfs->xAccess) +
         (seen->complete == vfs->xFullPathname);
}

/* The own xOpen of a VFS; null when it is not known. Programs copy a VFS, change a few functions
 * and register the copy, which has our xOpen or calls it with itself. So a VFS that was never seen
 * gets the xOpen of the one that it is most similar to. A VFS at the place of another one is not
 * taken for that. */
static inline tarn_sqlite3_file_open tarn_sqlite3_own_open(const sqlite3_vfs* vfs,
                                                           int is_its_call) {
  const tarn_sqlite3_vfs* seen;
  tarn_sqlite3_file_open own = NULL;
  int most = 0;
  pthread_mutex_lock(&tarn_sqlite3.lock);
  for (seen = tarn_sqlite3.files; seen != NULL; seen = seen->next) {
    const int likeness = tarn_sqlite3_likeness(seen, vfs);
    if (likeness <= most || (is_its_call && seen->vfs == vfs)) continue;
    most = likeness;
    own = seen->open;
  }
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  return own;
}

/* Whether a VFS's own xOpen has called ours with the same VFS: for the same name, or for a file
 * that is part of its own. */
static inline int tarn_sqlite3_is_its_call(const sqlite3_vfs* vfs, const char* name,
                                           const sqlite3_file* file) {
  const tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  const size_t offset = (size_t)(uintptr_t)file - (size_t)(uintptr_t)here->file;
  return vfs == here->vfs && (name == here->file_name || offset < (size_t)vfs->szOsFile);
}

/* Our xOpen: calls the VFS's own one. What that allocates is shared. */
static inline int tarn_sqlite3_open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file,
                                         int flags, int* out_flags) {
  tarn_sqlite3_thread* const here = &tarn_sqlite3_here;
  const sqlite3_vfs* const vfs_before = here->vfs;
  const char* const name_before = here->file_name;
  const sqlite3_file* const file_before = here->file;
  const tarn_sqlite3_file_open own =
      tarn_sqlite3_own_open(vfs, tarn_sqlite3_is_its_call(vfs, name, file));
  int result;
  if (own == NULL) return SQLITE_CANTOPEN;
  here->vfs = vfs;
  here->file_name = name;
  here->file = file;
  here->shared += 1;
  result = own(vfs, name, file, flags, out_flags);
  here->shared -= 1;
  here->vfs = vfs_before;
  here->file_name = name_before;
  here->file = file_before;
  return result;
}

/* Replaces a VFS's xOpen by ours. 0 when there is no memory. The state's lock is held. */
static inline int tarn_sqlite3_watch(sqlite3_vfs* vfs) {
  tarn_sqlite3_vfs** link = &tarn_sqlite3.files;
  while (*link != NULL && (*link)->vfs != vfs) link = &(*link)->next;
  if (*link == NULL) *link = (tarn_sqlite3_vfs*)tarn_calloc(1, sizeof **link);
  if (*link == NULL) return 0;
  (*link)->vfs = vfs;
  (*link)->open = vfs->xOpen;
  (*link)->data = vfs->pAppData;
  (*link)->remove = vfs->xDelete;
  (*link)->access = vfs->xAccess;
  (*link)->complete = vfs->xFullPathname;
  __atomic_store_n(&vfs->xOpen, tarn_sqlite3.open_file, __ATOMIC_RELAXED);
  return 1;
}

/* Replaces the xOpen of all registered VFSs. The caller holds no lock; SQLite's list has one. */
static inline int tarn_sqlite3_watch_files(void) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(NULL); /* Initialises SQLite too. */
  sqlite3_mutex* const registering = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_MASTER);
  int fits = 1;
  sqlite3_mutex_enter(registering);
  pthread_mutex_lock(&tarn_sqlite3.lock);
  for (; vfs != NULL && fits; vfs = vfs->pNext) {
    if (vfs->xOpen != tarn_sqlite3.open_file) fits = tarn_sqlite3_watch(vfs);
  }
  pthread_mutex_unlock(&tarn_sqlite3.lock);
  sqlite3_mutex_leave(registering);
  return fits;
}
/* Gives all registered VFSs their own xOpen back. VFSs that are no longer registered may not exist
 * any more. What is known of them stays, in case they come back. */
static inline void tarn_sqlite3_leave_files(void) {
  sqlite3_vfs* vfs = sqlite3_vfs_find(NULL);
  for (; vfs != NULL; vfs = vfs->pNext) {
    tarn_sqlite3_file_open own = NULL;
    if (vfs->xOpen == tarn_sqlite3.open_file) own = tarn_sqlite3_own_open(vfs, 0);
    if (own != NULL) vfs->xOpen = own;
  }
}

#ifdef __cplusplus
}
#endif

#endif
#endif
