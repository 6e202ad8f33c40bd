// shared_array_pool.hpp: a pool of blocks of one size for several processes and threads at once, in
// C++ (C++17). Header only over tarn/pool/shared_array_pool.h, which says what each function
// promises.
//
//   auto status = tarn::SharedArrayPool::format({notes, notes_bytes}, 1000, 256, 16);  // by one
//   auto pool = tarn::SharedArrayPool::attach({notes, notes_bytes}, {blocks, 256000}, identity);
//   std::uint64_t ticket = pool.ticket(pool.allocate());                      // send this
//   void* message = other.adopt(ticket);                                      // there
//   pool.reclaim(identity_of_a_dead_process);
//
// SPDX-License-Identifier: MIT
#ifndef TARN_SHARED_ARRAY_POOL_HPP
#define TARN_SHARED_ARRAY_POOL_HPP

#include "../detail/language.hpp"
#if defined(TARN_LANGUAGE_17)

#include <cstddef>
#include <cstdint>

#include "../detail/errors.hpp"
#include "region_array_pool.hpp"
#include "shared_array_pool.h"

namespace tarn {

// A handle to a pool, and this process's membership of it. The membership ends with leave() only; a
// process that ends without it is reclaimed by another one. All threads of the process may use the
// same handle, or copies of it.
class SharedArrayPool {
 public:
  // A reference that is stored is stored as a copy of this handle.
  static constexpr bool is_handle = true;

  SharedArrayPool() noexcept = default;

  // How many bytes the bookkeeping takes; 0 for a pool that cannot be made.
  static std::size_t bookkeeping_bytes(std::size_t block_count, std::size_t block_bytes,
                                       std::size_t members_max) noexcept {
    return tarn_shared_array_pool_bytes(block_count, block_bytes, members_max);
  }

  // zeroed: says that the bookkeeping's memory reads as zeros already, which makes this O(1).
  [[nodiscard]] static ArrayStatus format(ArrayMemory bookkeeping, std::size_t block_count,
                                          std::size_t block_bytes, std::size_t members_max,
                                          bool zeroed = false) noexcept {
    return tarn_shared_array_pool_format(bookkeeping.data, bookkeeping.bytes, block_count,
                                         block_bytes, members_max,
                                         zeroed ? unsigned{TARN_ARRAY_ZEROED} : 0);
  }

  static SharedArrayPool attach(ArrayMemory bookkeeping, ArrayMemory blocks,
                                std::uint64_t identity) noexcept {
    SharedArrayPool made;
    made.status_ = tarn_shared_array_pool_attach(&made.pool_, bookkeeping.data, bookkeeping.bytes,
                                                 blocks.data, blocks.bytes, identity);
    return made;
  }

  // False when the handle is not attached. Then only status() may be called.
  explicit operator bool() const noexcept { return status_ == TARN_ARRAY_OK; }
  ArrayStatus status() const noexcept { return status_; }

  // Takes a block. Throws std::bad_alloc when none is free; without exceptions it returns null.
  [[nodiscard]] void* allocate() { return or_bad_alloc(try_allocate()); }
  [[nodiscard]] void* try_allocate() noexcept { return tarn_shared_array_pool_allocate(&pool_); }
  void deallocate(void* p) noexcept { tarn_shared_array_pool_deallocate(&pool_, p); }

  // For generic code over any allocator. Null for more bytes or a greater alignment than the pool's
  // blocks have.
  [[nodiscard]] void* try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    if (bytes > pool_.blocks.block_bytes || alignment > tarn_array_alignment(&pool_.blocks)) {
      return nullptr;
    }
    return try_allocate();
  }
  void deallocate(void* p, std::size_t, std::size_t) noexcept { deallocate(p); }

  // These hand a block to another member: one sends the ticket, and the other adopts it and then
  // owns the block. adopt() returns null when the block has been adopted, freed or reclaimed
  // already.
  std::uint64_t ticket(const void* p) const noexcept {
    return tarn_shared_array_pool_ticket(&pool_, p);
  }
  [[nodiscard]] void* adopt(std::uint64_t ticket) noexcept {
    return tarn_shared_array_pool_adopt(&pool_, ticket);
  }

  // Frees the blocks of the members with this identity, which must be gone. Returns how many.
  std::size_t reclaim(std::uint64_t identity) noexcept {
    return tarn_shared_array_pool_reclaim(&pool_, identity);
  }

  // Ends the membership, frees the blocks that it still owns, and detaches the handle. Call it for
  // one of several copies only, since the place may be another process's afterwards. Returns how
  // many blocks were freed; 0 for a detached handle.
  std::size_t leave() noexcept {
    if (status_ != TARN_ARRAY_OK) return 0;
    status_ = TARN_ARRAY_NO_POOL;
    return tarn_shared_array_pool_leave(&pool_);
  }

  // Calls visit(std::uint64_t identity) for each member, this one included.
  template <class Visit>
  void for_each_member(Visit&& visit) const {
    for (std::size_t m = 0; m != pool_.region->members_max; ++m) {
      const std::uint64_t identity = tarn_shared_array_pool_member(&pool_, m);
      if (identity != 0) visit(identity);
    }
  }

  bool owns(const void* p) const noexcept { return tarn_shared_array_pool_owns(&pool_, p) != 0; }
  std::uint64_t owner(const void* p) const noexcept {
    return tarn_shared_array_pool_owner(&pool_, p);
  }
  std::size_t capacity() const noexcept { return pool_.blocks.count; }
  std::size_t block_bytes() const noexcept { return pool_.blocks.block_bytes; }
  std::size_t in_use() const noexcept { return tarn_shared_array_pool_in_use(&pool_); }
  std::size_t peak() const noexcept { return tarn_shared_array_pool_peak(&pool_); }  // The most.
  bool is_empty() const noexcept { return in_use() == 0; }          // No block is in use.
  bool is_full() const noexcept { return in_use() == capacity(); }  // No block is left.

  // Checks every invariant. No thread may use the pool meanwhile. It holds also after members were
  // killed in the middle of an operation.
  bool check() const noexcept { return tarn_shared_array_pool_check(&pool_) != 0; }

  std::size_t index_of(const void* p) const noexcept {
    return tarn_shared_array_pool_index_of(&pool_, p);
  }
  void* at(std::size_t index) const noexcept { return tarn_shared_array_pool_at(&pool_, index); }

  tarn_shared_array_pool* get() noexcept { return &pool_; }

 private:
  tarn_shared_array_pool pool_{};
  ArrayStatus status_ = TARN_ARRAY_NO_POOL;
};

static_assert(sizeof(tarn_shared_array_region) == 192 &&
                  offsetof(tarn_shared_array_region, head) == 64 &&
                  offsetof(tarn_shared_array_region, carved) == 128,
              "the picture in shared_array_region.h");
static_assert(__atomic_always_lock_free(sizeof(std::uint64_t), nullptr),
              "processes cannot share a lock that their libraries keep apart");

}  // namespace tarn

#endif
#endif
