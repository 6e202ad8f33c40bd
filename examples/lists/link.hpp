// link: what a list of strings is made of: links of one size, and texts of any size.
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
