/* static_bits: which blocks of a static pool are live, one bit each, in words whose number is known
 * at compile time. C11 and C++17; no library, no OS. (Users: tarn/pool/static_pool.h and .hpp.)
 *
 *   bits   1111...1111  1100...0100  0000...0000   a bit for each block; a word has 32 or 64
 *   next                0            0             a list of the words that have free blocks:
 *   head   1                                       next[w] = (what follows w) - w - 1
 *
 * All zero is the initial state, so a pool may lie in .bss: then all words are listed in order. The
 * next block is the lowest free one of the first listed word. Pools of one word have no list.
 *
 * Taking and giving back come in two forms: plain, under whatever lock the caller has, and shared,
 * without locks, for threads and interrupt handlers at once.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_STATIC_BITS_H
#define TARN_STATIC_BITS_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "misuse_line.h"
#include "watch.h"

#ifdef __cplusplus
extern "C" {
#define TARN_STATIC_INLINE __attribute__((always_inline)) inline
#define TARN_STATIC_CONSTANT __attribute__((always_inline)) TARN_CONSTANT
#define TARN_STATIC_APART __attribute__((noinline, cold)) inline
#define TARN_STATIC_NOEXCEPT noexcept
#else
#define TARN_STATIC_INLINE __attribute__((always_inline, unused)) static inline
#define TARN_STATIC_CONSTANT TARN_STATIC_INLINE
#define TARN_STATIC_APART __attribute__((noinline, cold, unused)) static
#define TARN_STATIC_NOEXCEPT
#endif

#define TARN_STATIC_WORD_BITS (sizeof(size_t) * 8)

/* How many words hold one bit for each of `n` things. */
#define TARN_STATIC_BIT_WORDS(n) \
  ((size_t)(n) / TARN_STATIC_WORD_BITS + ((size_t)(n) % TARN_STATIC_WORD_BITS != 0 ? 1 : 0))

/* How many words a pool needs: the bits, and, if these take more than one word, the list (next and
 * head). */
#define TARN_STATIC_WORDS(blocks)                                     \
  (TARN_STATIC_BIT_WORDS(blocks) == 1 ? TARN_STATIC_BIT_WORDS(blocks) \
                                      : 2 * TARN_STATIC_BIT_WORDS(blocks) + 1)

#define TARN_STATIC_NONE (~(size_t)0)

/* The counts of a static pool. */
typedef struct tarn_static_counts {
  size_t in_use; /* Set bits; if shared, also blocks being taken or given. */
  size_t peak; /* The largest in_use so far. In the plain form no block from it on was ever used. */
  size_t failures; /* Requests that found no free block. */
} tarn_static_counts;

/* What a static pool has. */
typedef struct tarn_static_stats {
  size_t block_bytes; /* Bytes of one block. */
  size_t blocks;      /* How many blocks the pool has. */
  size_t in_use;      /* How many of them are live. */
  size_t peak;        /* The largest in_use so far. */
  size_t failures;    /* Requests that found no free block. */
} tarn_static_stats;

/* A function that the program may define. It is called for each free of a pointer that is no live
 * block, before anything has changed. kind: "double free", "invalid free" or, for TLSF heaps,
 * "overrun". pool: the pool or heap. p: what was to be freed. When it returns, that free has done
 * nothing and the program goes on. Without it a program with a C library prints a line about the
 * misuse on standard error and aborts, and in any other the processor traps. The thread or
 * interrupt handler that made the wrong call calls it, with no lock of the pool held. It must not
 * throw. Define it in an object file that is linked anyway: a weak reference fetches nothing out of
 * an archive. */
__attribute__((weak)) void tarn_static_misuse(const char* kind, const void* pool, const void* p);

TARN_STATIC_APART void tarn_static_report(const char* kind, const void* pool,
                                          const void* p) TARN_STATIC_NOEXCEPT {
  if (tarn_static_misuse == NULL) {
#if __STDC_HOSTED__ || TARN_WATCH
    tarn_misuse_end(kind, "deallocate", p, "no live block of this pool or heap");
#else
    __builtin_trap();
#endif
  }
  tarn_static_misuse(kind, pool, p);
}

/* The number of the lowest set bit. pre: word != 0 */
TARN_STATIC_INLINE size_t tarn_static_lowest(size_t word) {
  return (unsigned)(sizeof(size_t) == 8 ? __builtin_ctzll((unsigned long long)word)
                                        : __builtin_ctz((unsigned)word));
}
TARN_STATIC_INLINE size_t tarn_static_bit(size_t i) {
  return (size_t)1 << (i % TARN_STATIC_WORD_BITS);
}

/* Word `i` of `bits` bits when all of them are set. */
TARN_STATIC_INLINE size_t tarn_static_full(size_t i, size_t bits) {
  const size_t rest = bits % TARN_STATIC_WORD_BITS;
  return rest != 0 && i == bits / TARN_STATIC_WORD_BITS ? ((size_t)1 << rest) - 1 : ~(size_t)0;
}

/* Whether no block is free. If so, counts a failure. */
TARN_STATIC_INLINE int tarn_static_is_exhausted(tarn_static_counts* counts, size_t blocks) {
  if (TARN_LIKELY(counts->in_use != blocks)) return 0;
  ++counts->failures;
  return 1;
}

/* Takes a free block and returns its number. pre: not exhausted. words: TARN_STATIC_WORDS(blocks)
 * of them.
 *
 * A last word that does not use all its bits is never all ones. So it stays listed, behind all
 * others, since these are put in front of it. The list leads to it when all others are full, and
 * in_use says whether it is full too. */
TARN_STATIC_INLINE size_t tarn_static_take(size_t* words, tarn_static_counts* counts,
                                           size_t blocks) {
  const size_t bit_words = TARN_STATIC_BIT_WORDS(blocks);
  const size_t in_use = counts->in_use;
  const size_t w = bit_words > 1 ? words[2 * bit_words] : 0;
  const size_t word = words[w];
  const size_t after = word | (word + 1);
  words[w] = after;
  /* The longest path is marked likely, here and below: its time is the bound, so it has no
   * jumps. */
  if (bit_words > 1 && TARN_LIKELY(after == ~(size_t)0)) {
    words[2 * bit_words] = words[bit_words + w] + w + 1;
  }
  counts->in_use = in_use + 1;
  if (TARN_LIKELY(in_use >= counts->peak)) counts->peak = in_use + 1;
  return w * TARN_STATIC_WORD_BITS + tarn_static_lowest(~word);
}

/* Makes block `i` free. False, and nothing has changed, when it was not live. pre: i < blocks */
TARN_STATIC_INLINE int tarn_static_give(size_t* words, tarn_static_counts* counts, size_t blocks,
                                        size_t i) {
  const size_t bit_words = TARN_STATIC_BIT_WORDS(blocks);
  const size_t w = i / TARN_STATIC_WORD_BITS;
  const size_t word = words[w];
  const size_t after = word ^ tarn_static_bit(i);
  if (TARN_UNLIKELY(after > word)) return 0; /* The bit was clear already. */
  words[w] = after;
  if (bit_words > 1 && word == ~(size_t)0) {
    words[bit_words + w] = words[2 * bit_words] - w - 1;
    words[2 * bit_words] = w;
  }
  --counts->in_use;
  return 1;
}

TARN_STATIC_INLINE int tarn_static_is_live(const size_t* bits, size_t blocks, size_t i) {
  if (i >= blocks) return 0;
  const size_t word = __atomic_load_n(&bits[i / TARN_STATIC_WORD_BITS], __ATOMIC_RELAXED);
  return (word & tarn_static_bit(i)) != 0;
}

/* Tells tools that watch memory that the pool's blocks are closed. Nothing is closed before the
 * first block is taken: until then a pool of zero bytes is plain memory. pre: called before the
 * first block is taken */
TARN_STATIC_INLINE void tarn_static_watch_first(const tarn_static_counts* counts, const void* data,
                                                size_t bytes) {
  if (TARN_WATCH && counts->peak == 0) tarn_watch_close(data, bytes);
}
/* The same for shared pools, where blocks are closed one by one, since there is no moment at which
 * no thread has one yet. A block is closed by the thread that has it, so no other thread is
 * affected. */
TARN_STATIC_INLINE void tarn_static_watch_taken_shared(const void* p, size_t bytes, size_t stride) {
  if (!TARN_WATCH || !tarn_watch_is_apart(p, stride)) return;
  tarn_watch_open(p, bytes);
  if (tarn_watch_lasts(p)) tarn_watch_close((const unsigned char*)p + bytes, stride - bytes);
}
TARN_STATIC_INLINE void tarn_static_watch_giving_shared(const size_t* bits, size_t blocks, size_t i,
                                                        const void* p, size_t bytes,
                                                        size_t stride) {
  if (TARN_WATCH && tarn_watch_is_apart(p, stride) && tarn_static_is_live(bits, blocks, i)) {
    tarn_watch_freed(p, bytes);
  }
}

/* What follows works without locks. A word changes by compare-and-swap or a fetch-and-..., and
 * holds its whole state, so a value that comes back (ABA) means the same as before and needs no
 * tag. A thread that takes a block counts itself into `in_use` first, and one that gives a block
 * back counts itself out last, so a thread that is counted in always finds a clear bit. In place of
 * the list there are hints: bit w of the words behind the bits says that word w is full. The thread
 * that fills a word sets its hint, looks at the word again, and clears the hint when the word has a
 * free block by now. The thread that frees a block of a full word clears the hint afterwards. So
 * once all operations have ended, no word with a free block is called full. */

/* Word w was seen full. The read-modify-writes of the hint order this with the thread that gives a
 * block back. If that thread clears the hint first, the load below sees the bit that it had cleared
 * before (release there, acquire here). Otherwise it clears what is set here. */
TARN_STATIC_INLINE void tarn_static_hint_full(size_t* words, size_t bit_words, size_t w,
                                              size_t full) {
  size_t* const hint = words + bit_words + w / TARN_STATIC_WORD_BITS;
  __atomic_fetch_or(hint, tarn_static_bit(w), __ATOMIC_ACQ_REL);
  if (__atomic_load_n(&words[w], __ATOMIC_RELAXED) != full) {
    __atomic_fetch_and(hint, ~tarn_static_bit(w), __ATOMIC_ACQ_REL);
  }
}

/* Takes a block of word `w`; TARN_STATIC_NONE when it is full. The acquire makes visible what the
 * thread that gave the block back wrote before its release. */
TARN_STATIC_INLINE size_t tarn_static_take_in_word(size_t* words, size_t blocks, size_t w) {
  const size_t bit_words = TARN_STATIC_BIT_WORDS(blocks);
  const size_t full = tarn_static_full(w, blocks);
  size_t word = __atomic_load_n(&words[w], __ATOMIC_RELAXED);
  while (word != full) {
    const size_t b = tarn_static_lowest(~word);
    const size_t taken = word | tarn_static_bit(b);
    if (__atomic_compare_exchange_n(&words[w], &word, taken, 1, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      if (taken == full && bit_words > 1) tarn_static_hint_full(words, bit_words, w, full);
      return w * TARN_STATIC_WORD_BITS + b;
    }
  }
  if (bit_words > 1) tarn_static_hint_full(words, bit_words, w, full);
  return TARN_STATIC_NONE;
}

/* Counts the thread in; false when all blocks are in use. The acquire pairs with the release in
 * tarn_static_give_shared, which clears a bit before the count goes down: a thread that is counted
 * in sees the bit clear. */
TARN_STATIC_INLINE int tarn_static_count_in(tarn_static_counts* counts, size_t blocks) {
  size_t n = __atomic_load_n(&counts->in_use, __ATOMIC_RELAXED);
  do {
    if (TARN_UNLIKELY(n == blocks)) {
      __atomic_fetch_add(&counts->failures, 1, __ATOMIC_RELAXED);
      return 0;
    }
  } while (!__atomic_compare_exchange_n(&counts->in_use, &n, n + 1, 1, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED));
  size_t peak = __atomic_load_n(&counts->peak, __ATOMIC_RELAXED);
  while (peak <= n && !__atomic_compare_exchange_n(&counts->peak, &peak, n + 1, 1, __ATOMIC_RELAXED,
                                                   __ATOMIC_RELAXED)) {
  }
  return 1;
}

/* As tarn_static_take, for any number of threads and interrupt handlers. Lock-free: a handler never
 * waits, and an operation is retried only because another one has succeeded. */
TARN_STATIC_INLINE size_t tarn_static_take_shared(size_t* words, tarn_static_counts* counts,
                                                  size_t blocks) {
  const size_t bit_words = TARN_STATIC_BIT_WORDS(blocks);
  if (!tarn_static_count_in(counts, blocks)) return TARN_STATIC_NONE;
  for (;;) {
    for (size_t h = 0; bit_words > 1 && h < TARN_STATIC_BIT_WORDS(bit_words); ++h) {
      const size_t full = tarn_static_full(h, bit_words);
      size_t hints;
      while ((hints = __atomic_load_n(&words[bit_words + h], __ATOMIC_RELAXED)) != full) {
        const size_t w = h * TARN_STATIC_WORD_BITS + tarn_static_lowest(~hints);
        const size_t i = tarn_static_take_in_word(words, blocks, w);
        if (i != TARN_STATIC_NONE) return i;
      }
    }
    /* With one word there are no hints, and this is all. With several, the hints lag behind: some
     * thread is at work on one of them, and may go on only when this interrupt has ended. */
    for (size_t w = 0; w < bit_words; ++w) {
      const size_t i = tarn_static_take_in_word(words, blocks, w);
      if (i != TARN_STATIC_NONE) return i;
    }
  }
}

/* As tarn_static_give, for any number of threads and interrupt handlers. Of several frees of one
 * block, at once or not, exactly one succeeds. */
TARN_STATIC_INLINE int tarn_static_give_shared(size_t* words, tarn_static_counts* counts,
                                               size_t blocks, size_t i) {
  const size_t bit_words = TARN_STATIC_BIT_WORDS(blocks);
  const size_t w = i / TARN_STATIC_WORD_BITS;
  const size_t bit = tarn_static_bit(i);
  const size_t before = __atomic_fetch_and(&words[w], ~bit, __ATOMIC_RELEASE);
  if (TARN_UNLIKELY((before & bit) == 0)) return 0;
  if (bit_words > 1 && before == tarn_static_full(w, blocks)) {
    __atomic_fetch_and(&words[bit_words + w / TARN_STATIC_WORD_BITS], ~tarn_static_bit(w),
                       __ATOMIC_ACQ_REL);
  }
  __atomic_fetch_sub(&counts->in_use, 1, __ATOMIC_RELEASE);
  return 1;
}

/* Whether the list holds each word that is not all ones exactly once. */
TARN_STATIC_APART int tarn_static_check_list(const size_t* words, size_t bit_words) {
  size_t listed = 0, open = 0;
  for (size_t w = 0; w < bit_words; ++w) open += words[w] != ~(size_t)0;
  for (size_t w = words[2 * bit_words]; w != bit_words; w += words[bit_words + w] + 1) {
    if (w > bit_words || words[w] == ~(size_t)0 || ++listed > open) return 0;
  }
  return listed == open;
}

/* Whether the invariants at the head of this file hold, bits that stand for nothing are clear, and
 * the counts are those of the bits. Walks all words. In the shared form it is exact while no
 * operation is under way. */
TARN_STATIC_APART int tarn_static_check_bits(const size_t* words, const tarn_static_counts* counts,
                                             size_t blocks, int shared) {
  const size_t bit_words = TARN_STATIC_BIT_WORDS(blocks);
  size_t live = 0, end = 0;
  for (size_t i = 0; i < blocks; ++i) {
    if (!tarn_static_is_live(words, blocks, i)) continue;
    ++live;
    end = i + 1;
  }
  if (live != counts->in_use || live > counts->peak || counts->peak > blocks) return 0;
  for (size_t w = 0; w < bit_words; ++w) {
    const size_t full = tarn_static_full(w, blocks);
    if ((words[w] & ~full) != 0) return 0;
    if (!shared || bit_words == 1 || words[w] == full) continue;
    if ((words[bit_words + w / TARN_STATIC_WORD_BITS] & tarn_static_bit(w)) != 0) return 0;
  }
  if (shared) return 1;
  return end <= counts->peak && (bit_words == 1 || tarn_static_check_list(words, bit_words));
}

#ifdef __cplusplus
}
#endif

#endif
#endif
