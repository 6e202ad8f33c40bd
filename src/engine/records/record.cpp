// record: see record.hpp.
//
// SPDX-License-Identifier: MIT
#include "engine/records/record.hpp"

namespace tarn {

constinit HeapRecord main_record{.id = main_heap_id, .young = false, .name = "malloc"};

}  // namespace tarn
