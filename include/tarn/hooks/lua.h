/* lua.h: a Lua state in a heap of tarn's (Lua 5.1 to 5.4). Header only; C and C++.
 *
 *   tarn_heap heap = tarn_heap_create(&options);   // with a ceiling: a script has no more
 *   lua_State* state = tarn_lua_open(&heap);
 *   ...
 *   tarn_lua_close(state, &heap);
 *
 * At the ceiling Lua collects garbage first, then raises its error: LUA_ERRMEM from lua_pcall.
 * Include it after Lua's own headers are to be found (lua.h, or lua.hpp for C++).
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

/* A lua_Alloc. What shrinks never fails, as Lua wants it. */
static inline void* tarn_lua_allocate(void* heap, void* p, size_t old_bytes, size_t bytes) {
  void* moved;
  if (bytes == 0) {
    tarn_heap_deallocate(p);
    return NULL;
  }
  moved = tarn_heap_reallocate(*(const tarn_heap*)heap, p, bytes);
  return moved == NULL && p != NULL && bytes <= old_bytes ? p : moved;
}

/* A state that ends: nothing is given back one by one, until a finalizer finds no memory. */
typedef struct tarn_lua_ending {
  const tarn_heap* heap;
  void* ended;  /* What was freed: each block leads to the next. */
  int is_short; /* There was no memory once. */
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

/* A state all of whose memory is in *heap, which is read at each call and must outlive it; null
 * when there is no memory for one. */
static inline lua_State* tarn_lua_open(const tarn_heap* heap) {
  return lua_newstate(tarn_lua_allocate, (void*)(uintptr_t)heap);
}

/* Closes a state, which has the heap to itself, and ends the heap: finalizers run, frees of single
 * blocks do nothing (unless a finalizer needs their memory), all goes at once. As
 * tarn_heap_destroy. A null state: only the heap. */
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
