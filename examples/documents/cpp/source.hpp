// source: the text of a file, as a node.
//
// SPDX-License-Identifier: MIT
#ifndef DOCUMENTS_SOURCE_HPP
#define DOCUMENTS_SOURCE_HPP

#include <string>
#include <string_view>

namespace documents {

// Reads a file into a node below `parent`. Throws a Problem for a file that cannot be read or is
// not UTF-8.
std::string_view read_source(void* parent, const std::string& path);

}  // namespace documents

#endif
