// misuse.hpp: has the program told of misuse of memory before the process ends, in C++ (C++17).
// Header only over tarn/diagnose/misuse.h, which says what may be done then.
//
//   tarn::on_misuse<log_misuse>();            // void log_misuse(const tarn_misuse&) noexcept
//   tarn::on_misuse<&Log::misuse>(log);       // of an object, which must outlive the last misuse
//   tarn::on_no_misuse();                     // the program's function is called no more
//
// SPDX-License-Identifier: MIT
#ifndef TARN_MISUSE_HPP
#define TARN_MISUSE_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <functional>
#include <type_traits>

#include "misuse.h"

namespace tarn {

// `function` is called with the misuse; it must not throw.
template <auto function>
void on_misuse() noexcept {
  static_assert(std::is_nothrow_invocable_v<decltype(function), const tarn_misuse&>,
                "a function that takes const tarn_misuse& and is noexcept");
  tarn_on_misuse([](const tarn_misuse* misuse, void*) { std::invoke(function, *misuse); }, nullptr);
}

// Likewise, with an object: a member function, or a function that takes the object first.
template <auto function, class Object>
void on_misuse(Object& object) noexcept {
  static_assert(std::is_nothrow_invocable_v<decltype(function), Object&, const tarn_misuse&>,
                "a function that takes the object and const tarn_misuse&, and is noexcept");
  tarn_on_misuse(
      [](const tarn_misuse* misuse, void* context) {
        std::invoke(function, *static_cast<Object*>(context), *misuse);
      },
      const_cast<std::remove_const_t<Object>*>(&object));
}

inline void on_no_misuse() noexcept { tarn_on_misuse(nullptr, nullptr); }

}  // namespace tarn

#endif
#endif
