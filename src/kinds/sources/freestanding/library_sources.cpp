// sources without an OS: there are none but those that the program has.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/source.h"

extern "C" {

tarn_source tarn_source_default(void) { return {}; }
tarn_source tarn_source_malloc(void) { return {}; }
tarn_source tarn_source_guarded(void) { return {}; }

}  // extern "C"
