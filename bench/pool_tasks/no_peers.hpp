// Without Boost and foonathan_memory: see peers.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <tuple>

namespace tarn {

using PeerContestants = std::tuple<>;

// For the objects of ends.cpp: there is no peer.
template <class T>
struct PeerObjects {
  static constexpr bool is_there = false;
};

}  // namespace tarn
