// swap_file: swap space for the time of a limited run, in a file, where the machine has too little.
// It is switched off and deleted with the object.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace lists {

std::uint64_t swap_bytes_free();

class SwapFile {
 public:
  // Throws Lacking. Takes away files that earlier runs, since killed, have left in the folder.
  SwapFile(const std::string& folder, std::uint64_t bytes);
  ~SwapFile();
  SwapFile(const SwapFile&) = delete;
  SwapFile& operator=(const SwapFile&) = delete;

 private:
  std::string path_;
};

}  // namespace lists
