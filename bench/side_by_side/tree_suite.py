"""What is measured of trees, and what it is measured against: see docs/design/bench.md.

A contestant of the program (bench/tree_tasks) that is named in none of the lists here is run and
shown as the others are.

SPDX-License-Identifier: MIT
"""
from dataclasses import dataclass

SIZES = ("24", "64", "mixed")
SHAPES = ("wide", "deep", "chains", "random")
NODES = 1_000_000
COUNT_NODES = 10_000  # Of which instructions are counted, by callgrind.

PEER = "talloc"
UNLIMITED = "talloc, unlimited stack"
PRELOADED = "talloc on tarn's malloc"
# Runs that are no contestants of the program: its contestant, preloaded tarn, unlimited stack.
FURTHER = {PRELOADED: (PEER, True, False), UNLIMITED: (PEER, False, True)}


@dataclass(frozen=True)
class Row:
  """A task of the program with a shape and a size."""
  task: str
  shape: str
  size: str

  @property
  def label(self):
    kind = "" if self.task == "life" else f"{self.task}, "
    return f"{kind}{self.shape}" + ("" if self.size == "own" else f" {self.size}")

  def contestants(self, names):
    """Those of the program, and of the further ones those that have something to show here."""
    further = [PRELOADED] + ([UNLIMITED] if self.shape in ("deep", "chains") else [])
    return [*names, *(further if PEER in names else [])]


ROWS = tuple(Row("life", shape, size) for shape in SHAPES for size in SIZES) + (
    Row("life", "document", "own"),
    *(Row("destructors", shape, "24") for shape in ("wide", "random")),
    Row("steal", "random", "24"))

TIMES = ("build", "dispose", "rebuild", "redispose")
LIVES = {"life": ("build", "dispose"), "relife": ("rebuild", "redispose")}  # Sums.
MOVES = ("in_order", "shuffled")
WEIGHTS = ("overhead", "resident_overhead")


@dataclass(frozen=True)
class Target:
  """Of one of tarn's contestants to talloc: median of the rounds' ratios, at most."""
  what: str
  most: float
  figures: tuple


TARGETS = (Target("time to build and dispose", 0.5, tuple(LIVES)),
           Target("time of each part", 0.5, TIMES + MOVES),
           Target("overhead", 1 / 3, WEIGHTS))
