// link: the parts of a list of strings: links of one size, and texts of any size.
//
// SPDX-License-Identifier: MIT
#pragma once

namespace lists {

struct Link {
  Link* next;
  Link* prev;
  char* text;
};

}  // namespace lists
