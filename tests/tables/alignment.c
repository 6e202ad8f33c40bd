/* alignment: a table over a static pool that is aligned to ALIGNMENT, which compiles from 16 on.
 *
 * SPDX-License-Identifier: MIT */
#include "tarn/heap/malloc_table.h"
#include "tarn/pool/static_pool.h"

TARN_STATIC_POOL_WITH(packet_pool, 48, 4, ALIGNMENT, TARN_STATIC_NO_LOCK, TARN_STATIC_NO_LOCK)
TARN_TABLE_OF_STATIC_POOL(packet_table, packet_pool, 48)

struct packet_pool packets;
tarn_malloc_table table_of_packets(void);
tarn_malloc_table table_of_packets(void) { return packet_table(&packets); }
