"""Tables of what bench/slots has measured: requirement S2.5's loops, and S2.10 beside S2.4.

Samples are rounds, a dictionary each: (form, contestant) to figures.

SPDX-License-Identifier: MIT
"""
from statistics import median

from .driver import PEERS
from .figures import contestants_in, values_of
from .machine import in_words
from .tables import cell, listed, met, table

FORMS = {"pairs": "free and malloc", "realloc": "realloc"}
STEPS = (1, 2, 4, 8)
OURS = tuple(f"unalloc, {n} step{'s' * (n > 1)}" for n in STEPS)
LIFO = "unalloc, 1 step, LIFO"  # As the source orders its blocks.
FLOOR = "floor"
LEAST = 5.0  # Times as fast as glibc.

def ratios(rounds, form, ours, less_floor=False):
  """glibc's time over `ours`, of each round in which both ran; perhaps less the floor's."""
  found = []
  for row in rounds:
    times = [row.get((form, name), {}).get("ns") for name in ("glibc", ours, FLOOR)]
    if None not in times:
      base = times[2] if less_floor else 0
      found.append((times[0] - base) / max(times[1] - base, 0.01))
  return found


def names_in(rounds):
  names = contestants_in(rounds, lambda key: key[0] in FORMS)
  return sorted(names, key=lambda name: (name != "glibc", name in (*OURS, LIFO), name == FLOOR))


def best_peer(rounds, form):
  times = {name: median(values) for name in PEERS
           if (values := values_of(rounds, (form, name), "ns"))}
  return min(times, key=times.get) if times else None


def times(rounds, form):
  lines = []
  for name in names_in(rounds):
    if not (taken := values_of(rounds, (form, name), "ns")):
      continue
    mark = " (best peer)" if name == best_peer(rounds, form) else ""
    lines.append([name + mark, cell(taken),
                  "" if name == "glibc" else cell(ratios(rounds, form, name)),
                  "" if name in ("glibc", FLOOR) else cell(ratios(rounds, form, name, True)),
                  f"{median(values_of(rounds, (form, name), 'peak_kib')) / 1024:.1f}"])
  return table(["", "ns an iteration", "glibc / this", "both less the floor", "peak, MiB"], lines)


def targets(rounds):
  lines = []
  for form, words in FORMS.items():
    for name in (*OURS, LIFO):
      if found := ratios(rounds, form, name):
        lines.append([words, name, f"{LEAST:.0f}", cell(found), met(median(found) >= LEAST)])
  return table(["form", "", "times as fast as glibc, at least", "median [quartiles]", ""], lines)


def growth(rounds, fills):
  """How often a growing block moves, beside the slack of the same table. Counted, not timed."""
  lines = []
  for steps, name in zip(STEPS, OURS):
    if moved := values_of(rounds, ("growth", name), "moved"):
      each = moved[0] / values_of(rounds, ("growth", name), "resized")[0]
      lines.append([name, f"{100 * (1 - fills[steps]):.1f} %", f"{1 / each:.1f}",
                    f"{1000 * each:.1f}"])
  return table(["", "slack, sizes uniform", "resizes a move", "moves in 1,000 resizes"], lines)


def markdown(record, rounds):
  fills = {steps: 3 * steps / (3 * steps + 1) for steps in STEPS}
  text = [
      "# 1024 slots: unalloc beside malloc (S2.5)", "",
      "Made by `bench/slots`; bench/slot_tasks/main.cpp says what is measured. Not edited.", "",
      f"- Machine: {in_words(record['machine'], '-O2')}",
      f"- Command: `{record['command']}`; {record['date']}; {record['repetitions']} interleaved "
      f"rounds of {record['inner']} rounds of {record['iterations']:,} iterations, of which the "
      f"median counts; {record['bystanders']:.2f} cores were busy with other things",
      f"- {record['tarn']}; {'; '.join(record['peers']) or 'no peers'}", "",
      listed(f"Not measured: {failure}" for failure in record["failures"]),
      "Cells are medians [quartiles]; times are of the processor. The article claims 21 and 120 "
      "times for malloc", "and free, 45 to 300 times for realloc, over its C libraries of 2013. "
      "The floor allocates nothing: no", "contestant can be faster. *tarn* is its malloc, "
      "preloaded.", "", "## Targets", "",
      targets(rounds), "", "## Free and malloc", "", times(rounds, "pairs"), "", "## Realloc", "",
      "Blocks of unalloc stay while their class holds the new size (S2.3): in the end each slot "
      "has one of the", "largest, and nothing is copied. The peak shows what that costs.", "",
      times(rounds, "realloc"), "", "## Finer tables move more often (S2.10)", "",
      "Blocks grow from 16 bytes to 64 KiB by 1 to 256 bytes at a time. Counted, the same in each "
      "round.", "", growth(rounds, fills), ""]
  return "\n".join(text)
