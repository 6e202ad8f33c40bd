// compat/xmap.h: std::map and std::multimap, with blocks of xmalloc (stl_allocator.h; C++11).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_COMPAT_XMAP_H
#define TARN_COMPAT_XMAP_H

#include "stl_allocator.h"
#if defined(TARN_LANGUAGE)

#include <functional>
#include <map>
#include <utility>

template <class Key, class T, class Less = std::less<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xmap = std::map<Key, T, Less, Alloc>;

template <class Key, class T, class Less = std::less<Key>,
          class Alloc = stl_allocator<std::pair<const Key, T>>>
using xmultimap = std::multimap<Key, T, Less, Alloc>;

#endif
#endif
