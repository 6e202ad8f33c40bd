// compat/xmake_shared.h: std::make_shared, with blocks of xmalloc (stl_allocator.h; C++11).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XMAKE_SHARED_H
#define TARN_COMPAT_XMAKE_SHARED_H

#include "stl_allocator.h"
#if defined(TARN_LANGUAGE)

#include <memory>
#include <utility>

// The object and its counts lie in one block.
template <class T, class... Arguments>
std::shared_ptr<T> xmake_shared(Arguments&&... arguments) {
  return std::allocate_shared<T>(stl_allocator<T>(), std::forward<Arguments>(arguments)...);
}

#endif
#endif
