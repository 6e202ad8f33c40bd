// No peers, where libtalloc-dev is not installed.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

namespace tarn {

using Peers = std::tuple<>;

}  // namespace tarn
