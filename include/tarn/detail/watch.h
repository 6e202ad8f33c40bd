/* watch: what the pools and heaps of these headers tell tools that watch memory. The tool is chosen
 * when the program is compiled: AddressSanitizer if the program is built with it, Valgrind's
 * memcheck with -DTARN_MEMCHECK=1 (x86-64, aarch64). Otherwise, and with -DTARN_WATCH=0, none of
 * this generates code. C11 and C++17; no library. For programs: tarn_watch_end, tarn_watch_name,
 * tarn_watch_forget.
 *
 * No one may touch closed bytes. What cannot be told exactly stays open, so a tool may miss
 * something, but reports no false alarm. All files that use pools of one type must be compiled
 * alike.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_WATCH_H
#define TARN_WATCH_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#ifndef TARN_MEMCHECK
#define TARN_MEMCHECK 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TARN_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TARN_HAS_ASAN 1
#endif
#endif
#ifndef TARN_HAS_ASAN
#define TARN_HAS_ASAN 0
#endif
#ifndef TARN_WATCH
#define TARN_WATCH (TARN_HAS_ASAN || TARN_MEMCHECK)
#endif
#define TARN_WATCH_ASAN (TARN_WATCH && TARN_HAS_ASAN)
#define TARN_WATCH_MEMCHECK (TARN_WATCH && TARN_MEMCHECK)

/* For functions that touch closed words of their own: the first goes before their type, the second
 * is their first line. They are not instrumented, and memcheck reports nothing of this thread until
 * they return. */
#if TARN_WATCH_ASAN
#define TARN_WATCH_PASSES __attribute__((no_sanitize_address))
#else
#define TARN_WATCH_PASSES
#endif
/* Not instrumented either: gcc would mark their variables as ended in the frames of the functions
 * above, and nothing takes that back. */
#define TARN_WATCH_INLINE TARN_WATCH_PASSES __attribute__((always_inline, unused)) static inline
#if TARN_WATCH_MEMCHECK
#define TARN_WATCH_PASS()                                                     \
  __attribute__((cleanup(tarn_watch_pass_end), unused)) const int tarn_pass = \
      tarn_watch_pass_begin()
#else
#define TARN_WATCH_PASS() ((void)0)
#endif

/* The destructor of a class whose objects have `bytes` bytes of blocks at `start`: it opens them
 * again. */
#if TARN_WATCH
#define TARN_WATCH_DESTRUCTOR(Class, start, bytes) \
  ~Class() { tarn_watch_end(start, bytes); }
#else
#define TARN_WATCH_DESTRUCTOR(Class, start, bytes) ~Class() = default;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The sanitizer's functions; null without it. */
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* start, size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* start, size_t bytes);
__attribute__((weak)) int __asan_address_is_poisoned(const volatile void* p);
__attribute__((weak)) void* __asan_region_is_poisoned(void* start, size_t bytes);
__attribute__((weak)) void __asan_describe_address(void* p);
__attribute__((weak)) void __sanitizer_print_stack_trace(void);

/* The numbers of Valgrind's requests, and of memcheck's own ('M' 'C'), from valgrind.h and
 * memcheck.h. */
#define TARN_WATCH_CREATE_MEMPOOL 0x1303U
#define TARN_WATCH_DESTROY_MEMPOOL 0x1304U
#define TARN_WATCH_MEMPOOL_ALLOC 0x1305U
#define TARN_WATCH_MEMPOOL_FREE 0x1306U
#define TARN_WATCH_MEMPOOL_EXISTS 0x130aU
#define TARN_WATCH_DISABLE_ERRORS 0x1801U /* One level more, or -1. */
#define TARN_WATCH_MAKE_NOACCESS 0x4d430000U
#define TARN_WATCH_MAKE_UNDEFINED 0x4d430001U
#define TARN_WATCH_MAKE_DEFINED 0x4d430002U
#define TARN_WATCH_DISCARD 0x4d430003U
#define TARN_WATCH_CHECK_ADDRESSABLE 0x4d430004U
#define TARN_WATCH_GET_VBITS 0x4d430008U
#define TARN_WATCH_CREATE_BLOCK 0x4d43000aU

/* Makes a request and returns its answer; 0 where no Valgrind runs. On a processor the instructions
 * do nothing (Valgrind's manual, "The Client Request mechanism"). */
TARN_WATCH_INLINE uintptr_t tarn_watch_ask(uintptr_t request, uintptr_t a, uintptr_t b,
                                           uintptr_t c) {
  uintptr_t words[6] = {request, a, b, c, 0, 0};
  uintptr_t answer = 0;
#if defined(__x86_64__)
  __asm__ volatile(
      "rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "=d"(answer)
      : "a"(words), "0"(answer)
      : "cc", "memory");
#elif defined(__aarch64__)
  register uintptr_t result __asm__("x3") = answer;
  register uintptr_t* where __asm__("x4") = words;
  __asm__ volatile(
      "ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n\t"
      "orr x10, x10, x10"
      : "+r"(result)
      : "r"(where)
      : "cc", "memory");
  answer = result;
#else
  (void)words;
#endif
  return answer;
}

TARN_WATCH_INLINE uintptr_t tarn_watch_word(const void* p) { return (uintptr_t)p; }

TARN_WATCH_INLINE int tarn_watch_pass_begin(void) {
  (void)tarn_watch_ask(TARN_WATCH_DISABLE_ERRORS, 1, 0, 0);
  return 0;
}
TARN_WATCH_INLINE void tarn_watch_pass_end(const int* pass) {
  (void)pass;
  (void)tarn_watch_ask(TARN_WATCH_DISABLE_ERRORS, ~(uintptr_t)0, 0, 0);
}

/* Whether what is closed here opens by itself when its memory ends. gcc leaves closed what was
 * closed in a stack frame that has ended, so whatever may be on this thread's stack, of the usual 8
 * MiB, stays open. */
TARN_WATCH_INLINE int tarn_watch_lasts(const void* p) {
  return !TARN_WATCH_ASAN ||
         tarn_watch_word(p) - tarn_watch_word(__builtin_frame_address(0)) >= (uintptr_t)8 << 20;
}

/* Closes the bytes: no one may touch them. */
TARN_WATCH_INLINE void tarn_watch_close(const void* start, size_t bytes) {
  (void)start, (void)bytes;
  if (TARN_WATCH_ASAN && __asan_poison_memory_region != NULL) {
    __asan_poison_memory_region(start, bytes);
  }
  if (TARN_WATCH_MEMCHECK) {
    (void)tarn_watch_ask(TARN_WATCH_MAKE_NOACCESS, tarn_watch_word(start), bytes, 0);
  }
}

/* Opens the bytes with undefined contents: a block begins. */
TARN_WATCH_INLINE void tarn_watch_open(const void* start, size_t bytes) {
  (void)start, (void)bytes;
  if (TARN_WATCH_ASAN && __asan_unpoison_memory_region != NULL) {
    __asan_unpoison_memory_region(start, bytes);
  }
  if (TARN_WATCH_MEMCHECK) {
    (void)tarn_watch_ask(TARN_WATCH_MAKE_UNDEFINED, tarn_watch_word(start), bytes, 0);
  }
}

/* For programs: makes memory that was a pool's or a heap's plain memory again. Call it before the
 * memory is used for anything else (even zeroed or unmapped), or goes back to another heap than the
 * tool's own malloc. It is not needed where the pool's destructor runs, or the pool leaves its
 * scope. */
TARN_WATCH_INLINE void tarn_watch_end(const void* start, size_t bytes) {
  (void)start, (void)bytes;
  if (TARN_WATCH_ASAN && __asan_unpoison_memory_region != NULL) {
    __asan_unpoison_memory_region(start, bytes);
  }
  if (TARN_WATCH_MEMCHECK) {
    (void)tarn_watch_ask(TARN_WATCH_MAKE_DEFINED, tarn_watch_word(start), bytes, 0);
  }
}

TARN_WATCH_INLINE int tarn_watch_is_closed(const void* p) {
  (void)p;
  if (TARN_WATCH_ASAN && __asan_address_is_poisoned != NULL && __asan_address_is_poisoned(p)) {
    return 1;
  }
  unsigned char bits = 0;
  return TARN_WATCH_MEMCHECK &&
         tarn_watch_ask(TARN_WATCH_GET_VBITS, tarn_watch_word(p), tarn_watch_word(&bits), 1) == 3;
}

/* Opens those of the bytes that are closed. The others keep their contents. */
TARN_WATCH_INLINE void tarn_watch_open_rest(const void* start, size_t bytes) {
  const unsigned char* const p = (const unsigned char*)start;
  for (size_t i = 0; TARN_WATCH && i < bytes; ++i) {
    if (tarn_watch_is_closed(p + i)) tarn_watch_open(p + i, 1);
  }
}

/* As tarn_watch_end, if any of the bytes is closed, for bytes that may also hold blocks of others.
 * For memcheck, the bytes near a closed one then count as written. */
TARN_WATCH_INLINE void tarn_watch_end_closed(const void* start, size_t bytes) {
  if (TARN_WATCH_ASAN && __asan_region_is_poisoned != NULL &&
      __asan_region_is_poisoned((void*)(uintptr_t)start, bytes) != NULL) {
    __asan_unpoison_memory_region(start, bytes);
  }
  unsigned char bits[256];
  for (size_t i = 0; TARN_WATCH_MEMCHECK && i < bytes; i += sizeof bits) {
    const uintptr_t p = tarn_watch_word(start) + i;
    const size_t n = bytes - i < sizeof bits ? bytes - i : sizeof bits;
    if (tarn_watch_ask(TARN_WATCH_GET_VBITS, p, tarn_watch_word(bits), n) == 3) {
      (void)tarn_watch_ask(TARN_WATCH_MAKE_DEFINED, p, n, 0);
    }
  }
}

/* Closes a block that ends. memcheck keeps the stack of this call and shows it with wrong accesses,
 * but only if a pool frees the block. Here the pool lasts for four requests, so that nothing of it
 * is left when the memory goes away without notice. (memcheck shows the same stack as that of the
 * allocation.) The pool's address is that of a variable of this call; the program may have left a
 * pool of its own there. */
TARN_WATCH_INLINE void tarn_watch_freed(const void* block, size_t bytes) {
  const char pool = 0;
  tarn_watch_close(block, bytes);
  if (!TARN_WATCH_MEMCHECK) return;
  const uintptr_t handle = tarn_watch_word(&pool);
  if (tarn_watch_ask(TARN_WATCH_MEMPOOL_EXISTS, handle, 0, 0) != 0) return;
  (void)tarn_watch_ask(TARN_WATCH_CREATE_MEMPOOL, handle, 0, 0);
  (void)tarn_watch_ask(TARN_WATCH_MEMPOOL_ALLOC, handle, tarn_watch_word(block), bytes);
  (void)tarn_watch_ask(TARN_WATCH_MEMPOOL_FREE, handle, tarn_watch_word(block), 0);
  (void)tarn_watch_ask(TARN_WATCH_DESTROY_MEMPOOL, handle, 0, 0);
}

/* Whether several threads may open and close blocks at once. The sanitizer has one byte for every
 * eight: two blocks that share one would disturb each other. */
TARN_WATCH_INLINE int tarn_watch_is_apart(const void* block, size_t stride) {
  return !TARN_WATCH_ASAN || ((tarn_watch_word(block) | stride) & 7) == 0;
}

/* Called where a misuse of p was found. The tool says what p is, and where this happens. */
TARN_WATCH_INLINE void tarn_watch_explain(const void* p) {
  (void)p;
  if (TARN_WATCH_ASAN && __asan_describe_address != NULL) {
    __asan_describe_address((void*)(uintptr_t)p);
  }
  if (TARN_WATCH_ASAN && __sanitizer_print_stack_trace != NULL) __sanitizer_print_stack_trace();
  if (TARN_WATCH_MEMCHECK) {
    (void)tarn_watch_ask(TARN_WATCH_CHECK_ADDRESSABLE, tarn_watch_word(p), 1, 0);
  }
}

/* For programs: until it is forgotten, memcheck's reports call the bytes `name`, instead of what
 * they would otherwise say about them (such as the stack of the free). The sanitizer knows no such
 * names: it names the variable. The result is for tarn_watch_forget. */
TARN_WATCH_INLINE uintptr_t tarn_watch_name(const void* start, size_t bytes, const char* name) {
  (void)start, (void)bytes, (void)name;
  return TARN_WATCH_MEMCHECK ? tarn_watch_ask(TARN_WATCH_CREATE_BLOCK, tarn_watch_word(start),
                                              bytes, tarn_watch_word(name))
                             : 0;
}
TARN_WATCH_INLINE void tarn_watch_forget(uintptr_t named) {
  (void)named;
  if (TARN_WATCH_MEMCHECK) (void)tarn_watch_ask(TARN_WATCH_DISCARD, 0, named, 0);
}

#ifdef __cplusplus
}
#endif

#endif
#endif
