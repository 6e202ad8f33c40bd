// domain: blocks of nodes, and what a domain counts so that it can go at once. See domain.hpp.
//
// SPDX-License-Identifier: MIT
#include "tree/domain.hpp"

#include <new>

#include "heap/blocks.hpp"
#include "heap/heaps.hpp"
#include "os/process.hpp"
#include "tree/threads.hpp"
#include "tree/tree.hpp"

namespace tarn {

namespace {

// In front of nodes in arenas: one word, or two.
constexpr std::size_t word_bytes = sizeof(std::uint64_t);
constexpr std::size_t front_bytes = word_bytes + sizeof(TreeNode);
constexpr std::size_t large_front_bytes = 2 * word_bytes + sizeof(TreeNode);
constexpr std::size_t compact_bytes_max = 4096;  // With the front.
constexpr unsigned units_bits = 20;
constexpr std::uint64_t units_mask = (std::uint64_t{1} << units_bits) - 1;

std::uint64_t* words_of(const TreeNode* node) noexcept {
  return reinterpret_cast<std::uint64_t*>(const_cast<TreeNode*>(node));
}

// 0: there is a second word, which has the bytes.
std::size_t compact_bytes_of(const TreeNode* node) noexcept {
  return static_cast<std::size_t>(words_of(node)[-1] & units_mask) * tree_grain;
}

void set_front(TreeNode* node, const TreeDomain& domain, std::size_t compact_bytes) noexcept {
  const std::uint64_t units = compact_bytes / tree_grain;
  words_of(node)[-1] = std::uint64_t{address_of(&domain)} / tree_grain << units_bits | units;
}

TreeDomain* domain_of_arena_node(const TreeNode* node) noexcept {
  const std::uint64_t address = (words_of(node)[-1] >> units_bits) * tree_grain;
  return reinterpret_cast<TreeDomain*>(static_cast<std::uintptr_t>(address));
}

// Of a node of malloc or of a heap.
void* block_of(const TreeNode* node) noexcept {
  auto* const start = const_cast<TreeNode*>(node);
  if (TARN_LIKELY(!has(node, node_is_apart))) return start;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(words_of(node)[-1]));
}

TreeNode* begin_node(void* at, TreeMemory memory) noexcept {
  auto* const node = new (at) TreeNode{};
  node->word[2] = memory;
  return node;
}

// The cursor stays at an odd multiple of 8, so that nodes behind one word are at multiples of 16.
TreeNode* place_compact(TreeDomain& domain, std::size_t total) noexcept {
  tarn_arena& arena = domain.arena;
  const std::size_t skip = ~address_of(arena.cursor) & word_bytes;
  char* at = nullptr;
  if (TARN_LIKELY(skip + total <= distance(arena.cursor, arena.end))) {
    at = static_cast<char*>(tarn_arena_allocate_aligned(&arena, skip + total, word_bytes)) + skip;
  } else {
    at = static_cast<char*>(tarn_arena_allocate(&arena, word_bytes + total));
    if (at == nullptr) return nullptr;
    at += word_bytes;
  }
  TreeNode* const node = begin_node(at + word_bytes, memory_of_arena);
  set_front(node, domain, total);
  return node;
}

TreeNode* place_large(TreeDomain& domain, std::size_t bytes, std::size_t alignment) noexcept {
  // From the block on: what alignment takes, two words, the node, the bytes.
  const std::size_t ahead = alignment > large_front_bytes ? alignment - large_front_bytes : 0;
  const std::size_t total = ahead + large_front_bytes + bytes;
  char* const at =
      static_cast<char*>(tarn_arena_allocate_aligned(&domain.arena, total, alignment));
  if (at == nullptr) return nullptr;
  TreeNode* const node = begin_node(at + ahead + 2 * word_bytes, memory_of_arena);
  set_front(node, domain, 0);
  words_of(node)[-2] = total - ahead;
  return node;
}

TreeNode* place_in(TreeDomain& domain, std::size_t bytes) noexcept {
  if (!domain.is_of_arena) {
    void* const block =
        heap_allocate(domain.heap, sizeof(TreeNode) + bytes, "tarn_tree_allocate");
    return block == nullptr ? nullptr : begin_node(block, memory_of_heap);
  }
  const std::size_t total = align_up(bytes + front_bytes, tree_grain);
  if (TARN_LIKELY(domain.is_compact && total <= compact_bytes_max)) {
    return place_compact(domain, total);
  }
  return place_large(domain, bytes, tree_grain);
}

// The domain goes when its last node has gone.
void settle(TreeDomain* domain) noexcept {
  if (!domain->has_ended || domain->outside != 0) return;
  if (domain->is_of_arena) {
    tarn_arena_destroy(&domain->arena);
  } else if (!heap_clear(domain->heap, true, "tarn_tree_dispose")) {
    return;
  }
  deallocate(domain);
}

bool can_drop(const TreeDomain& domain) noexcept {
  if (domain.asking != 0 || domain.guests != 0) return false;
  // What is outside would have to be told from what is not.
  return domain.outside == 0 || (domain.is_of_arena && domain.extras == nullptr);
}

}  // namespace

TreeDomain* domain_of(const TreeNode* node) noexcept {
  switch (memory_of(node)) {
    case memory_of_malloc:
      return nullptr;
    case memory_of_heap: {
      const void* const block = block_of(node);
      return static_cast<TreeDomain*>(record_of(find_span(block), block)->belongs_to);
    }
    case memory_of_arena:
      break;
    case memory_of_none:
      report_tree_damage(node);
  }
  return domain_of_arena_node(node);
}

TreeDomain* domain_below(const TreeNode* parent) noexcept {
  return begins_domain(parent) ? extra_of(parent)->domain : domain_of(parent);
}

void count_other_edge(const TreeNode* parent, const TreeNode* node, int change) noexcept {
  TreeDomain* const below = parent == nullptr ? nullptr : domain_below(parent);
  TreeDomain* const own = domain_of(node);
  if (below == own) return;
  if (below != nullptr) below->guests += static_cast<std::size_t>(change);
  if (own != nullptr) own->outside += static_cast<std::size_t>(change);
}

void join_domain(const TreeNode* node, TreeExtra& extra) noexcept {
  TARN_ASSERT(extra.led == nullptr);
  if (TARN_LIKELY(is_of_malloc(node))) return;
  TreeExtra** const first = &domain_of(node)->extras;
  extra.next = *first;
  extra.led = first;
  if (*first != nullptr) (*first)->led = &extra.next;
  *first = &extra;
}

void leave_domain(TreeExtra& extra) noexcept {
  if (TARN_LIKELY(extra.led == nullptr)) return;
  *extra.led = extra.next;
  if (extra.next != nullptr) extra.next->led = extra.led;
  extra.next = nullptr;
  extra.led = nullptr;
}

void stop_asking(const TreeNode* node, TreeExtra& extra) noexcept {
  if (TARN_LIKELY(is_of_malloc(node))) return;
  TreeDomain* const domain = domain_of(node);
  if (extra.destructor != nullptr) --domain->asking;
  if (extra.references != nullptr) --domain->asking;
  if (extra.domain != nullptr) --domain->asking;
}

TreeNode* place_below(const TreeNode* parent, std::size_t bytes) noexcept {
  TreeDomain* const domain = parent == nullptr ? nullptr : domain_below(parent);
  if (domain != nullptr) return place_in(*domain, bytes);
  void* const block = allocate(sizeof(TreeNode) + bytes);
  return block == nullptr ? nullptr : begin_node(block, memory_of_malloc);
}

TreeNode* place_aligned_below(const TreeNode* parent, std::size_t bytes,
                              std::size_t alignment) noexcept {
  TARN_ASSERT(alignment > tree_grain);
  TreeDomain* const domain = parent == nullptr ? nullptr : domain_below(parent);
  TreeNode* node = nullptr;
  if (domain != nullptr && domain->is_of_arena) {
    node = place_large(*domain, bytes, alignment);
  } else {
    void* const block =
        domain == nullptr
            ? allocate_aligned(alignment + bytes, alignment)
            : heap_allocate_slow(domain->heap, {.bytes = alignment + bytes,
                                                .alignment = alignment,
                                                .function = "tarn_tree_allocate_aligned",
                                                .site = __builtin_return_address(0)});
    if (block == nullptr) return nullptr;
    node = begin_node(static_cast<char*>(block) + alignment - sizeof(TreeNode),
                      domain == nullptr ? memory_of_malloc : memory_of_heap);
    words_of(node)[-1] = address_of(block);
  }
  if (node != nullptr) set(node, node_is_apart, true);
  return node;
}

TreeNode* place_beside(TreeNode* kin, std::size_t bytes) noexcept {
  if (memory_of(kin) == memory_of_arena) return place_in(*domain_of_arena_node(kin), bytes);
  const std::size_t total = sizeof(TreeNode) + bytes;
  void* const block = heap_allocate(heap_of(kin), total, "tarn_tree_reallocate");
  return block == nullptr ? nullptr : begin_node(block, memory_of(kin));
}

void give_block(TreeNode* node) noexcept {
  const TreeMemory memory = memory_of(node);
  TreeDomain* const domain = domain_of(node);
  mark_gone(node);
  if (TARN_LIKELY(memory == memory_of_malloc)) return deallocate(block_of(node));
  if (memory == memory_of_heap) {
    deallocate(block_of(node));
  } else if (!has(node, node_is_apart)) {
    const std::size_t compact = compact_bytes_of(node);
    const std::size_t total = compact != 0 ? compact : words_of(node)[-2];
    tarn_arena_deallocate(&domain->arena, words_of(node) - (compact != 0 ? 1 : 2), total);
  }
  settle(domain);
}

std::size_t room_of(const TreeNode* node, const char* function) noexcept {
  if (memory_of(node) == memory_of_arena) {
    const std::size_t compact = compact_bytes_of(node);
    return compact != 0 ? compact - front_bytes : words_of(node)[-2] - large_front_bytes;
  }
  const void* const block = block_of(node);
  return usable_bytes(block, function) - (address_of(node + 1) - address_of(block));
}

std::size_t bytes_before(const TreeNode* node) noexcept {
  if (memory_of(node) == memory_of_arena) {
    return (compact_bytes_of(node) != 0 ? front_bytes : large_front_bytes) - sizeof(TreeNode);
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
    set_front(node, domain, total);
    return true;
  }
  const std::size_t total = bytes + large_front_bytes;
  std::uint64_t* const front = words_of(node) - 2;
  if (tarn_arena_try_expand(&domain.arena, front, *front, total) == 0) return false;
  *front = total;
  return true;
}

void drop_below(TreeNode* node) noexcept {
  TreeDomain& domain = *extra_of(node)->domain;
  if (newest_of(node) == nullptr || !can_drop(domain)) return;
  while (TreeExtra* const extra = domain.extras) {
    check_taker(*extra, nullptr, "tarn_tree_dispose");
    leave_domain(*extra);
    drop_extra(extra);
  }
  set_link(node, link_child, nullptr);
}

void clear_domain(TreeDomain& domain) noexcept {
  if (domain.outside != 0) return;
  if (domain.is_of_arena) {
    tarn_arena_reset(&domain.arena);
  } else {
    heap_clear(domain.heap, false, "tarn_tree_dispose_children");
  }
}

void end_domain(TreeDomain* domain) noexcept {
  domain->has_ended = true;
  settle(domain);
}

}  // namespace tarn
