"""What noise cannot touch: what a run executes and misses, asks of the OS, and keeps.

cachegrind executes a task on one model of a processor, the same on every machine, and one thread at
a time; strace counts system calls; the launcher reads page faults and peak memory of a run by
itself. Each of the three is a run of its own.

SPDX-License-Identifier: MIT
"""
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from .driver import Failure
from .measure import Meter

# Caches as those of today's server cores: 32 KiB and 48 KiB of the first level, 2 MiB of the last
# one that a core has to itself. The predictor is cachegrind's own.
MODEL = ("--cache-sim=yes", "--branch-sim=yes", "--I1=32768,8,64", "--D1=49152,12,64",
         "--LL=2097152,16,64")
METRICS = ("instructions", "first", "last", "mispredicted", "calls", "faults", "rss")
TITLES = {
    "instructions": "Instructions",
    "first": "First-level misses (48 KiB, data)",
    "last": "Last-level misses (2 MiB, data)",
    "mispredicted": "Mispredicted branches",
    "calls": "System calls",
    "faults": "Page faults",
    "rss": "Peak RSS",
}
# Times the limit of a run by itself. The slowest of bench/run --counts, z3, takes 150 s of 2,400.
SLOWDOWN = 20


def totals(paths):
  """Of all processes of a run: cachegrind's events and their sums."""
  sums = {}
  for path in paths:
    lines = dict(line.split(": ", 1) for line in path.read_text().splitlines()
                 if line.startswith(("events: ", "summary: ")))
    if len(lines) != 2:
      raise Failure(f"cachegrind did not finish {path.name}")
    for name, count in zip(lines["events"].split(), map(int, lines["summary"].split())):
      sums[name] = sums.get(name, 0) + count
  if not sums:
    raise Failure("cachegrind has written nothing")
  return {"instructions": sums["Ir"], "first": sums["D1mr"] + sums["D1mw"],
          "last": sums["DLmr"] + sums["DLmw"], "mispredicted": sums["Bcm"] + sums["Bim"]}


def calls_in(text):
  """The sum of strace's table."""
  found = re.search(r"^\s*(\d+) total$", text, re.M)
  if not found:
    raise Failure("strace has counted nothing")
  return int(found[1])


class Counter:
  """Counts runs, several at a time: each has a scratch folder of its own. What they print must be
  what `meter` has seen, or what the first of them prints."""

  def __init__(self, meter):
    self.meter = meter

  def meter_of(self, number, slowdown=1):
    place = self.meter.place
    scratch = place.scratch / f"count-{number}"
    scratch.mkdir(parents=True, exist_ok=True)
    meter = Meter(replace(place, scratch=scratch), self.meter.timeout * slowdown)
    meter.outputs = self.meter.outputs
    return meter

  def events(self, task, allocator, number):
    meter = self.meter_of(number, SLOWDOWN)
    for path in meter.place.scratch.glob("cachegrind.*"):
      path.unlink()
    meter.run(task, allocator, ["valgrind", "-q", "--tool=cachegrind", "--trace-children=yes",
                                f"--cachegrind-out-file={meter.place.scratch}/cachegrind.%p",
                                *MODEL])
    return totals(sorted(meter.place.scratch.glob("cachegrind.*")))

  def calls(self, task, allocator, number):
    meter = self.meter_of(number, SLOWDOWN)
    said = Path(meter.place.scratch, "strace.out")
    said.unlink(missing_ok=True)
    meter.run(task, allocator, ["strace", "-f", "-qq", "-c", "-U", "calls,name", "-o", said.name])
    return {"calls": calls_in(said.read_text() if said.exists() else "")}

  def count(self, task, allocator, number):
    """All figures of a task on an allocator, and what of it cannot be counted: {what it does: why}.
    A task that does not run at all is a Failure."""
    alone = self.meter_of(number).run(task, allocator)
    found, lost = {"faults": alone.faults, "rss": alone.rss}, {}
    for what, part in (("asks of the OS", self.calls), ("executes and misses", self.events)):
      try:
        found.update(part(task, allocator, number))
      except Failure as failure:
        lost[what] = failure
    return found, lost


def count_all(tasks, allocators, measure, note):
  """One round: {(task, allocator): figures}. `measure` is as Counter.count; `note` is told of each,
  with its failure or None, and with what could not be counted."""
  pairs = [(task, allocator) for task in tasks for allocator in allocators]
  workers = os.cpu_count() or 1
  free = list(range(workers))

  def one(pair):
    number = free.pop()
    try:
      return *measure(*pair, number), None
    except Failure as failure:
      return None, {}, failure
    finally:
      free.append(number)

  found = {}
  with ThreadPoolExecutor(workers) as pool:
    for (task, allocator), (figures, lost, failure) in zip(pairs, pool.map(one, pairs)):
      if figures:
        found[task.name, allocator.name] = figures
      note(task, allocator, failure, lost)
  return found
