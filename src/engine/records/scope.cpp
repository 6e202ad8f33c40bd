// scope: see scope.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/scope.hpp"

namespace tarn {

__thread tarn_heap scoped_heap{};

}  // namespace tarn
