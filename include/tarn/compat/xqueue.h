// compat/xqueue.h: std::queue over a list, with blocks of xmalloc (stl_allocator.h; C++11).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XQUEUE_H
#define TARN_COMPAT_XQUEUE_H

#include "stl_allocator.h"
#if defined(TARN_LANGUAGE)

#include <list>
#include <queue>

template <class T, class Container = std::list<T, stl_allocator<T>>>
using xqueue = std::queue<T, Container>;

#endif
#endif
