// compat/xlist.h: std::list, with blocks of xmalloc (stl_allocator.h; C++11).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XLIST_H
#define TARN_COMPAT_XLIST_H

#include "stl_allocator.h"
#if defined(TARN_LANGUAGE)

#include <list>

template <class T, class Alloc = stl_allocator<T>>
using xlist = std::list<T, Alloc>;

#endif
#endif
