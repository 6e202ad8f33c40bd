"""Tables of what bench/xallocator has measured: medians, quartiles, the target met or missed.

Samples are rounds, a dictionary each: (state, contestant) to figures.

SPDX-License-Identifier: MIT
"""
from statistics import median

from .heap_report import table
from .machine import in_words, run_in_words
from .pool_report import cell

STATES = ("bare", "used")
RUNS = (1, 2, 3)
BASELINE = "glibc"
OURS = ("xmalloc", "tarn ClassPools", "Allocator", "tarn malloc")
# Of each run, how many times as fast as glibc at least (S4.10).
TARGETS = {1: 1.0, 2: 5.0, 3: 5.0}
JUDGED = "xmalloc"


def values_of(rounds, state, name, figure):
  return [row[state, name][figure] for row in rounds if (state, name) in row]


def speed_ups(rounds, state, name, run):
  """glibc's time over the contestant's, of each round in which both ran."""
  figure = f"run{run}_ns"
  return [row[state, BASELINE][figure] / row[state, name][figure] for row in rounds
          if (state, name) in row and (state, BASELINE) in row and row[state, name][figure] > 0]


def times(rounds, state, names):
  lines = []
  for name in names:
    cells = [cell(values_of(rounds, state, name, f"run{run}_ns"), 1) for run in RUNS]
    cells.append(cell(values_of(rounds, state, name, "run1_faults"), 0))
    cells.append(cell(values_of(rounds, state, name, "run2_faults"), 0))
    if set(cells) != {"–"}:
      lines.append([name, *cells])
  return table(["", "run 1", "run 2", "run 3", "page faults, run 1", "run 2"], lines)


def ratios(rounds, state, names):
  lines = []
  for name in names:
    if name in (BASELINE, "floor"):
      continue
    cells = [cell(speed_ups(rounds, state, name, run), 1) for run in RUNS]
    if set(cells) != {"–"}:
      lines.append([name, *cells])
  return table(["glibc's time over that of", "run 1", "run 2", "run 3"], lines)


def verdicts(rounds):
  lines = []
  for state in STATES:
    for run, least in TARGETS.items():
      values = speed_ups(rounds, state, JUDGED, run)
      if values:
        said = "met" if median(values) >= least else "**missed**"
        lines.append([f"{state}, run {run}", f"{least:.0f}", cell(values, 1), said])
  return table([f"glibc's time over {JUDGED}'s", "at least", "median [quartiles]", ""], lines)


def markdown(record, rounds, names):
  said = "".join(f"- {line}\n" for line in record["failures"])
  return f"""# The xallocator article's benchmark

Made by `bench/xallocator`; docs/design/bench.md ("xallocator") says what is measured and how. \
Not edited.

- Machine: {in_words(record['machine'])}
- Command: {run_in_words(record)}
- tarn: {record['tarn']}; peers: {', '.join(record['peers']) or 'none'}
{said}
20,000 blocks of 2048 bytes, every other one freed; 20,000 of 4096; the other half of the first
freed; those of 4096 freed, the last one first: 80,000 operations a run, three runs in one process.

## Target (S4.10)

{verdicts(rounds)}
## Nanoseconds of processor time an operation, medians [quartiles]: blocks that nobody touches

{times(rounds, 'bare', names)}
{ratios(rounds, 'bare', names)}
## The same, a word of each block written by the program

{times(rounds, 'used', names)}
{ratios(rounds, 'used', names)}"""
