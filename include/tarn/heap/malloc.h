/* malloc.h: the malloc family, in C, under names of its own. Where tarn is the process's malloc
 * these functions serve from the same heap, and either family may free the other's blocks. Where it
 * is not (library tarn::tarn) they work beside the process's malloc.
 *
 * All sizes are in bytes. Every function may be called from any thread. When there is no memory,
 * and for sizes or products above PTRDIFF_MAX, an allocation returns a null pointer with errno
 * ENOMEM. Allocating and freeing take constant time, apart from calls to the operating system and
 * from zeroing or copying contents. Before an allocation fails, memory is recovered from owners
 * that have registered (tarn/heap/recover.h).
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

/* A block of at least `size` bytes, aligned to 16. Size 0 gives a block that may only be freed. */
TARN_API TARN_ALLOCATES(1) void* tarn_malloc(size_t size);

/* A block of count * size bytes. Its whole usable size is zero. An overflowing product gives null
 * with ENOMEM. */
TARN_API TARN_ALLOCATES(1, 2) void* tarn_calloc(size_t count, size_t size);

/* Resizes a block, moving it if need be. The contents are kept up to the smaller size. A null p
 * makes it tarn_malloc. Size 0 frees p and gives null. On failure the result is null and p is as it
 * was. */
TARN_API void* tarn_realloc(void* p, size_t size);

/* As tarn_realloc for count * size bytes. An overflowing product gives null with ENOMEM, and p is
 * as it was. */
TARN_API void* tarn_reallocarray(void* p, size_t count, size_t size);

/* Frees a block, from any thread. Null is ignored. errno is kept. A block that is free already is
 * reported ("tarn: double free: ..."), as is a pointer that is not the start of a block ("tarn:
 * invalid free: ...") where that can be told cheaply: inside a block of at most 128 KiB it may not
 * be, at a multiple of 16 bytes from its start. Both end the process. */
TARN_API void tarn_free(void* p);

/* As tarn_free (C23). `size` and `alignment` must be those that were asked for. A size that the
 * block cannot have is reported ("tarn: size mismatch: ..."), by checked, guarded and passthrough
 * heaps (tarn/heap/heap.h) any other one; with TARN_OPTIONS=check_sizes=0 none is. Another
 * alignment is reported ("tarn: alignment mismatch: ...") where malloc's mode is not fast. */
TARN_API void tarn_free_sized(void* p, size_t size);
TARN_API void tarn_free_aligned_sized(void* p, size_t alignment, size_t size);

/* Stores a block aligned to `alignment` in *p and returns 0. Returns EINVAL when the alignment is
 * not a power of two times sizeof(void*), and ENOMEM when there is no memory; *p is left alone
 * then. As in glibc, errno is ENOMEM too in the latter case, and is otherwise kept. */
TARN_API int tarn_posix_memalign(void** p, size_t alignment, size_t size);

/* A block aligned to `alignment`. An alignment that is no power of two gives null with EINVAL. Any
 * size is allowed. */
TARN_API TARN_ALLOCATES(2) void* tarn_aligned_alloc(size_t alignment, size_t size);

/* As tarn_aligned_alloc, but an alignment that is no power of two is rounded up to the next one. */
TARN_API TARN_ALLOCATES(2) void* tarn_memalign(size_t alignment, size_t size);

/* A block aligned to the OS page. tarn_pvalloc also rounds the size up to whole pages. */
TARN_API TARN_ALLOCATES(1) void* tarn_valloc(size_t size);
TARN_API void* tarn_pvalloc(size_t size);

/* How many bytes at p may be used: at least what was asked for; 0 for null. In heaps whose mode is
 * not fast, exactly what was asked for. */
TARN_API size_t tarn_malloc_usable_size(const void* p);

/* Gives free memory beyond `pad` bytes back to the OS. Returns 1 when something was given, else
 * 0. */
TARN_API int tarn_malloc_trim(size_t pad);

/* A hint that the calling thread will not allocate for a while. What it keeps for its next
 * allocations, in all heaps, then serves other threads, or goes back when it is empty. Time linear
 * in the thread's pages with free blocks. A later allocation costs a little more, once. */
TARN_API void tarn_thread_idle(void);

/* Starts a thread of tarn's own that gives freed memory back in time (TARN_OPTIONS purge_delay_ms)
 * while the program sleeps. Without it, threads that allocate and free do this along the way. It is
 * what TARN_OPTIONS=background_purge=1 does, but at once. Any number of calls make one thread. The
 * thread blocks all signals, sleeps while nothing is free, and ends with the process or when the
 * library is closed. The child of a fork has its own, made when it allocates. Returns 0; or -1 with
 * errno when the OS refuses the thread: nothing has changed then, and a later call tries again. */
TARN_API int tarn_purge_in_background(void);

/* Opens a file descriptor on which poll(2) and its like report POLLPRI whenever threads of the
 * process's cgroup (of the machine where the cgroup does not say) have waited for memory for
 * stall_ms within window_ms milliseconds. This is Linux's pressure stall information; without
 * privileges the window must be a multiple of 2000. Close it with close(). Returns -1 with EINVAL
 * for 0, for a stall longer than the window or a window above 10,000, and with the errno of the
 * system where it does not offer this. */
TARN_API int tarn_pressure_open(unsigned stall_ms, unsigned window_ms);

/* Waits until such a descriptor is ready, and then trims all heaps. It is the body of a thread that
 * keeps a server small: `while (tarn_pressure_serve(fd, -1) >= 0);`. Where trimming gives less than
 * an eighth of what is committed, a recovery gives the rest (tarn/heap/recover.h). As long as
 * memory stays short, it is another eighth each time. Returns 1 when heaps were trimmed; 0 when
 * nothing happened within timeout_ms (-1: wait for ever); -1 with errno for a descriptor that
 * cannot be waited for, and with EINTR after a signal. */
TARN_API int tarn_pressure_serve(int descriptor, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
#endif
