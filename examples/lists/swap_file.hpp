// swap_file: swap space in a file during a limited run, for machines that have too little. It is
// switched off and deleted with the object.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace lists {

std::uint64_t swap_bytes_free();

class SwapFile {
 public:
  // Throws Lacking. Deletes files that earlier runs left in the folder when they were killed.
  SwapFile(const std::string& folder, std::uint64_t bytes);
  ~SwapFile();
  SwapFile(const SwapFile&) = delete;
  SwapFile& operator=(const SwapFile&) = delete;

 private:
  std::string path_;
};

}  // namespace lists
