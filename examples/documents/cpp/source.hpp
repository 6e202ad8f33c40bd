// source: the text of a file, as a node.
//
// SPDX-License-Identifier: MIT
#ifndef DOCUMENTS_SOURCE_HPP
#define DOCUMENTS_SOURCE_HPP

#include <string>
#include <string_view>

namespace documents {

// Below `parent`. Throws a Problem for what cannot be read, and for what is not UTF-8.
std::string_view read_source(void* parent, const std::string& path);

}  // namespace documents

#endif
