// construct: an object in memory that was allocated for it; where its constructor throws, the
// memory goes back.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_CONSTRUCT_HPP
#define TARN_CONSTRUCT_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <new>
#include <type_traits>
#include <utility>

namespace tarn {

// A T at p, made of the arguments; null for null. give_back(p) is called if the constructor throws.
template <class T, class GiveBack, class... Args>
T* construct_in(void* p, const GiveBack& give_back,
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
