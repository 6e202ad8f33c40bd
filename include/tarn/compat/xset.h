// compat/xset.h: std::set and std::multiset, with blocks of xmalloc (stl_allocator.h; C++11).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XSET_H
#define TARN_COMPAT_XSET_H

#include "stl_allocator.h"
#if defined(TARN_LANGUAGE)

#include <functional>
#include <set>

template <class Key, class Less = std::less<Key>, class Alloc = stl_allocator<Key>>
using xset = std::set<Key, Less, Alloc>;

template <class Key, class Less = std::less<Key>, class Alloc = stl_allocator<Key>>
using xmultiset = std::multiset<Key, Less, Alloc>;

#endif
#endif
