// magazines: what a thread's magazines are before it has any.
//
// SPDX-License-Identifier: MIT
#include "engine/records/magazines.hpp"

namespace tarn {

constinit Block* const no_slots[2]{};

}  // namespace tarn
