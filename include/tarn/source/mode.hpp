// mode.hpp: how strictly a heap, a pool or an arena checks the use of its blocks, in C++ (C++17).
// tarn/source/mode.h says what the modes are.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_MODE_HPP
#define TARN_MODE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include "mode.h"

namespace tarn {

enum class Mode : unsigned char {
  fast = TARN_MODE_FAST,
  checked = TARN_MODE_CHECKED,
  guarded = TARN_MODE_GUARDED,
  passthrough = TARN_MODE_PASSTHROUGH,
  hardened = TARN_MODE_HARDENED,
};

}  // namespace tarn

#endif
#endif
