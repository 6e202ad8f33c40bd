// errors: what the C++ interface throws where there are exceptions. All files of a program that use
// it must be compiled with or without -fno-exceptions alike, because they share its inline
// functions.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_ERRORS_HPP
#define TARN_ERRORS_HPP

#include "language.h"
#if defined(TARN_LANGUAGE)

#include <exception>
#include <new>

namespace tarn {

// Thrown for options that make no sense. what() says which.
class InvalidOptions : public std::exception {
 public:
  explicit InvalidOptions(const char* text) noexcept : text_(text) {}
  const char* what() const noexcept override { return text_; }

 private:
  const char* text_;  // A string literal.
};

// Throws an Exception, for callers that cannot handle null. Without exceptions it ends the program.
template <class Exception>
[[noreturn]] void throw_or_trap() {
#if defined(__cpp_exceptions)
  throw Exception();
#else
  __builtin_trap();
#endif
}

// Returns the pointer; throws std::bad_alloc for null where there are exceptions.
inline void* or_bad_alloc(void* p) {
#if defined(__cpp_exceptions)
  if (p == nullptr) throw std::bad_alloc();
#endif
  return p;
}
template <class T>
T* or_bad_alloc(T* p) {
  or_bad_alloc(static_cast<void*>(p));
  return p;
}

}  // namespace tarn

#endif
#endif
