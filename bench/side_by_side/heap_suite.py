"""What is measured of heaps, and what of it is shown: see docs/design/bench.md, "Heaps".

A row is one task with its numbers, run with each of its makers in turn; `shown` are the figures of
the report, and a target bounds the median of one of them for tarn.

SPDX-License-Identifier: MIT
"""
from dataclasses import dataclass, field

HEAPS = ("tarn", "mimalloc3")
ALL = ("glibc", "tarn-malloc", "tarn", "mimalloc3-malloc", "mimalloc3")
EVERY = (*ALL[:3], "tarn-confined", *ALL[3:])


@dataclass
class Row:
  section: str
  name: str                   # Of this row, for --only.
  label: str
  task: str
  numbers: tuple
  makers: tuple
  shown: tuple                # Figure, heading, digits.
  targets: tuple = ()         # Figure, at most, maker.
  other_numbers: dict = field(default_factory=dict)  # Of a maker that cannot have the same.
  needs: str = ""             # "swap", "cachegrind" or "callgrind": how it is run.


LIFE = (("ns", "wall ns", 0), ("cpu_ns", "processor ns", 0))
WEIGHT = (("bytes", "resident bytes per heap", 0), ("asked", "asked for", 0),
          ("fill_ns", "make and fill, ns", 0), ("destroy_ns", "destroy, ns", 0))
END = (("wall_ms", "wall ms", 3), ("cpu_ms", "processor ms", 3), ("user_ms", "user ms", 2),
       ("system_ms", "system ms", 2), ("returned_mib", "MiB returned", 1))
SWAP = (("block_pages", "block pages", 0), ("swapped_before", "swapped out", 0),
        ("brought_back", "of them brought back", 0), ("major_faults", "major faults", 0),
        ("minor_faults", "minor faults", 0), ("metadata_pages", "metadata pages", 0),
        ("metadata_percent", "metadata %", 3), ("faulted_percent", "faulted %", 3),
        ("wall_ms", "wall ms", 2))
SPEED = (("step_ns", "ns a step", 1), ("ns", "less the bare loop", 1))
PAGES = (("pages_each", "pages per structure", 0), ("pages_most", "most", 0),
         ("pages_all", "pages in all", 0), ("asked_pages", "pages' worth asked for", 0))
HOLES = (("pages_kept_percent", "of its pages kept by others, %", 1),
         ("returned_percent", "returned at once, % of its bytes", 0),
         ("returned_trimmed_percent", "after a trim, %", 0))


def life_rows():
  section = "1. Making and ending a heap"
  for name, blocks, target in (("empty", 0, 1000), ("one_block", 1, 1000)):
    label = "empty" if blocks == 0 else "one block of 32 bytes"
    makers = ("tarn", "tarn-serialised", "tarn-confined", "mimalloc3")
    yield Row(section, f"create_{name}", f"{label}, one at a time", "create",
              (1000000, blocks, 1), makers, LIFE, (("cpu_ns", target, "tarn"),))
    yield Row(section, f"create_{name}_1000", f"{label}, 1000 alive", "create",
              (1000000, blocks, 1000), makers, LIFE, (("cpu_ns", target, "tarn"),),
              {"mimalloc3": (100000, blocks, 1000)})
  # More blocks than a young heap has: what is made for them goes, too.
  for alive, name in ((1, "one at a time"), (10000, "10,000 alive")):
    yield Row(section, f"create_grown_{alive}", f"100 blocks of 32 bytes, {name}", "create",
              (20000, 100, alive), HEAPS, LIFE, (), {"mimalloc3": (2000, 100, min(alive, 1000))})


def weight_rows():
  section = "2. Live heaps with ten blocks each; further down with more"
  kinds = (("32", "ten of 32 bytes", 5.5), ("51", "51, 102, ... 510", 9),
           ("16", "16, 32, ... 160", 9), ("doubled", "16, 32, 48, 64, 96, ... 512", 9),
           ("same-random", "ten random, alike in all heaps", 9),
           ("random", "ten random, others in each", 9))
  for kind, label, target in kinds:
    # A thousand of mimalloc's weigh more than 100,000 of tarn's.
    yield Row(section, f"many_{kind.replace('-', '_')}", label, "many", (100000, kind), HEAPS,
              WEIGHT, (("bytes", target * 1024, "tarn"),), {"mimalloc3": (1000, kind)})
  for kind, blocks, label in (("32", 60, "60 of 32 bytes"), ("32", 100, "100 of 32 bytes"),
                              ("same-random", 40, "40 of ten random sizes"),
                              ("same-random", 100, "100 of ten random sizes")):
    yield Row(section, f"many_{kind.replace('-', '_')}_{blocks}", label, "many",
              (10000, kind, blocks), HEAPS, WEIGHT,
              other_numbers={"mimalloc3": (1000, kind, blocks)})


def end_rows():
  section = "3. Ending a heap of 4,000,000 blocks of 32 bytes"
  yield Row(section, "destroy", "as it is", "destroy", (4000000, 32), ALL, END)
  yield Row(section, "destroy_away", "its blocks' pages taken away before", "destroy",
            (4000000, 32, 1), ("tarn",), END, (("cpu_ms", 1.0, "tarn"),))
  yield Row(section, "destroy_instructions", "instructions in user mode", "destroy", (4000000, 32),
            ALL, (("instructions", "instructions", 0),), needs="callgrind")
  yield Row("4. Ending a heap that is swapped out: 256 MiB of blocks of 32 bytes, limit 64 MiB",
            "swapped", "", "swapped", (256, 32, 56), ALL, SWAP,
            (("brought_back", 0, "tarn"), ("faulted_percent", 0.2, "tarn"),
             ("metadata_percent", 0.2, "tarn")), needs="swap")


def benefit_rows():
  section = "6a. Faster allocation: free a random one of 512 live blocks, allocate, write"
  yield Row(section, "speed", "random sizes 8..256", "speed", (10000000, 0), EVERY, SPEED)
  yield Row(section, "speed_48", "48 bytes", "speed", (10000000, 48),
            (*EVERY[:4], "tarn-fixed", *EVERY[4:]), SPEED)
  section = "6b. Less paging: five lists grown in turn, 600,000 strings alive"
  yield Row(section, "pages", "", "pages", (300000,), ALL, PAGES)
  yield Row(section, "misses", "a walk along all five, last level of 4 MiB", "traverse", (200000,),
            ALL, (("misses", "misses per string", 3), ("first_level", "first level", 3)),
            needs="cachegrind")
  section = "6c. Less fragmentation: the third of the five lists goes away"
  yield Row(section, "holes", "", "holes", (300000,), ALL, HOLES)
  section = "6d. Freeing at once: all five lists go away"
  yield Row(section, "drop", "", "drop", (300000,), ALL,
            (("wall_ms", "wall ms", 2), ("cpu_ms", "processor ms", 2)))


def equilibrium_rows():
  section = ("7. Free blocks for each live one when as many come as go (Knuth's fifty-percent "
             "rule: 0.5 where blocks are cut and joined)")
  for live, most in ((20000, 1024), (200000, 128), (2000, 16384)):
    yield Row(section, f"equilibrium_{most}", f"{live:,} live blocks of 1 to {most:,} bytes",
              "equilibrium", (5000000, live, most), ("glibc", "tarn"),
              (("free_per_live", "free / live", 3),))


def rows():
  scaling = Row("5. Two threads (and 6e, separate heaps without synchronisation)", "scaling", "",
                "scaling", (400000, 15), EVERY, ())
  return [*life_rows(), *weight_rows(), *end_rows(), scaling, *benefit_rows(),
          *equilibrium_rows()]
