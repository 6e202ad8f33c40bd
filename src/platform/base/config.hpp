// config: what the compiler and the processor are, and the attributes that the rooms use. No state.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "tarn/detail/api.h"

#ifdef TARN_COVERAGE  // One set of branches for a function, not one for each place that calls it.
#define TARN_INLINE inline
#else
#define TARN_INLINE inline __attribute__((always_inline))
#endif
#define TARN_COLD __attribute__((noinline, cold))
#define TARN_NOINLINE __attribute__((noinline))
#define TARN_HIDDEN __attribute__((visibility("hidden")))
#define TARN_EXPORT __attribute__((visibility("default")))
#define TARN_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

// For functions that read memory which is not their own, or that interrupt any other.
#define TARN_UNSANITIZED __attribute__((no_sanitize("address", "thread", "undefined")))

// Between these two, ThreadSanitizer does not look at the thread's reads: all other threads stand
// still, which it does not know.
#ifdef __SANITIZE_THREAD__
#define TARN_TSAN true
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#define TARN_UNWATCHED_BEGIN() AnnotateIgnoreReadsBegin(__FILE__, __LINE__)
#define TARN_UNWATCHED_END() AnnotateIgnoreReadsEnd(__FILE__, __LINE__)
// A function that tests put another one in the place of (tests/support/explorer).
#define TARN_EXPLORED __attribute__((noipa))
#else
#define TARN_TSAN false
#define TARN_UNWATCHED_BEGIN() ((void)0)
#define TARN_UNWATCHED_END() ((void)0)
#define TARN_EXPLORED
#endif

// Orders the writes before it and after it as a fork sees them: the child of a fork repairs what
// the other threads left half-done. ThreadSanitizer knows no fences, and does not look at children.
#ifdef __SANITIZE_THREAD__
#define TARN_FORK_FENCE() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#else
#define TARN_FORK_FENCE() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

// How much of an address nodes of a tree have in common with those that they link
// (kinds/trees/node.hpp). Tests make it small.
#ifndef TARN_TREE_SLAB_BITS
#define TARN_TREE_SLAB_BITS 34
#endif
