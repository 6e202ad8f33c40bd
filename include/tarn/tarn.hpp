// tarn.hpp: the whole C++ interface (C++17; the last group of headers needs C++20). It includes the
// C interface as well. Each header can also be included by itself; a folder holds the headers for
// one job. Headers that serve one particular library or one older interface are not included here:
// see tarn/hooks/ and tarn/compat/.
//
// SPDX-License-Identifier: MIT
#ifndef TARN_TARN_HPP
#define TARN_TARN_HPP

#include "detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include "arena/arena.hpp"
#include "arena/scratch.hpp"
#include "arena/shared_arena.hpp"
#include "diagnose/misuse.hpp"
#include "diagnose/unreachable.hpp"
#include "heap/heap.hpp"
#include "heap/heap_source.hpp"
#include "heap/malloc_table.hpp"
#include "heap/recover.hpp"
#include "heap/tlsf.hpp"
#include "heap/unalloc.hpp"
#include "pool/array_pool.hpp"
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
