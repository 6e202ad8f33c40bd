// containers.hpp: the standard's containers in a heap, pool or arena of tarn's (C++17; header
// only).
//
//   tarn::Heap heap("orders");
//   tarn::Map<int, tarn::String<>> names(heap);
//   tarn::Vector<int, tarn::ArenaRef> numbers(arena);
//
// A is where they take memory from (tarn/standard/allocator.hpp): a heap unless another one is
// named. A container is made by naming it; its elements do not get it by themselves
// (std::scoped_allocator_adaptor does that).
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CONTAINERS_HPP
#define TARN_CONTAINERS_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <deque>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "allocator.hpp"

namespace tarn {

template <class T, class A = HeapRef>
using Vector = std::vector<T, Allocator<T, A>>;
template <class T, class A = HeapRef>
using Deque = std::deque<T, Allocator<T, A>>;
template <class T, class A = HeapRef>
using List = std::list<T, Allocator<T, A>>;
template <class T, class A = HeapRef>
using ForwardList = std::forward_list<T, Allocator<T, A>>;

template <class Key, class A = HeapRef, class Compare = std::less<Key>>
using Set = std::set<Key, Compare, Allocator<Key, A>>;
template <class Key, class A = HeapRef, class Compare = std::less<Key>>
using MultiSet = std::multiset<Key, Compare, Allocator<Key, A>>;
template <class Key, class T, class A = HeapRef, class Compare = std::less<Key>>
using Map = std::map<Key, T, Compare, Allocator<std::pair<const Key, T>, A>>;
template <class Key, class T, class A = HeapRef, class Compare = std::less<Key>>
using MultiMap = std::multimap<Key, T, Compare, Allocator<std::pair<const Key, T>, A>>;

template <class Key, class A = HeapRef, class Hash = std::hash<Key>,
          class Equal = std::equal_to<Key>>
using UnorderedSet = std::unordered_set<Key, Hash, Equal, Allocator<Key, A>>;
template <class Key, class A = HeapRef, class Hash = std::hash<Key>,
          class Equal = std::equal_to<Key>>
using UnorderedMultiSet = std::unordered_multiset<Key, Hash, Equal, Allocator<Key, A>>;
template <class Key, class T, class A = HeapRef, class Hash = std::hash<Key>,
          class Equal = std::equal_to<Key>>
using UnorderedMap = std::unordered_map<Key, T, Hash, Equal, Allocator<std::pair<const Key, T>, A>>;
template <class Key, class T, class A = HeapRef, class Hash = std::hash<Key>,
          class Equal = std::equal_to<Key>>
using UnorderedMultiMap =
    std::unordered_multimap<Key, T, Hash, Equal, Allocator<std::pair<const Key, T>, A>>;

template <class Char, class A = HeapRef, class Traits = std::char_traits<Char>>
using BasicString = std::basic_string<Char, Traits, Allocator<Char, A>>;
template <class A = HeapRef>
using String = BasicString<char, A>;
template <class A = HeapRef>
using WideString = BasicString<wchar_t, A>;

}  // namespace tarn

#endif
#endif
