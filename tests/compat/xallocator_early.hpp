// xallocator_early: a static object with blocks of xallocator.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <cstring>

#include "xallocator.h"

namespace early {

class Holder {
 public:
  explicit Holder(const char* words) : text_(static_cast<char*>(xmalloc(100))) {
    std::strcpy(text_, words);
  }
  ~Holder() {
    if (text_[0] == '\0') std::_Exit(3);
    text_ = static_cast<char*>(xrealloc(text_, 1000));
    xfree(text_);
    xfree(xmalloc(64));
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  const char* text() const { return text_; }

 private:
  char* text_;
};

Holder& of_a_function();
const Holder& first_holder();

}  // namespace early
