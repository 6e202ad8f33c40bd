// check: the two ways a room states what must hold. TARN_ASSERT is for debug builds, TARN_CHECK is
// always on and stands where going on would corrupt memory. Neither allocates.
//
// SPDX-License-Identifier: MIT
#pragma once

namespace tarn {

// Written by the report room: prints "tarn: internal error: ..." and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace tarn

#define TARN_CHECK(condition)                                                               \
  (__builtin_expect(!(condition), 0) ? ::tarn::check_failed(#condition, __FILE__, __LINE__) \
                                     : (void)0)

#ifdef TARN_DEBUG
#define TARN_ASSERT(condition) TARN_CHECK(condition)
#else
#define TARN_ASSERT(condition) ((void)sizeof(!(condition)))
#endif
