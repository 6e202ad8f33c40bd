/* malloc.h: the malloc family, in C, under names of its own. It serves from the same heap as malloc
 * where tarn is the process's malloc, and beside it where it is not (library tarn::tarn). A block
 * of one family may be freed by the other where tarn is malloc.
 *
 * All sizes are bytes. Every function may be called from any thread. Out of memory, an overflowing
 * size, or one above PTRDIFF_MAX gives a null pointer and errno ENOMEM. Allocation and freeing take
 * constant time, apart from calls to the operating system and from zeroing or copying contents.
 * What owners have registered (tarn/heap/recover.h) is recovered before there is no memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_MALLOC_H
#define TARN_MALLOC_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>

#include "../detail/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At least `size` bytes aligned to 16; for size 0 a block that may only be freed. */
TARN_API TARN_ALLOCATES(1) void* tarn_malloc(size_t size);

/* As tarn_malloc for count * size bytes; they and all that tarn_malloc_usable_size says are zero.
 * The product is checked. */
TARN_API TARN_ALLOCATES(1, 2) void* tarn_calloc(size_t count, size_t size);

/* The block at its new size, moved if need be, contents kept up to the smaller size. A null p is
 * tarn_malloc; size 0 frees p and gives null. On failure p is as it was. */
TARN_API void* tarn_realloc(void* p, size_t size);

/* As tarn_realloc for count * size bytes. The product is checked. */
TARN_API void* tarn_reallocarray(void* p, size_t count, size_t size);

/* Gives a block back, from any thread; null does nothing; errno is kept. A pointer that is not the
 * start of a block is reported ("tarn: invalid free: ...") where that can be told cheaply, and ends
 * the process. */
TARN_API void tarn_free(void* p);

/* As tarn_free. `size` is what was asked for, `alignment` too. (C23) Checked, guarded and
 * passthrough heaps (tarn/heap/heap.h) report another size: "tarn: size mismatch: ...". */
TARN_API void tarn_free_sized(void* p, size_t size);
TARN_API void tarn_free_aligned_sized(void* p, size_t alignment, size_t size);

/* Stores a block aligned to `alignment` in *p and returns 0; or returns EINVAL (alignment is not a
 * power of two times sizeof(void*)) or ENOMEM, and leaves *p alone. As in glibc errno is ENOMEM
 * then, too, and else as it was. */
TARN_API int tarn_posix_memalign(void** p, size_t alignment, size_t size);

/* Aligned to `alignment`, a power of two; else null and EINVAL. Any size is allowed. */
TARN_API TARN_ALLOCATES(2) void* tarn_aligned_alloc(size_t alignment, size_t size);

/* As tarn_aligned_alloc; an alignment that is no power of two is rounded up to the next one. */
TARN_API TARN_ALLOCATES(2) void* tarn_memalign(size_t alignment, size_t size);

/* Aligned to the OS page; tarn_pvalloc also rounds the size up to whole pages. */
TARN_API TARN_ALLOCATES(1) void* tarn_valloc(size_t size);
TARN_API void* tarn_pvalloc(size_t size);

/* How many bytes at p may be used, at least what was asked for; 0 for null. Exactly that in heaps
 * whose mode is not fast. */
TARN_API size_t tarn_malloc_usable_size(const void* p);

/* Gives free memory beyond `pad` bytes back to the OS. 1 when something was given, else 0. */
TARN_API int tarn_malloc_trim(size_t pad);

/* A hint: the calling thread will not allocate for a while. What it keeps for its next
 * allocations, in all heaps, serves other threads from here on, or goes back when it is empty.
 * Time linear in its pages with free blocks. A later allocation costs a little more, once. */
TARN_API void tarn_thread_idle(void);

/* Has a thread of tarn's own give freed memory back in time (TARN_OPTIONS purge_delay_ms) while the
 * program sleeps; otherwise threads that allocate and free do it by the way. As
 * TARN_OPTIONS=background_purge=1, but at once; any number of calls make one thread. It blocks all
 * signals, sleeps while nothing is free, and ends with the process or when the library is closed.
 * The child of a fork has its own, made when it allocates. 0; -1 with errno when the OS refuses the
 * thread: then nothing has changed, and a later call tries again. */
TARN_API int tarn_purge_in_background(void);

/* A file descriptor that poll(2) and its like report (POLLPRI) whenever threads of the process's
 * cgroup, or of the machine where the cgroup does not say, have waited for memory for stall_ms
 * within window_ms milliseconds (Linux's pressure stall information; without privileges the window
 * must be a multiple of 2000). Close it with close(). -1 with EINVAL for 0, a stall longer than
 * the window or a window above 10,000, or with the errno of the system when it does not offer
 * this. */
TARN_API int tarn_pressure_open(unsigned stall_ms, unsigned window_ms);

/* Waits until such a descriptor is ready, and trims all heaps then: the body of a thread that
 * keeps a server small, `while (tarn_pressure_serve(fd, -1) >= 0);`. Where that gives less than an
 * eighth of what is committed, owners of what can be recovered give the rest (tarn/heap/recover.h):
 * as long as memory stays short, another eighth each time. 1: trimmed; 0: nothing within timeout_ms
 * (-1: wait for ever); -1 with errno: not a descriptor that can be waited for, EINTR after a
 * signal. */
TARN_API int tarn_pressure_serve(int descriptor, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
#endif
