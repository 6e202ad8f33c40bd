/* lua.h: a Lua state in a heap of tarn's (Lua 5.1 to 5.4). Header only; C and C++.
 *
 *   tarn_heap heap = tarn_heap_create(&options);   // with a ceiling: a script has no more
 *   lua_State* state = tarn_lua_open(&heap);
 *   ...
 *   tarn_lua_close(state, &heap);
 *
 * At the ceiling Lua collects garbage first and then raises its memory error: LUA_ERRMEM from
 * lua_pcall. Lua's own headers (lua.h, or lua.hpp for C++) must be on the include path.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_HOOKS_LUA_H
#define TARN_HOOKS_LUA_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#ifdef __cplusplus
#include <lua.hpp>
#else
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#endif

#include <stdint.h>

#include "../heap/heap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A lua_Alloc over a heap. Shrinking a block never fails, as Lua requires. */
static inline void* tarn_lua_allocate(void* heap, void* p, size_t old_bytes, size_t bytes) {
  void* moved;
  if (bytes == 0) {
    tarn_heap_deallocate(p);
    return NULL;
  }
  moved = tarn_heap_reallocate(*(const tarn_heap*)heap, p, bytes);
  return moved == NULL && p != NULL && bytes <= old_bytes ? p : moved;
}

/* A state that is being closed. Blocks are not freed one by one, unless a finalizer finds no
 * memory. */
typedef struct tarn_lua_ending {
  const tarn_heap* heap;
  void* ended;  /* The blocks freed so far; each points to the next. */
  int is_short; /* An allocation has found no memory. */
} tarn_lua_ending;
static inline void* tarn_lua_allocate_ending(void* context, void* p, size_t old_bytes,
                                             size_t bytes) {
  tarn_lua_ending* const ending = (tarn_lua_ending*)context;
  void* const heap = (void*)(uintptr_t)ending->heap;
  void* moved;
  if (bytes == 0 && p != NULL && old_bytes >= sizeof(void*) && !ending->is_short) {
    *(void**)p = ending->ended;
    ending->ended = p;
    return NULL;
  }
  moved = tarn_lua_allocate(heap, p, old_bytes, bytes);
  if (moved != NULL || bytes == 0 || ending->is_short) return moved;
  ending->is_short = 1;
  while (ending->ended != NULL) {
    void* const next = *(void**)ending->ended;
    tarn_heap_deallocate(ending->ended);
    ending->ended = next;
  }
  return tarn_lua_allocate(heap, p, old_bytes, bytes);
}

/* Makes a state all of whose memory is in *heap. *heap is read at each call and must outlive the
 * state. Null when there is no memory for it. */
static inline lua_State* tarn_lua_open(const tarn_heap* heap) {
  return lua_newstate(tarn_lua_allocate, (void*)(uintptr_t)heap);
}

/* Closes a state that has the heap to itself, and ends the heap. Finalizers run; frees of single
 * blocks do nothing, unless a finalizer needs their memory; and all memory goes at once. Returns
 * what tarn_heap_destroy returns. For a null state, only the heap ends. */
static inline int tarn_lua_close(lua_State* state, tarn_heap* heap) {
  const tarn_heap none = {NULL, 0};
  const tarn_heap ended = *heap;
  tarn_lua_ending ending = {heap, NULL, 0};
  if (state != NULL) {
    lua_setallocf(state, tarn_lua_allocate_ending, &ending);
    lua_close(state);
  }
  *heap = none;
  return tarn_heap_destroy(ended);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
