/* shared_array_region: how the bookkeeping of a shared array pool is laid out, made and checked, in
 * C and C++. tarn/pool/shared_array_pool.h, which includes this, says how it changes.
 *
 *   bookkeeping  | header | head | carved | members: identity, reclaimer | entries[capacity] |
 *   head         | tag 32 | claimant 8 | index 24 |
 *   entry        | version 30 | next 24 | member 8 | status 2 |   `next` links the free blocks
 *
 * SPDX-License-Identifier: MIT */
#ifndef TARN_SHARED_ARRAY_REGION_H
#define TARN_SHARED_ARRAY_REGION_H

#include "language.h"
#if defined(TARN_LANGUAGE)

#include "array_blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tells format() that the bookkeeping reads as zeros (a fresh file or mapping), so that it need not
 * be cleared. */
enum { TARN_ARRAY_ZEROED = 2u };

#define TARN_SHARED_ARRAY_MAGIC UINT64_C(0x6e72617473686172)
#define TARN_SHARED_ARRAY_VERSION UINT64_C(1)
#define TARN_SHARED_ARRAY_BLOCKS_MAX ((size_t)0xffffff) /* The index 0xffffff means "none". */
#define TARN_SHARED_ARRAY_MEMBERS_MAX ((size_t)255)

/* A process that uses the pool. */
typedef struct tarn_shared_array_member {
  /* 0: the place is free. It is set by the member that joins, and cleared when that leaves or is
   * reclaimed. */
  uint64_t identity;
  uint64_t reclaimer; /* One more than the member that is reclaiming this one; 0: none is. */
} tarn_shared_array_member;

/* Its fields, with their offsets in bytes. Those that change are read and written atomically. */
typedef struct tarn_shared_array_region {
  uint64_t magic;             /*   0: written last by format (release; partner: attach) */
  uint64_t version;           /*   8 */
  uint64_t block_count;       /*  16 */
  uint64_t block_bytes;       /*  24 */
  uint64_t members_max;       /*  32 */
  uint64_t bookkeeping_bytes; /*  40 */
  uint64_t checksum;          /*  48: of version .. bookkeeping_bytes */
  uint64_t unused;
  uint64_t head; /*  64: on a cache line of its own */
  uint64_t unused_beside_head[7];
  uint64_t carved; /* 128 */
  uint64_t unused_beside_carved[7];
} tarn_shared_array_region; /* From 192 on: the members, then the entries. */

/* The identity of a process: its id, and the time when it started (on Linux, field 22 of its stat
 * file under /proc), since ids are used again. */
static inline uint64_t tarn_array_identity(uint32_t process_id, uint64_t start_time) {
  return (uint64_t)process_id << 32 | (start_time & UINT32_MAX);
}

/* --- Words -------------------------------------------------------------------------------- */

#define TARN_SHARED_ARRAY_NONE UINT64_C(0xffffff)

/* The states of a block. The entry of a block that was never handed out is 0. OWNED: a member has
 * the block. GIVING: the member is freeing the block, which is on the list only if it is the head.
 * FREE: the block is on the list. */
enum { TARN_ARRAY_OWNED = 1, TARN_ARRAY_GIVING = 2, TARN_ARRAY_FREE = 3 };

static inline uint64_t tarn_array_head(uint64_t index, uint64_t claimant, uint64_t tag) {
  return tag << 32 | claimant << 24 | index;
}
static inline uint64_t tarn_array_head_index(uint64_t head) { return head & 0xffffff; }
static inline uint64_t tarn_array_head_claimant(uint64_t head) { return head >> 24 & 0xff; }
static inline uint64_t tarn_array_head_tag(uint64_t head) { return head >> 32; }

static inline uint64_t tarn_array_entry(unsigned status, uint64_t member, uint64_t next,
                                        uint64_t version) {
  return version << 34 | next << 10 | member << 2 | status;
}
static inline unsigned tarn_array_entry_status(uint64_t entry) { return (unsigned)(entry & 3); }
static inline uint64_t tarn_array_entry_member(uint64_t entry) { return entry >> 2 & 0xff; }
static inline uint64_t tarn_array_entry_next(uint64_t entry) { return entry >> 10 & 0xffffff; }
static inline uint64_t tarn_array_entry_version(uint64_t entry) { return entry >> 34; }

/* What an entry becomes next, with the version raised by one. */
static inline uint64_t tarn_array_entry_after(uint64_t entry, unsigned status, uint64_t member) {
  return tarn_array_entry(status, member, tarn_array_entry_next(entry),
                          tarn_array_entry_version(entry) + 1);
}

/* Each load acquires and each successful exchange releases. So the process that takes a block or
 * sees a word also sees what the other process wrote before it gave the block or changed the word.
 * */
static inline uint64_t tarn_array_load(const uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
static inline int tarn_array_exchange(uint64_t* word, uint64_t expected, uint64_t desired) {
  return __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

/* --- Making and joining ----------------------------------------------------------------------- */

/* How many bytes of bookkeeping a pool needs. 0 for a pool that cannot be made: one without blocks
 * or members, with more than 2^24 - 1 blocks or 255 members, with blocks of 0 bytes, or with more
 * bytes than can be addressed. */
static inline size_t tarn_shared_array_pool_bytes(size_t block_count, size_t block_bytes,
                                                  size_t members_max) {
  if (!tarn_array_blocks_fit(block_count, block_bytes)) return 0;
  if (block_count > TARN_SHARED_ARRAY_BLOCKS_MAX || members_max == 0) return 0;
  if (members_max > TARN_SHARED_ARRAY_MEMBERS_MAX) return 0;
  return sizeof(tarn_shared_array_region) + members_max * sizeof(tarn_shared_array_member) +
         block_count * sizeof(uint64_t);
}

static inline uint64_t* tarn_shared_array_entries(tarn_shared_array_region* region) {
  tarn_shared_array_member* const members = (tarn_shared_array_member*)(void*)(region + 1);
  return (uint64_t*)(void*)(members + region->members_max);
}

/* Makes a pool without members whose blocks are all free. No other process may use the memory yet.
 * flags: TARN_ARRAY_ZEROED or 0. The bookkeeping must be aligned to 8, and is better aligned to 64.
 * O(1) if zeroed, else O(capacity). */
TARN_MUST_USE static inline tarn_array_status tarn_shared_array_pool_format(
    void* bookkeeping, size_t bookkeeping_bytes, size_t block_count, size_t block_bytes,
    size_t members_max, unsigned flags) {
  const size_t needed = tarn_shared_array_pool_bytes(block_count, block_bytes, members_max);
  if (needed == 0 || bookkeeping == NULL || (flags & ~(unsigned)TARN_ARRAY_ZEROED) != 0) {
    return TARN_ARRAY_BAD_ARGUMENT;
  }
  if ((uintptr_t)bookkeeping % 8 != 0) return TARN_ARRAY_MISALIGNED;
  if (bookkeeping_bytes < needed) return TARN_ARRAY_TOO_SMALL;
  tarn_shared_array_region* const region = (tarn_shared_array_region*)bookkeeping;
  __atomic_store_n(&region->magic, 0, __ATOMIC_RELEASE);
  region->version = TARN_SHARED_ARRAY_VERSION;
  region->block_count = block_count;
  region->block_bytes = block_bytes;
  region->members_max = members_max;
  region->bookkeeping_bytes = needed;
  region->checksum = tarn_array_checksum(&region->version, 5);
  region->head = TARN_SHARED_ARRAY_NONE;
  region->carved = 0;
  if ((flags & TARN_ARRAY_ZEROED) == 0) {
    uint64_t* const words = (uint64_t*)(void*)(region + 1);
    const size_t count = (needed - sizeof *region) / sizeof(uint64_t);
    for (size_t i = 0; i != count; ++i) words[i] = 0;
  }
  __atomic_store_n(&region->magic, TARN_SHARED_ARRAY_MAGIC, __ATOMIC_RELEASE);
  return TARN_ARRAY_OK;
}

/* Checks the header: whether it makes sense, and whether the memory is as large as it says. */
static inline tarn_array_status tarn_shared_array_judge(const tarn_shared_array_region* region,
                                                        size_t bookkeeping_bytes,
                                                        size_t blocks_bytes) {
  if (bookkeeping_bytes < sizeof *region) return TARN_ARRAY_TOO_SMALL;
  if (tarn_array_load(&region->magic) != TARN_SHARED_ARRAY_MAGIC) return TARN_ARRAY_NO_POOL;
  if (region->version != TARN_SHARED_ARRAY_VERSION) return TARN_ARRAY_OTHER_VERSION;
  if (region->checksum != tarn_array_checksum(&region->version, 5)) return TARN_ARRAY_DAMAGED;
  if (region->block_count > SIZE_MAX || region->block_bytes > SIZE_MAX ||
      region->members_max > TARN_SHARED_ARRAY_MEMBERS_MAX) {
    return TARN_ARRAY_DAMAGED;
  }
  const size_t count = (size_t)region->block_count;
  const size_t needed =
      tarn_shared_array_pool_bytes(count, (size_t)region->block_bytes, (size_t)region->members_max);
  const uint64_t head = tarn_array_load(&region->head);
  const uint64_t first = tarn_array_head_index(head);
  const int is_list_empty = first == TARN_SHARED_ARRAY_NONE && tarn_array_head_claimant(head) == 0;
  if (needed == 0 || needed != region->bookkeeping_bytes ||
      tarn_array_load(&region->carved) > count ||
      tarn_array_head_claimant(head) > region->members_max || (first >= count && !is_list_empty)) {
    return TARN_ARRAY_DAMAGED;
  }
  if (needed > bookkeeping_bytes || count * (size_t)region->block_bytes > blocks_bytes) {
    return TARN_ARRAY_TOO_SMALL;
  }
  return TARN_ARRAY_OK;
}

#ifdef __cplusplus
}
#endif

#endif
#endif
