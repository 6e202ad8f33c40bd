"""Tables of what bench/heaps has measured: medians, half the range, targets met or missed.

Samples are rounds, a dictionary each: (row's name, maker) to figures.

SPDX-License-Identifier: MIT
"""
from statistics import median

from .figures import values_of
from .machine import in_words, run_in_words
from .tables import listed, met, percent_cell, range_cell, table

# Of two threads: what is compared with what; the loop without allocation first.
PAIRS = (("own_two", "a heap each", "bare", "own", 0.95),
         ("shared_two", "one heap", "bare", "own", 0.85),
         ("processes_two", "two processes", "bare", "own", None),
         ("crossed_two", "crossed frees", "crossed_bare", "crossed", None))

BYSTANDERS_MAX = 0.2  # Cores.


def plain_table(row, rounds):
  lines = []
  for maker in row.makers:
    numbers = row.other_numbers.get(maker)
    note = ""
    if numbers:
      note = f" ({numbers[0]:,} heaps"
      note += f", {numbers[2]:,} alive)" if row.task == "create" and numbers[2] > 1 else ")"
    lines.append([maker + note, *[range_cell(values_of(rounds, (row.name, maker), name), digits)
                                  for name, _, digits in row.shown]])
  heading = f"{row.label}\n\n" if row.label else ""
  return heading + table(["", *[title for _, title, _ in row.shown]], lines)


def scaling_ratios(rounds, key, pair, clock):
  """(two threads / one) / (the same of the loop without allocation), a ratio per slice."""
  two, _, bare, one, _ = pair
  return [(slice_[two][clock] / slice_[f"{one}_one"][clock]) /
          (slice_[f"{bare}_two"][clock] / slice_[f"{bare}_one"][clock])
          for slices in values_of(rounds, key, "rounds") for slice_ in slices if two in slice_]


def scaling_table(row, rounds):
  header = [""] + [f"{label}, {clock}" for _, label, *_ in PAIRS
                   for clock in ("wall", "processor")]
  lines = [[maker, *[percent_cell(scaling_ratios(rounds, (row.name, maker), pair, clock))
                     for pair in PAIRS for clock in (0, 1)]] for maker in row.makers]
  return ("Throughput of two threads over that of one, divided by the same of the loop without "
          "allocation; in brackets the middle half of the slices.\n\n" + table(header, lines))


def targets(rows, rounds, bystanders):
  """Lines: row, target, median, met or not. What two threads do by the wall clock tells about the
  other programs on the machine unless there are none."""
  def verdict(is_met, is_judged=True):
    return met(is_met) if is_judged else "not judged: the machine was busy"
  lines = []
  for row in rows:
    for figure, most, maker in row.targets:
      values = values_of(rounds, (row.name, maker), figure)
      if values:
        lines.append([row.name, f"{figure} <= {most:,g}", f"{median(values):,.4g}",
                      verdict(median(values) <= most)])
    if row.task == "scaling":
      for pair in PAIRS:
        for clock, at in (("wall", 0), ("processor", 1)):
          values = scaling_ratios(rounds, (row.name, "tarn"), pair, at)
          if pair[4] and values:
            lines.append([row.name, f"{pair[1]}, {clock} >= {pair[4]:.0%}",
                          f"{median(values):.1%}",
                          verdict(median(values) >= pair[4],
                                  clock != "wall" or bystanders < BYSTANDERS_MAX)])
  return table(["row", "target", "median", ""], lines)


def markdown(record, rows, rounds):
  parts = [f"""# Heaps beside mimalloc's heaps, and beside one malloc

Made by `bench/heaps` (`make bench-heaps`); docs/design/bench.md says what is measured and how.

- Machine: {in_words(record['machine'])}
- Command: {run_in_words(record)}
- tarn {record['tarn']}, mimalloc {record['mimalloc']}

Figures are medians ± half the range. glibc, tarn-malloc and mimalloc3-malloc have one malloc for
all structures; the others a heap for each.

## Targets
{targets(rows, rounds, record['bystanders'])}"""]
  section = None
  for row in rows:
    if row.section != section:
      section = row.section
      parts.append(f"## {section}")
    parts.append((scaling_table if row.task == "scaling" else plain_table)(row, rounds))
  if record["failures"]:
    parts += ["## What failed or was left out", listed(record["failures"])]
  return "\n".join(parts).rstrip() + "\n"
