// construct: makes an object in memory that was allocated for it, and gives the memory back when
// the constructor throws.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CONSTRUCT_HPP
#define TARN_CONSTRUCT_HPP

#include "language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <new>
#include <type_traits>
#include <utility>

#include "api.h"

namespace tarn {

// Makes a T at p from the arguments. Null for a null p. Calls give_back(p) if the constructor
// throws.
template <class T, class GiveBack, class... Args>
TARN_NOTES_CALLER inline T* construct_in(
    void* p, const GiveBack& give_back,
    Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args&&...>) {
  if (p == nullptr) return nullptr;
  if constexpr (std::is_nothrow_constructible_v<T, Args&&...>) {
    return ::new (p) T(std::forward<Args>(args)...);
  } else {
    struct Unfinished {
      void* p;
      const GiveBack& give_back;
      ~Unfinished() {
        if (p != nullptr) give_back(p);
      }
    } unfinished{p, give_back};
    T* const object = ::new (p) T(std::forward<Args>(args)...);
    unfinished.p = nullptr;
    return object;
  }
}

}  // namespace tarn

#endif
#endif
