// library_sources without an OS: the library provides none, and the program has to bring its own.
//
// SPDX-License-Identifier: MIT
#include "tarn/source/source.h"

extern "C" {

tarn_source tarn_source_default(void) { return {}; }
tarn_source tarn_source_malloc(void) { return {}; }
tarn_source tarn_source_guarded(void) { return {}; }

}  // extern "C"
