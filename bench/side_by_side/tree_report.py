"""Tables of what bench/trees has measured: medians, quartiles, targets met or missed.

Samples are rounds, a dictionary each: (row's label, contestant) to figures.

SPDX-License-Identifier: MIT
"""
from .figures import contestants_in, ratios
from .machine import in_words, run_in_words
from .tables import NOTHING, cell, listed, matrix, table, tally, verdict
from .tree_suite import (LIVES, MOVES, PEER, ROWS, TARGETS, TIMES, UNLIMITED, WEIGHTS)

HEADINGS = {"life": "build and dispose", "relife": "both again", "build": "build",
            "dispose": "dispose", "rebuild": "build again", "redispose": "dispose again",
            "in_order": "oldest first", "shuffled": "shuffled",
            "overhead": "overhead", "resident_overhead": "resident overhead"}


def with_lives(rounds):
  """The same samples with sums beside their parts."""
  return [{key: {**figures, **{name: sum(figures[part] for part in parts)
                               for name, parts in LIVES.items() if figures.keys() >= set(parts)}}
           for key, figures in row.items()} for row in rounds]


def names_in(rounds):
  """Contestants: tarn's first."""
  return sorted(contestants_in(rounds), key=lambda name: (not name.startswith("tarn"), name))


def baseline(rounds, label):
  """talloc, or, where it does not come to an end, talloc with a stack without limit."""
  return PEER if any((label, PEER) in row for row in rounds) else UNLIMITED


def judged(rounds, contestant):
  """(target, row's label, figure, ratios) for all that was measured."""
  for target in TARGETS:
    for row in ROWS:
      for figure in target.figures:
        ours, theirs = (row.label, contestant), (row.label, baseline(rounds, row.label))
        if values := ratios(rounds, ours, theirs, figure):
          yield target, row.label, figure, values


def overview(rounds):
  lines = []
  for name in [name for name in names_in(rounds) if name.startswith("tarn")]:
    for target in TARGETS:
      found = [(values, f"{label}, {HEADINGS[figure]}")
               for kind, label, figure, values in judged(rounds, name) if kind is target]
      if found:
        lines.append([name, target.what, *tally(found, target.most)])
  return table(["", "over talloc's", "at most", "cells that meet it", "worst"], lines)


def targets(rounds, contestant):
  """A row each, its figures across."""
  found = {}
  for target, label, figure, values in judged(rounds, contestant):
    said = verdict(values, target.most)
    found.setdefault(label, {})[figure] = cell(values) + ("" if said == "met" else f" {said}")
  figures = [figure for figure in HEADINGS if any(figure in row for row in found.values())]
  lines = [[label + (" (its stack unlimited)" if baseline(rounds, label) == UNLIMITED else ""),
            *[row.get(figure, NOTHING) for figure in figures]] for label, row in found.items()]
  return table(["over talloc's", *[HEADINGS[figure] for figure in figures]], lines)


def life(rounds, label):
  columns = [(HEADINGS[figure], (label,), figure, 0) for figure in (*LIVES, *TIMES)]
  columns += [(f"{HEADINGS[figure]}, bytes", (label,), figure, 1) for figure in WEIGHTS]
  columns += [(heading, (label,), figure, 0) for heading, figure in
              (("peak MiB", "peak_mib"), ("instructions, build", "build_instructions"),
               ("dispose", "dispose_instructions"))]
  return matrix(rounds, names_in(rounds), columns)


def moves(rounds, label):
  return matrix(rounds, names_in(rounds),
                [(HEADINGS[figure], (label,), figure, 0) for figure in MOVES])


def heading(record):
  return f"""# Trees beside talloc

Made by `bench/trees`; docs/design/bench.md ("Trees") says what is measured and how. Not edited.

- Machine: {in_words(record['machine'], '-O2')}
- Command: {run_in_words(record)}
- tarn {record['tarn']}; {record['peer']}; {record['nodes']:,} nodes
{listed(record['failures'])}
Cells are medians [quartiles]; ratios are medians of the rounds' ratios. Times are of the
processor, ns a node. *Again*: the same a second time, on memory that the process has. *Overhead*:
what blocks hold beyond the bytes that were asked for, a node; *resident*: what the process grew by,
beyond these. Instructions are of the second time, {record['count_nodes']:,} nodes."""


def deepest(record):
  lines = listed(f"{name}: {count}" for name, count in record["deepest"].items())
  return lines and ("The deepest chain that is disposed of in a stack of 8 MiB (talloc_free calls "
                    "itself):\n\n" + lines)


def markdown(record, rounds):
  rounds = with_lives(rounds)
  parts = [heading(record), "## Targets", overview(rounds), deepest(record)]
  for name in [name for name in names_in(rounds) if name.startswith("tarn")]:
    parts += [f"### {name}", targets(rounds, name)]
  parts.append("## Figures")
  for row in ROWS:
    text = moves(rounds, row.label) if row.task == "steal" else life(rounds, row.label)
    if any((row.label, name) in each for each in rounds for name in names_in(rounds)):
      parts.append(f"### {row.label}\n\n{text}")
  return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
