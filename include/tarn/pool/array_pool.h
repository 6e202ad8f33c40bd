/* array_pool: pools whose free list lies apart from the blocks, over memory that is given at run
 * time, in C. (C++, and fixed at compile time: tarn/pool/array_pool.hpp.)
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_ARRAY_POOL_H
#define TARN_ARRAY_POOL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "region_array_pool.h" /* One user at a time: tarn_array_pool_... */
#include "shared_array_pool.h" /* Processes and threads: tarn_shared_array_pool_... */

#endif
#endif
