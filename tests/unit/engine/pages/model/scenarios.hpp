// scenarios: the situations that the protocol is explored from, and programs for its actors.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "protocol.hpp"

namespace tarn::model {

// By hand: each is about one meeting of owner, remote frees, end, adoption.
const std::vector<Scenario>& scenarios();

// Made up: a few actions for each actor, every block freed at most once. The same for the same
// seed.
Scenario made_up_scenario(std::uint64_t seed);

}  // namespace tarn::model
