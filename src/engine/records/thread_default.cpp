// thread_default: see thread_default.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/thread_default.hpp"

namespace tarn {

__thread tarn_heap default_heap{};
constinit std::atomic<HeapRecord*> process_heap{nullptr};

}  // namespace tarn
