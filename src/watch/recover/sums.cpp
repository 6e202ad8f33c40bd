// sums: see sums.hpp.
//
// SPDX-License-Identifier: MIT
#include "watch/recover/sums.hpp"

namespace tarn {

constinit RecoverSums recover_sums;

}  // namespace tarn
