// config: what the compiler and the processor are, and the attributes that the rooms use. No state.
//
// SPDX-License-Identifier: MIT
#pragma once

#define TARN_INLINE inline __attribute__((always_inline))
#define TARN_COLD __attribute__((noinline, cold))
#define TARN_NOINLINE __attribute__((noinline))
#define TARN_LIKELY(x) (__builtin_expect(static_cast<bool>(x), true))
#define TARN_UNLIKELY(x) (__builtin_expect(static_cast<bool>(x), false))
#define TARN_EXPORT __attribute__((visibility("default")))
#define TARN_INITIAL_EXEC __attribute__((tls_model("initial-exec")))

#if !defined(__linux__) || !defined(__LP64__)
#error "tarn: this release is for 64-bit Linux; a port is a folder under src/os"
#endif
