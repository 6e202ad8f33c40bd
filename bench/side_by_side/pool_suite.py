"""What is measured of pools and arenas, and what it is measured against: see docs/design/bench.md.

A contestant is named as in bench/pool_tasks/contestants.hpp; a new one needs no line here, unless
there is a target for it.

SPDX-License-Identifier: MIT
"""
from dataclasses import dataclass

FLOOR = "bump"
GAINERS = ("tarn ArrayAllocator", "tarn Pool")  # Beside malloc; the first is S3.8's.
LISTS = ("forward_list", "list")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
STATES = ("fresh", "regrown")
BLOCK_BYTES = (32, 128)

COUNTED_ROUNDS = 3  # Of tasks whose figures hardly vary: pages, instructions.
DESTROY_PEER_MAX = 80_000  # Objects; some seconds.

STORY_MAKERS = ("malloc", "free lists before malloc", "tarn Pool", "tarn Heap")


@dataclass
class Target:
  """Median of the rounds' ratios of `ours` to `theirs`, at most. Rows: task and size."""
  ours: str
  theirs: str
  most: float
  rows: tuple


GROWTH_ROWS = tuple((task, size) for task in LISTS for size in SIZES)
SLOT_ROWS = tuple((task, size) for task in ("slots", "bare") for size in BLOCK_BYTES)

TARGETS = (
    Target("tarn Pool", "hand-written list", 1.15, GROWTH_ROWS + SLOT_ROWS),
    Target("tarn Pool", "Boost pool", 1.0, GROWTH_ROWS + SLOT_ROWS),
    Target("tarn Pool", "pmr unsynchronized pool", 0.5, GROWTH_ROWS + SLOT_ROWS),
    Target("tarn Pool", "Boost pool, locked", 0.5, GROWTH_ROWS + SLOT_ROWS),
    Target("tarn Pool", "foonathan", 0.5, GROWTH_ROWS + SLOT_ROWS),
    Target("tarn Arena", FLOOR, 1.25, GROWTH_ROWS),
    Target("tarn Arena", "pmr monotonic", 1 / 3, GROWTH_ROWS),
    Target("tarn ArrayAllocator", FLOOR, 1.4, GROWTH_ROWS),
    Target("tarn ArrayAllocator, NoLock", FLOOR, 1.4, GROWTH_ROWS),
)
