// tarn.hpp: the whole C++ interface (C++17; the last part C++20), and with it that of C. Each part
// may be included alone; a folder has the headers of one job. What is for one library or one source
// alone is apart: tarn/hooks/, tarn/compat/.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_TARN_HPP
#define TARN_TARN_HPP

#include "detail/language.h"
#if defined(TARN_LANGUAGE)

#include "arena/arena.hpp"
#include "arena/scratch.hpp"
#include "arena/shared_arena.hpp"
#include "diagnose/unreachable.hpp"
#include "heap/heap.hpp"
#include "heap/heap_source.hpp"
#include "heap/malloc_table.hpp"
#include "heap/recover.hpp"
#include "heap/tlsf.hpp"
#include "heap/unalloc.hpp"
#include "pool/array_pool.hpp"
#include "pool/class_pools.hpp"
#include "pool/fixed_allocator.hpp"
#include "pool/object_cache.hpp"
#include "pool/pool.hpp"
#include "pool/region_array_pool.hpp"
#include "pool/shared_array_pool.hpp"
#include "pool/static_heap.hpp"
#include "pool/static_pool.hpp"
#include "source/buffer_source.hpp"
#include "source/file_source.hpp"
#include "source/mode.hpp"
#include "source/os_source.hpp"
#include "source/source.hpp"
#include "standard/allocator.hpp"
#include "standard/array_allocator.hpp"
#include "standard/checking_resource.hpp"
#include "standard/class_new.hpp"
#include "standard/containers.hpp"
#include "standard/offset_allocator.hpp"
#include "standard/owners.hpp"
#include "standard/pmr.hpp"
#include "tarn.h"
#include "tree/tree.hpp"
#include "tree/tree_report.hpp"

#if __cplusplus >= 202002L
#include "source/adaptors.hpp"
#include "source/concepts.hpp"
#include "standard/coroutine.hpp"
#endif

#endif
#endif
