// Static objects of two files that use xallocator from their constructors and destructors, in
// either order, with the object of AUTOMATIC_XALLOCATOR_INIT_DESTROY.
//
// SPDX-License-Identifier: MIT
#define AUTOMATIC_XALLOCATOR_INIT_DESTROY
#include "xallocator_early.hpp"

namespace early {

Holder& of_a_function() {
  static Holder holder("of a function");
  return holder;
}

namespace {
Holder first("first");
}  // namespace

const Holder& first_holder() { return first; }

}  // namespace early
