"""Tables of what bench/xallocator has measured: medians, quartiles, the target met or missed.

Samples are rounds, a dictionary each: (task, contestant) to figures.

SPDX-License-Identifier: MIT
"""
from statistics import median

from .figures import ratios
from .machine import in_words, run_in_words
from .tables import cell, listed, matrix, met, table, tally, with_figures

STATES = ("bare", "used")
RUNS = (1, 2, 3)
BASELINE = "glibc"
# Of each run, how many times as fast as glibc at least (S4.10).
TARGETS = {1: 1.0, 2: 5.0, 3: 5.0}
JUDGED = "xmalloc"
# Tasks of lists, how long xmalloc may take beside tarn_malloc, and the sizes of their blocks.
LISTS = {"own": "lists of 1,000 blocks, one thread",
         "own_two": "the same, two threads",
         "handed": "lists that one thread builds and another frees",
         "pair": "one block that comes and goes"}
LISTS_BASE = "tarn_malloc"
LISTS_MOST = 1.25
SIZES = (8, 16, 24, 48, 100, 256, 500, 1024)
CONTAINERS = "containers"
FILLED = {"list_ns": "list of numbers", "map_ns": "map, keys in order",
          "scattered_ns": "map, keys scattered", "strings_ns": "list of strings"}
CONTAINERS_MOST = 1.0


def speed_ups(rounds, state, name, run):
  """glibc's time over the contestant's, of each round in which both ran."""
  return ratios(rounds, (state, BASELINE), (state, name), f"run{run}_ns")


def times(rounds, state, names):
  columns = [(f"run {run}", (state,), f"run{run}_ns", 1) for run in RUNS]
  columns += [("page faults, run 1", (state,), "run1_faults", 0),
              ("run 2", (state,), "run2_faults", 0)]
  return matrix(rounds, names, columns)


def gains(rounds, state, names):
  lines = [[name, *[cell(speed_ups(rounds, state, name, run), 1) for run in RUNS]]
           for name in names if name not in (BASELINE, "floor")]
  return table(["glibc's time over that of", *[f"run {run}" for run in RUNS]], with_figures(lines))


def verdicts(rounds):
  lines = []
  for state in STATES:
    for run, least in TARGETS.items():
      values = speed_ups(rounds, state, JUDGED, run)
      if values:
        lines.append([f"{state}, run {run}", f"{least:.0f}", cell(values, 1),
                      met(median(values) >= least)])
  return table([f"glibc's time over {JUDGED}'s", "at least", "median [quartiles]", ""], lines)


def lists_verdicts(rounds):
  lines = []
  for task, words in LISTS.items():
    found = [(ratios(rounds, (task, JUDGED), (task, LISTS_BASE), f"ns_{size}"), f"{size} bytes")
             for size in SIZES]
    if all(values for values, _ in found):
      lines.append([words, *tally(found, LISTS_MOST)])
  return table([f"{JUDGED} / {LISTS_BASE}", "at most", "sizes that meet it", "worst"], lines)


def containers_verdicts(rounds):
  lines = []
  for figure, words in FILLED.items():
    values = ratios(rounds, (CONTAINERS, JUDGED), (CONTAINERS, BASELINE), figure)
    if values:
      lines.append([words, f"{CONTAINERS_MOST:.2f}", cell(values),
                    met(median(values) <= CONTAINERS_MOST)])
  return table([f"companion / std's on {BASELINE}", "at most", "median [quartiles]", ""], lines)


def lists_times(rounds, names):
  return "\n".join(f"{words}:\n\n" + matrix(
      rounds, names, [(f"{size} bytes", (task,), f"ns_{size}", 1) for size in SIZES])
                   for task, words in LISTS.items())


def markdown(record, rounds, names):
  return f"""# The xallocator article's benchmark

Made by `bench/xallocator`; docs/design/bench.md ("xallocator") says what is measured and how. \
Not edited.

- Machine: {in_words(record['machine'])}
- Command: {run_in_words(record)}
- tarn: {record['tarn']}; peers: {', '.join(record['peers']) or 'none'}
{listed(record['failures'])}
20,000 blocks of 2048 bytes, every other one freed; 20,000 of 4096; the other half of the first
freed; those of 4096 freed, the last one first: 80,000 operations a run, three runs in one process.

## Targets

{verdicts(rounds)}
{lists_verdicts(rounds)}
{containers_verdicts(rounds)}
## Nanoseconds of processor time an operation, medians [quartiles]: blocks that nobody touches

{times(rounds, 'bare', names)}
{gains(rounds, 'bare', names)}
## The same, a word of each block written by the program

{times(rounds, 'used', names)}
{gains(rounds, 'used', names)}
## Nanoseconds a block of a list, of processor time (by the clock where a thread waits for another)

{lists_times(rounds, [JUDGED, LISTS_BASE, BASELINE])}
## Nanoseconds of processor time an element: containers filled with 10,000 and cleared

xmalloc: the companions; the others: std's.

{matrix(rounds, names, [(words, (CONTAINERS,), figure, 1) for figure, words in FILLED.items()])}"""
