// heaps: tables over malloc's heap and others and over xmalloc, whose blocks need nothing in front,
// and over trees; and chunks from a table. See tarn/heap/malloc_table.h.
//
// SPDX-License-Identifier: MIT
#include <cerrno>

#include "platform/base/bits.hpp"
#include "platform/report/options.hpp"
#include "tarn/heap/malloc.h"
#include "tarn/heap/malloc_table.h"
#include "tarn/pool/xalloc.h"
#include "tarn/tree/tree.h"

namespace tarn {

namespace {

std::size_t usable_size(void*, const void* p) noexcept { return tarn_malloc_usable_size(p); }

tarn_malloc_table empty_table(const void* context) noexcept {
  tarn_malloc_table made = TARN_MALLOC_TABLE_FIELDS();
  made.context = const_cast<void*>(context);
  return made;
}

void* copy_to_other(void* parent, void* node, std::size_t bytes) noexcept {
  void* const other = tarn_tree_allocate(parent, bytes);
  if (other == nullptr) return nullptr;
  const std::size_t had = tarn_tree_size(node);
  __builtin_memcpy(other, node, had < bytes ? had : bytes);
  tarn_tree_dispose(node);
  return other;
}

// Nodes that are aligned to more than 16 have a place for a destructor, and are never reallocated
// where they are.
void* resize_node(void* parent, void* node, std::size_t bytes) noexcept {
  const int saved = errno;
  void* const moved = tarn_tree_reallocate(node, bytes);
  if (moved != nullptr || errno != EINVAL) return moved;
  errno = saved;
  return copy_to_other(parent, node, bytes);
}

// Chunks of a table that has no say about alignment, with the block's address in front.
void* align_inside(void* block, std::size_t alignment) noexcept {
  const std::size_t least = alignof(std::max_align_t);
  const std::size_t wanted = alignment < least ? least : alignment;
  char* const start = static_cast<char*>(block) + sizeof(void*);
  char* const data = start + ((0 - address_of(start)) & (wanted - 1));
  reinterpret_cast<void**>(data)[-1] = block;
  return data;
}

tarn_chunk chunk_of(const tarn_malloc_table& table, std::size_t bytes,
                    std::size_t alignment) noexcept {
  constexpr std::size_t most = PTRDIFF_MAX / 2;
  if (bytes > most || alignment > most || !is_power_of_two(alignment)) return {};
  if (table.allocate_aligned != nullptr) {
    void* const data = table.allocate_aligned(table.context, alignment, bytes);
    return {data, data == nullptr ? 0 : bytes};
  }
  const std::size_t beside = sizeof(void*) + (alignment <= 16 ? sizeof(void*) : alignment);
  void* const block = table.allocate(table.context, bytes + beside);
  if (block == nullptr) return {};
  return {align_inside(block, alignment), bytes};
}

}  // namespace

}  // namespace tarn

using namespace tarn;

extern "C" {

tarn_malloc_table tarn_malloc_table_default(void) {
  tarn_malloc_table made = empty_table(nullptr);
  made.allocate = [](void*, std::size_t bytes) { return tarn_malloc(bytes); };
  made.allocate_zeroed = [](void*, std::size_t count, std::size_t bytes) {
    return tarn_calloc(count, bytes);
  };
  made.allocate_aligned = [](void*, std::size_t alignment, std::size_t bytes) {
    return tarn_aligned_alloc(alignment, bytes);
  };
  made.reallocate = [](void*, void* p, std::size_t bytes) { return tarn_realloc(p, bytes); };
  made.deallocate = [](void*, void* p) { tarn_free(p); };
  made.usable_size = usable_size;
  return made;
}

tarn_malloc_table tarn_heap_malloc_table(const tarn_heap* heap) {
  if (heap == nullptr) return {};
  tarn_malloc_table made = empty_table(heap);
  made.allocate = [](void* self, std::size_t bytes) {
    return tarn_heap_allocate(*static_cast<const tarn_heap*>(self), bytes);
  };
  made.allocate_zeroed = [](void* self, std::size_t count, std::size_t bytes) {
    return tarn_heap_allocate_zeroed(*static_cast<const tarn_heap*>(self), count, bytes);
  };
  made.allocate_aligned = [](void* self, std::size_t alignment, std::size_t bytes) {
    return tarn_heap_allocate_aligned(*static_cast<const tarn_heap*>(self), alignment, bytes);
  };
  made.reallocate = [](void* self, void* p, std::size_t bytes) {
    return tarn_heap_reallocate(*static_cast<const tarn_heap*>(self), p, bytes);
  };
  made.deallocate = [](void*, void* p) { tarn_heap_deallocate(p); };
  made.usable_size = usable_size;
  return made;
}

tarn_malloc_table tarn_tree_malloc_table(void* node) {
  tarn_malloc_table made = empty_table(node);
  made.allocate = [](void* parent, std::size_t bytes) { return tarn_tree_allocate(parent, bytes); };
  made.allocate_zeroed = [](void* parent, std::size_t count, std::size_t bytes) {
    return tarn_tree_allocate_zeroed(parent, count, bytes);
  };
  made.allocate_aligned = [](void* parent, std::size_t alignment, std::size_t bytes) {
    return tarn_tree_allocate_aligned(parent, alignment, bytes);
  };
  made.reallocate = [](void* parent, void* p, std::size_t bytes) -> void* {
    if (p == nullptr) return tarn_tree_allocate(parent, bytes);
    if (bytes != 0) return resize_node(parent, p, bytes);
    tarn_tree_dispose(p);
    return nullptr;
  };
  made.deallocate = [](void*, void* p) {
    const int saved = errno;
    tarn_tree_dispose(p);
    errno = saved;
  };
  made.usable_size = [](void*, const void* p) { return tarn_tree_size(p); };
  return made;
}

tarn_source tarn_malloc_table_source(const tarn_malloc_table* table) {
  tarn_source made = TARN_SOURCE();
  if (table == nullptr ||
      !is_sized(*table, "tarn_malloc_table_source", "TARN_MALLOC_TABLE_FIELDS") ||
      table->allocate == nullptr || table->deallocate == nullptr) {
    return made;
  }
  made.acquire = [](void* self, std::size_t bytes, std::size_t alignment) {
    return chunk_of(*static_cast<const tarn_malloc_table*>(self), bytes, alignment);
  };
  made.release = [](void* self, tarn_chunk chunk) {
    if (chunk.data == nullptr) return;
    const auto& known = *static_cast<const tarn_malloc_table*>(self);
    void* const block =
        known.allocate_aligned != nullptr ? chunk.data : static_cast<void**>(chunk.data)[-1];
    known.deallocate(known.context, block);
  };
  made.context = const_cast<tarn_malloc_table*>(table);
  return made;
}

tarn_malloc_table tarn_xalloc_malloc_table(void) {
  tarn_malloc_table made = TARN_MALLOC_TABLE_FIELDS();
  made.allocate = [](void*, std::size_t bytes) { return tarn_xmalloc(bytes); };
  made.allocate_zeroed = [](void*, std::size_t count, std::size_t bytes) {
    return tarn_xcalloc(count, bytes);
  };
  made.allocate_aligned = [](void*, std::size_t alignment, std::size_t bytes) {
    return tarn_xmalloc_aligned(alignment, bytes);
  };
  made.reallocate = [](void*, void* p, std::size_t bytes) { return tarn_xrealloc(p, bytes); };
  made.deallocate = [](void*, void* p) { tarn_xfree(p); };
  made.usable_size = [](void*, const void* p) { return tarn_xalloc_usable_bytes(p); };
  return made;
}

}  // extern "C"
