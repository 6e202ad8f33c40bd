/* shared_array_pool.h: a pool of blocks of one size for several processes and threads at once, in
 * C. (C++: tarn/pool/shared_array_pool.hpp.) It is lock-free. It is also crash-safe: a process that
 * is killed between any two instructions leaves the free list whole, and reclaim() brings back
 * every block that the process had.
 *
 *   carved = owned + being given + free;  free = the length of the list from head
 *
 * The pool never reads or writes the blocks, so each process may map them at another address.
 * docs/design/array_pools.md has each step of the protocol, and says why an entry is a state as
 * well as a link.
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_SHARED_ARRAY_POOL_H
#define TARN_SHARED_ARRAY_POOL_H

#include "../detail/language.h"
#if defined(TARN_LANGUAGE)

#include "../detail/array_misuse.h"
#include "../detail/shared_array_region.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A process's handle to a pool. All threads of the process use the same one. After a fork the child
 * must attach for itself. */
typedef struct tarn_shared_array_pool {
  tarn_shared_array_region* region;
  tarn_shared_array_member* members;
  uint64_t* entries;
  tarn_array_blocks blocks;
  unsigned member;
} tarn_shared_array_pool;

/* --- Joining ---------------------------------------------------------------------------------- */

/* Joins a formatted pool as a new member. This process sees the pool's blocks at `blocks`.
 * identity: a number other than 0 that no other living process uses (tarn_array_identity). Unless
 * the status is TARN_ARRAY_OK, *pool is as it was. O(members). */
TARN_MUST_USE static inline tarn_array_status tarn_shared_array_pool_attach(
    tarn_shared_array_pool* pool, void* bookkeeping, size_t bookkeeping_bytes, void* blocks,
    size_t blocks_bytes, uint64_t identity) {
  if (pool == NULL || bookkeeping == NULL || blocks == NULL || identity == 0) {
    return TARN_ARRAY_BAD_ARGUMENT;
  }
  if ((uintptr_t)bookkeeping % 8 != 0) return TARN_ARRAY_MISALIGNED;
  tarn_shared_array_region* const region = (tarn_shared_array_region*)bookkeeping;
  const tarn_array_status status = tarn_shared_array_judge(region, bookkeeping_bytes, blocks_bytes);
  if (status != TARN_ARRAY_OK) return status;
  tarn_shared_array_member* const members = (tarn_shared_array_member*)(void*)(region + 1);
  for (unsigned m = 0; m != region->members_max; ++m) {
    if (!tarn_array_exchange(&members[m].identity, 0, identity)) continue;
    pool->region = region;
    pool->members = members;
    pool->entries = tarn_shared_array_entries(region);
    pool->blocks =
        tarn_array_blocks_at(blocks, (size_t)region->block_count, (size_t)region->block_bytes);
    pool->member = m;
    return TARN_ARRAY_OK;
  }
  return TARN_ARRAY_NO_PLACE;
}

/* --- The protocol ----------------------------------------------------------------------------- */

/* Completes the claim in `head`, whichever member made it: the block becomes the claimant's, and
 * then leaves the list. Any number of members may do this at once. Nothing else changes the list
 * meanwhile. */
static inline void tarn_shared_array_finish(const tarn_shared_array_pool* pool, uint64_t head) {
  uint64_t* const entry = &pool->entries[tarn_array_head_index(head)];
  const uint64_t member = tarn_array_head_claimant(head) - 1;
  uint64_t seen;
  do {
    seen = tarn_array_load(entry);
    /* If the claim still stands, `seen` is of a block on the list or of one just claimed. */
    if (tarn_array_load(&pool->region->head) != head) return;
  } while (
      tarn_array_entry_status(seen) != TARN_ARRAY_OWNED &&
      !tarn_array_exchange(entry, seen, tarn_array_entry_after(seen, TARN_ARRAY_OWNED, member)));
  tarn_array_exchange(
      &pool->region->head, head,
      tarn_array_head(tarn_array_entry_next(seen), 0, tarn_array_head_tag(head) + 1));
}

/* Completes any claim, and returns the head without one. */
static inline uint64_t tarn_shared_array_settled(const tarn_shared_array_pool* pool) {
  for (;;) {
    const uint64_t head = tarn_array_load(&pool->region->head);
    const uint64_t index = tarn_array_head_index(head);
    const int is_claimed = tarn_array_head_claimant(head) != 0;
    if (TARN_UNLIKELY(index >= pool->blocks.count) &&
        (index != TARN_SHARED_ARRAY_NONE || is_claimed)) {
      tarn_array_misuse("damaged pool", "tarn_shared_array_pool", pool->region,
                        "the bookkeeping was written over");
    }
    if (TARN_LIKELY(!is_claimed)) return head;
    tarn_shared_array_finish(pool, head);
  }
}

/* The index of a block that was never handed out and is this member's now; or the number of blocks,
 * if there is none. The exchange of the entry decides which member gets the block. After that any
 * member may move the watermark past it. */
static inline size_t tarn_shared_array_carve(const tarn_shared_array_pool* pool) {
  for (;;) {
    const uint64_t i = tarn_array_load(&pool->region->carved);
    if (i >= pool->blocks.count) return pool->blocks.count;
    const int is_mine = tarn_array_exchange(
        &pool->entries[i], 0,
        tarn_array_entry(TARN_ARRAY_OWNED, pool->member, TARN_SHARED_ARRAY_NONE, 1));
    tarn_array_exchange(&pool->region->carved, i, i + 1);
    if (is_mine) return (size_t)i;
  }
}

/* Takes a block; null when none is free. The block that was freed last comes first, and blocks that
 * were never used come by ascending address. Lock-free; may be called in signal handlers. */
TARN_MUST_USE static inline void* tarn_shared_array_pool_allocate(tarn_shared_array_pool* pool) {
  for (;;) {
    const uint64_t head = tarn_shared_array_settled(pool);
    const uint64_t index = tarn_array_head_index(head);
    if (index == TARN_SHARED_ARRAY_NONE) {
      const size_t carved = tarn_shared_array_carve(pool);
      if (carved != pool->blocks.count) return tarn_array_block_at(&pool->blocks, carved);
      const uint64_t now = tarn_array_load(&pool->region->head);
      if (tarn_array_head_index(now) >= pool->blocks.count) return NULL;
      continue; /* A block was freed meanwhile. */
    }
    const uint64_t claim = tarn_array_head(index, pool->member + 1, tarn_array_head_tag(head) + 1);
    if (!tarn_array_exchange(&pool->region->head, head, claim)) continue;
    tarn_shared_array_finish(pool, claim);
    return tarn_array_block_at(&pool->blocks, (size_t)index);
  }
}

/* Puts block i on the list. Its entry is `mine`: GIVING, by this member. The entry of the block at
 * the head becomes FREE first, so that no block behind the head is ever GIVING. */
static inline void tarn_shared_array_push(const tarn_shared_array_pool* pool, size_t i,
                                          uint64_t mine) {
  for (;;) {
    const uint64_t head = tarn_shared_array_settled(pool);
    const uint64_t first = tarn_array_head_index(head);
    if (first != TARN_SHARED_ARRAY_NONE) {
      const uint64_t seen = tarn_array_load(&pool->entries[first]);
      if (tarn_array_load(&pool->region->head) != head) continue;
      if (tarn_array_entry_status(seen) == TARN_ARRAY_GIVING &&
          !tarn_array_exchange(&pool->entries[first], seen,
                               tarn_array_entry_after(seen, TARN_ARRAY_FREE, 0))) {
        continue;
      }
    }
    /* Only this member writes the entry now. Release: pairs with the loads of the member that pops
     * it. */
    mine = tarn_array_entry(TARN_ARRAY_GIVING, tarn_array_entry_member(mine), first,
                            tarn_array_entry_version(mine));
    __atomic_store_n(&pool->entries[i], mine, __ATOMIC_RELEASE);
    if (tarn_array_exchange(&pool->region->head, head,
                            tarn_array_head(i, 0, tarn_array_head_tag(head) + 1))) {
      return;
    }
  }
}

__attribute__((cold, noinline, noreturn, unused)) static void tarn_shared_array_misuse(
    const tarn_shared_array_pool* pool, const void* p, int is_free) {
  const char* const name = "tarn_shared_array_pool_deallocate";
  if (is_free) tarn_array_misuse("double free", name, p, "the block is free");
  tarn_array_misuse("invalid free", name, p,
                    tarn_array_in_blocks(&pool->blocks, p) ? "not the start of a block"
                                                           : "no block of this pool");
}

/* Frees a block; null is ignored. Any member may free any owned block, whichever member owns it. A
 * pointer that is not the start of a block is always reported as an `invalid free`, and a block
 * that no member owns as a `double free`; then the process ends. Lock-free; may be called in signal
 * handlers. */
static inline void tarn_shared_array_pool_deallocate(tarn_shared_array_pool* pool, void* p) {
  const size_t i = tarn_array_index_of(&pool->blocks, p);
  if (TARN_UNLIKELY(i >= pool->blocks.count)) {
    if (p == NULL) return;
    tarn_shared_array_misuse(pool, p, 0);
  }
  for (;;) {
    const uint64_t seen = tarn_array_load(&pool->entries[i]);
    if (TARN_UNLIKELY(tarn_array_entry_status(seen) != TARN_ARRAY_OWNED)) {
      tarn_shared_array_misuse(pool, p, 1);
    }
    const uint64_t mine = tarn_array_entry_after(seen, TARN_ARRAY_GIVING, pool->member);
    if (!tarn_array_exchange(&pool->entries[i], seen, mine)) continue;
    tarn_shared_array_push(pool, i, mine);
    return;
  }
}

/* --- From member to member -------------------------------------------------------------------- */

#define TARN_SHARED_ARRAY_TICKET (UINT64_C(1) << 63) /* This bit keeps tickets from being 0. */

/* A ticket for a block, to be sent to another member instead of the address. The member that
 * receives it takes the block over with tarn_shared_array_pool_adopt. 0 if p is no owned block. */
static inline uint64_t tarn_shared_array_pool_ticket(const tarn_shared_array_pool* pool,
                                                     const void* p) {
  const size_t i = tarn_array_index_of(&pool->blocks, p);
  if (i >= pool->blocks.count) return 0;
  const uint64_t seen = tarn_array_load(&pool->entries[i]);
  if (tarn_array_entry_status(seen) != TARN_ARRAY_OWNED) return 0;
  return TARN_SHARED_ARRAY_TICKET | tarn_array_entry_version(seen) << 24 | i;
}

/* Makes this member the owner of the ticket's block. Null when the block has been adopted, freed or
 * reclaimed since, so of several members that try, one gets it. A ticket that is kept while its
 * block changes hands 2^30 times cannot be told from a new one. */
TARN_MUST_USE static inline void* tarn_shared_array_pool_adopt(tarn_shared_array_pool* pool,
                                                               uint64_t ticket) {
  const size_t i = (size_t)(ticket & 0xffffff);
  if (i >= pool->blocks.count) return NULL;
  const uint64_t seen = tarn_array_load(&pool->entries[i]);
  if (tarn_array_entry_status(seen) != TARN_ARRAY_OWNED) return NULL;
  if ((TARN_SHARED_ARRAY_TICKET | tarn_array_entry_version(seen) << 24 | i) != ticket) return NULL;
  const uint64_t mine = tarn_array_entry_after(seen, TARN_ARRAY_OWNED, pool->member);
  return tarn_array_exchange(&pool->entries[i], seen, mine) ? tarn_array_block_at(&pool->blocks, i)
                                                            : NULL;
}

/* Frees block i if it belongs to the member, which is gone or does nothing any more. Returns
 * whether the block came back. */
static inline int tarn_shared_array_recover(tarn_shared_array_pool* pool, size_t i,
                                            uint64_t member) {
  for (;;) {
    const uint64_t seen = tarn_array_load(&pool->entries[i]);
    const unsigned status = tarn_array_entry_status(seen);
    if (status != TARN_ARRAY_OWNED && status != TARN_ARRAY_GIVING) return 0;
    if (tarn_array_entry_member(seen) != member) return 0;
    const uint64_t head = tarn_shared_array_settled(pool);
    if (status == TARN_ARRAY_GIVING && tarn_array_head_index(head) == i) {
      /* The block reached the list before its giver ended. If the entry has not changed since, it
       * is still there. */
      if (tarn_array_exchange(&pool->entries[i], seen,
                              tarn_array_entry_after(seen, TARN_ARRAY_FREE, 0))) {
        return 0;
      }
      continue;
    }
    const uint64_t mine = tarn_array_entry_after(seen, TARN_ARRAY_GIVING, pool->member);
    if (!tarn_array_exchange(&pool->entries[i], seen, mine)) continue;
    tarn_shared_array_push(pool, i, mine);
    return 1;
  }
}

static inline size_t tarn_shared_array_recover_all(tarn_shared_array_pool* pool, uint64_t member) {
  tarn_shared_array_settled(pool); /* The member can make no claim after this. */
  const uint64_t carved = tarn_array_load(&pool->region->carved);
  if (carved < pool->blocks.count && tarn_array_load(&pool->entries[carved]) != 0) {
    tarn_array_exchange(&pool->region->carved, carved, carved + 1);
  }
  const size_t end = (size_t)tarn_array_load(&pool->region->carved);
  size_t count = 0;
  for (size_t i = 0; i != end; ++i) {
    count += (size_t)tarn_shared_array_recover(pool, i, member);
  }
  /* Others may now reclaim the members that this one was reclaiming. */
  for (size_t m = 0; m != pool->region->members_max; ++m) {
    tarn_array_exchange(&pool->members[m].reclaimer, member + 1, 0);
  }
  return count;
}

/* Frees all blocks of the members with this identity. These must be gone: their processes have
 * ended or never touch the pool again. Returns how many blocks came back. O(capacity) for each
 * member; other members may use the pool meanwhile. If the process that calls this is killed,
 * reclaim that one, and then call this again. */
static inline size_t tarn_shared_array_pool_reclaim(tarn_shared_array_pool* pool,
                                                    uint64_t identity) {
  size_t count = 0;
  for (unsigned m = 0; identity != 0 && m != pool->region->members_max; ++m) {
    tarn_shared_array_member* const member = &pool->members[m];
    if (m == pool->member || tarn_array_load(&member->identity) != identity) continue;
    /* One call at a time: a second one that came late would take the blocks of the member that has
     * the place by then. */
    if (!tarn_array_exchange(&member->reclaimer, 0, pool->member + 1)) continue;
    if (tarn_array_load(&member->identity) == identity) {
      count += tarn_shared_array_recover_all(pool, m);
      tarn_array_exchange(&member->identity, identity, 0);
    }
    tarn_array_exchange(&member->reclaimer, pool->member + 1, 0);
  }
  return count;
}

/* Ends this process's membership. Blocks that it still owns are freed; blocks that others have
 * adopted are not its own any more. None of its threads may be using the pool. Returns how many
 * blocks were freed. */
static inline size_t tarn_shared_array_pool_leave(tarn_shared_array_pool* pool) {
  const size_t count = tarn_shared_array_recover_all(pool, pool->member);
  __atomic_store_n(&pool->members[pool->member].identity, 0, __ATOMIC_RELEASE);
  return count;
}

/* The identity of the member in this place; 0: the place is free. With it a program finds members
 * that are gone. */
static inline uint64_t tarn_shared_array_pool_member(const tarn_shared_array_pool* pool,
                                                     size_t place) {
  return place < pool->region->members_max ? tarn_array_load(&pool->members[place].identity) : 0;
}

/* --- Questions -------------------------------------------------------------------------------- */

static inline size_t tarn_shared_array_pool_capacity(const tarn_shared_array_pool* pool) {
  return pool->blocks.count;
}
static inline int tarn_shared_array_pool_owns(const tarn_shared_array_pool* pool, const void* p) {
  return tarn_array_in_blocks(&pool->blocks, p);
}
/* The number of a block, which is the same in all processes; and the block of a number, which must
 * be below the capacity. */
static inline size_t tarn_shared_array_pool_index_of(const tarn_shared_array_pool* pool,
                                                     const void* p) {
  return tarn_array_index_of(&pool->blocks, p);
}
static inline void* tarn_shared_array_pool_at(const tarn_shared_array_pool* pool, size_t i) {
  return tarn_array_block_at(&pool->blocks, i);
}

/* The identity of the member that owns the block; 0: none does, or p is no block. */
static inline uint64_t tarn_shared_array_pool_owner(const tarn_shared_array_pool* pool,
                                                    const void* p) {
  const size_t i = tarn_array_index_of(&pool->blocks, p);
  if (i >= pool->blocks.count) return 0;
  const uint64_t seen = tarn_array_load(&pool->entries[i]);
  if (tarn_array_entry_status(seen) != TARN_ARRAY_OWNED) return 0;
  return tarn_shared_array_pool_member(pool, (size_t)tarn_array_entry_member(seen));
}

/* How many blocks are owned. If other threads use the pool meanwhile, blocks that change hands may
 * or may not be counted. O(capacity). */
static inline size_t tarn_shared_array_pool_in_use(const tarn_shared_array_pool* pool) {
  size_t count = 0;
  for (size_t i = 0; i != pool->blocks.count; ++i) {
    const uint64_t seen = tarn_array_load(&pool->entries[i]);
    if (seen == 0 && i > tarn_array_load(&pool->region->carved)) break;
    count += tarn_array_entry_status(seen) == TARN_ARRAY_OWNED;
  }
  return count;
}

/* The most blocks that were in use at a time since the pool was formatted, those included that were
 * being freed or taken at that moment: a block is carved only when no other is free. O(1). */
static inline size_t tarn_shared_array_pool_peak(const tarn_shared_array_pool* pool) {
  return (size_t)tarn_array_load(&pool->region->carved);
}

/* 1 when every invariant holds. No thread may use the pool meanwhile. The invariants hold also
 * after members were killed in the middle of an operation. O(capacity). */
static inline int tarn_shared_array_pool_check(const tarn_shared_array_pool* pool) {
  if (tarn_shared_array_judge(pool->region, SIZE_MAX, SIZE_MAX) != TARN_ARRAY_OK) return 0;
  const uint64_t head = tarn_array_load(&pool->region->head);
  const uint64_t carved = tarn_array_load(&pool->region->carved);
  uint64_t listed = 0; /* How many blocks on the list are FREE. */
  uint64_t length = 0;
  for (uint64_t i = tarn_array_head_index(head); i != TARN_SHARED_ARRAY_NONE; ++length) {
    if (i >= carved || length == carved) return 0;
    const uint64_t entry = tarn_array_load(&pool->entries[i]);
    const unsigned status = tarn_array_entry_status(entry);
    const int is_claimed = length == 0 && tarn_array_head_claimant(head) != 0;
    if (status == TARN_ARRAY_FREE) {
      ++listed;
    } else if (status == TARN_ARRAY_GIVING ? length != 0 : !is_claimed) {
      return 0;
    } else if (status == TARN_ARRAY_OWNED &&
               tarn_array_entry_member(entry) + 1 != tarn_array_head_claimant(head)) {
      return 0;
    }
    i = tarn_array_entry_next(entry);
  }
  for (uint64_t i = 0; i != pool->blocks.count && i <= carved; ++i) {
    const uint64_t entry = tarn_array_load(&pool->entries[i]);
    const unsigned status = tarn_array_entry_status(entry);
    if (i < carved ? status == 0 : entry != 0 && status != TARN_ARRAY_OWNED) return 0;
    if (status == TARN_ARRAY_FREE && listed-- == 0) return 0;
    if ((status == TARN_ARRAY_OWNED || status == TARN_ARRAY_GIVING) &&
        tarn_array_entry_member(entry) >= pool->region->members_max) {
      return 0;
    }
  }
  return listed == 0;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
