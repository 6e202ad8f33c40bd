// damage: tests of a check() that must find what is wrong, wherever it is.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace tarn {

class DamageTest : public testing::Test {
 protected:
  virtual bool check() const = 0;

  // Found while the field has another value, and only then.
  template <class T>
  void expect_found(T& field, std::type_identity_t<T> wrong, const char* what) {
    EXPECT_TRUE(check()) << what;
    const T right = std::exchange(field, wrong);
    EXPECT_FALSE(check()) << what;
    field = right;
    EXPECT_TRUE(check()) << what;
  }
};

}  // namespace tarn
