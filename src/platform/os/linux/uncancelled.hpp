// uncancelled: for calls that are cancellation points, such as open(), in functions that must be
// none, such as malloc.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

namespace tarn::os {

// No thread is cancelled within this.
class Uncancelled {
 public:
  Uncancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_ = 0;
};

}  // namespace tarn::os
