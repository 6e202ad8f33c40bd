// libfuzzer: the entry of a target under clang's libFuzzer.
//
// SPDX-License-Identifier: MIT
#include "input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tarn::fuzz::run(data, size);
  return 0;
}
