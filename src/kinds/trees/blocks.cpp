// blocks: see blocks.hpp.
//
// SPDX-License-Identifier: MIT
#include "kinds/trees/blocks.hpp"

#include "heaps/blocks/allocate.hpp"
#include "heaps/blocks/lookup.hpp"
#include "heaps/operations/life.hpp"
#include "kinds/arenas/chunk.hpp"
#include "malloc/blocks/allocate.hpp"
#include "malloc/blocks/free.hpp"
#include "malloc/blocks/resize.hpp"

namespace tarn {

namespace {

// One or two words lie in front of a node in an arena.
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t front_bytes = word_bytes + sizeof(TreeNode);
constexpr std::size_t large_front_bytes = 2 * word_bytes + sizeof(TreeNode);
constexpr std::size_t compact_bytes_max = 4096;  // Of a node with its front.

void set_front(TreeNode* node, const TreeDomain& domain, std::size_t compact_bytes) noexcept {
  const std::uint64_t units = compact_bytes / tree_grain;
  TARN_ASSERT(units <= units_mask);
  words_of(node)[-1] = std::uint64_t{address_of(&domain)} / tree_grain << units_bits | units;
  TARN_ASSERT(domain_of_arena_node(node) == &domain && compact_bytes_of(node) == compact_bytes);
}

// What lies in front of a compact node's bytes; a node that is apart has a word more.
std::size_t compact_front_of(const TreeNode* node) noexcept {
  return has(node, node_is_apart) ? large_front_bytes : front_bytes;
}

// A node has to lie at a multiple of 16. So the block of a node with one word in front begins at an
// odd multiple of 8, and that of a node with two words (one that is apart) at an even multiple.
TreeNode* place_compact(TreeDomain& domain, std::size_t total, bool is_apart) noexcept {
  tarn_arena& arena = domain.arena;
  const std::size_t odd = is_apart ? 0 : word_bytes;
  const std::size_t skip = (address_of(arena.cursor) ^ odd) & word_bytes;
  char* at = nullptr;
  if (TARN_LIKELY(skip + total <= distance(arena.cursor, arena.end))) {
    at = static_cast<char*>(tarn_arena_allocate_aligned(&arena, skip + total, word_bytes)) + skip;
  } else {
    at = static_cast<char*>(tarn_arena_allocate(&arena, word_bytes + total));
    if (at == nullptr) return nullptr;
    at += odd;
  }
  at += is_apart ? 2 * word_bytes : word_bytes;
  TreeNode* const node = begin_node(at, memory_of_arena);
  TARN_ASSERT(is_aligned(node, tree_grain) && total <= compact_bytes_max);
  set_front(node, domain, total);
  return node;
}

// The block has what alignment takes (`ahead`), two words, the node, and its bytes, in this order.
TreeNode* place_large(TreeDomain& domain, std::size_t bytes, std::size_t alignment,
                      std::size_t ahead) noexcept {
  const std::size_t total = ahead + large_front_bytes + bytes;
  char* const at = static_cast<char*>(tarn_arena_allocate_aligned(&domain.arena, total, alignment));
  if (at == nullptr) return nullptr;
  TreeNode* const node = begin_node(at + ahead + 2 * word_bytes, memory_of_arena);
  set_front(node, domain, 0);
  words_of(node)[-2] = total - ahead;
  TARN_ASSERT(is_aligned(bytes_of(node), alignment));
  return node;
}

// domain: null or that of a heap
void* allocate_aligned_in(TreeDomain* domain, std::size_t bytes, std::size_t alignment) noexcept {
  if (domain != nullptr) {
    if (alignment <= block_align) {
      return heap_allocate(domain->heap, bytes, "tarn_tree_allocate_object");
    }
    return heap_allocate_slow(domain->heap, {.bytes = bytes,
                                             .alignment = alignment,
                                             .function = "tarn_tree_allocate_aligned",
                                             .site = __builtin_return_address(0)});
  }
  return alignment <= block_align ? allocate(bytes) : allocate_aligned(bytes, alignment);
}

// Frees the domain if it has ended and its last node has gone.
void settle(TreeDomain* domain) noexcept {
  if (!domain->has_ended || domain->outside != 0) return;
  TARN_ASSERT(domain->asking == 0 && domain->guests == 0 && domain->extras == nullptr);
  if (domain->is_of_arena) {
    tarn_arena_destroy(&domain->arena);
  } else if (!heap_clear(domain->heap, true, "tarn_tree_dispose")) {
    return;
  }
  deallocate(domain);
}

}  // namespace

TreeNode* place_in(TreeDomain& domain, std::size_t bytes) noexcept {
  if (!domain.is_of_arena) {
    void* const block = heap_allocate(domain.heap, sizeof(TreeNode) + bytes, "tarn_tree_allocate");
    return block == nullptr ? nullptr : begin_node(block, memory_of_heap);
  }
  const std::size_t total = align_up(bytes + front_bytes, tree_grain);
  if (TARN_LIKELY(domain.is_compact && total <= compact_bytes_max)) {
    return place_compact(domain, total, false);
  }
  return place_large(domain, bytes, tree_grain, 0);
}

namespace {

TreeNode* place_apart_in_arena(TreeDomain& domain, std::size_t bytes,
                               std::size_t alignment) noexcept {
  const std::size_t total = align_up(bytes + large_front_bytes, tree_grain);
  if (domain.is_compact && alignment == tree_grain && total <= compact_bytes_max) {
    return place_compact(domain, total, true);
  }
  const std::size_t front = align_up(large_front_bytes + 2 * word_bytes, alignment);
  const std::size_t ahead = front - large_front_bytes;
  TreeNode* const node = place_large(domain, bytes, alignment, ahead);
  if (node != nullptr) {
    words_of(node)[-4] = address_of(node) - 2 * word_bytes - ahead;
  }
  return node;
}

TreeNode* place_apart_in_heap(TreeDomain* domain, std::size_t bytes,
                              std::size_t alignment) noexcept {
  const std::size_t front = align_up(sizeof(TreeNode) + 2 * word_bytes, alignment);
  void* const block = allocate_aligned_in(domain, front + bytes, alignment);
  if (block == nullptr) return nullptr;
  TreeNode* const node = begin_node(static_cast<char*>(block) + front - sizeof(TreeNode),
                                    domain == nullptr ? memory_of_malloc : memory_of_heap);
  words_of(node)[-1] = address_of(block);
  TARN_ASSERT(is_aligned(bytes_of(node), alignment));
  return node;
}

}  // namespace

TreeNode* place_apart_below(const TreeNode* parent, std::size_t bytes,
                            std::size_t alignment) noexcept {
  TARN_ASSERT(alignment >= tree_grain);
  TreeDomain* const domain = domain_below(parent);
  TreeNode* const node = domain != nullptr && domain->is_of_arena
                             ? place_apart_in_arena(*domain, bytes, alignment)
                             : place_apart_in_heap(domain, bytes, alignment);
  if (node == nullptr) return nullptr;
  set(node, node_is_apart, true);
  *place_of_destructor(node) = nullptr;
  TARN_ASSERT(room_of(node, "tarn_tree_allocate_object") >= bytes);
  return node;
}

TreeNode* place_beside(TreeNode* kin, std::size_t bytes) noexcept {
  if (memory_of(kin) == memory_of_arena) return place_in(*domain_of_arena_node(kin), bytes);
  const std::size_t total = sizeof(TreeNode) + bytes;
  void* const block = heap_allocate(heap_of(kin), total, "tarn_tree_reallocate");
  return block == nullptr ? nullptr : begin_node(block, memory_of(kin));
}

namespace {

// pre: the domain is the node's
void give_block_to(TreeDomain* domain, TreeNode* node) noexcept {
  if (memory_of(node) == memory_of_heap) {
    mark_gone(node);
    deallocate(block_of(node));
  } else {
    const std::size_t compact = compact_bytes_of(node);
    const std::size_t ahead = bytes_before(node);
    const std::size_t total = compact != 0 ? compact : words_of(node)[-2] + ahead - 2 * word_bytes;
    TARN_ASSERT(ahead >= word_bytes && total > ahead);
    mark_gone(node);
    tarn_arena_deallocate(&domain->arena, reinterpret_cast<char*>(node) - ahead, total);
  }
  settle(domain);
}

}  // namespace

void give_block(TreeNode* node) noexcept {
  TARN_ASSERT(!has_gone(node));
  if (TARN_LIKELY(is_of_malloc(node))) {
    mark_gone(node);
    return deallocate(block_of(node));
  }
  give_block_to(domain_of(node), node);
}

void give_block_from_below(const TreeNode* parent, TreeNode* node) noexcept {
  TreeDomain* const below = domain_below(parent);
  TreeDomain* const own = is_of_malloc(node) ? nullptr : domain_of(node);
  count_edge_between(below, own, -1);
  return own == nullptr ? give_block(node) : give_block_to(own, node);
}

std::size_t room_of(const TreeNode* node, const char* function) noexcept {
  if (memory_of(node) == memory_of_arena) {
    const std::size_t compact = compact_bytes_of(node);
    return compact != 0 ? compact - compact_front_of(node) : words_of(node)[-2] - large_front_bytes;
  }
  const void* const block = block_of(node);
  return usable_bytes(block, function) - (address_of(node + 1) - address_of(block));
}

std::size_t bytes_before(const TreeNode* node) noexcept {
  if (memory_of(node) == memory_of_arena) {
    if (compact_bytes_of(node) != 0) return compact_front_of(node) - sizeof(TreeNode);
    return has(node, node_is_apart) ? address_of(node) - words_of(node)[-4] : 2 * word_bytes;
  }
  return address_of(node) - address_of(block_of(node));
}

bool expand_in_place(TreeNode* node, std::size_t bytes) noexcept {
  if (memory_of(node) != memory_of_arena) {
    return keeps_place(usable_bytes(node, "tarn_tree_reallocate"), sizeof(TreeNode) + bytes);
  }
  if (bytes <= room_of(node, "tarn_tree_reallocate")) return true;
  TreeDomain& domain = *domain_of_arena_node(node);
  const std::size_t compact = compact_bytes_of(node);
  if (compact != 0) {
    const std::size_t total = align_up(bytes + front_bytes, tree_grain);
    if (total > compact_bytes_max ||
        tarn_arena_try_expand(&domain.arena, words_of(node) - 1, compact, total) == 0) {
      return false;
    }
    TARN_ASSERT(total > compact);
    set_front(node, domain, total);
    return true;
  }
  const std::size_t total = bytes + large_front_bytes;
  std::uint64_t* const front = words_of(node) - 2;
  if (tarn_arena_try_expand(&domain.arena, front, *front, total) == 0) return false;
  *front = total;
  TARN_ASSERT(room_of(node, "tarn_tree_reallocate") == bytes);
  return true;
}

void clear_domain(TreeDomain& domain) noexcept {
  if (domain.outside != 0) return;
  TARN_ASSERT(domain.asking == 0 && domain.guests == 0 && domain.extras == nullptr);
  if (domain.is_of_arena) {
    tarn_arena_reset(&domain.arena);
  } else {
    heap_clear(domain.heap, false, "tarn_tree_dispose_children");
  }
}

void end_domain(TreeDomain* domain) noexcept {
  TARN_ASSERT(!domain->has_ended);
  domain->has_ended = true;
  settle(domain);
}

}  // namespace tarn
