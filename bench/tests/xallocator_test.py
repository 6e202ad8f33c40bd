#!/usr/bin/env -S python3 -B
"""Tests bench/xallocator: its program with each contestant, the arithmetic of its report.

  xallocator_test.py PROGRAM

SPDX-License-Identifier: MIT
"""
import unittest

import subject
from subject import run, start
from side_by_side import xallocator_report as report


class Program(unittest.TestCase):
  def test_each_contestant_has_three_runs(self):
    for name in ("floor", "malloc", "xmalloc", "Allocator"):
      for state in report.STATES:
        found = run(state, name, 1000)
        for at in report.RUNS:
          self.assertGreater(found[f"run{at}_ns"], 0, name)
          self.assertGreaterEqual(found[f"run{at}_faults"], 0, name)

  def test_blocks_that_are_used_again_are_not_touched(self):
    """12 MB are 3,000 pages. Fresh blocks are linked by malloc; used again, they are not."""
    found = run("bare", "xmalloc", 2000, TARN_OPTIONS="huge_from_kib=0")
    self.assertGreater(found["run1_faults"], 2500)
    self.assertLess(found["run2_faults"] + found["run3_faults"], 600)

  def test_lists_are_measured_for_each_size(self):
    for task in report.LISTS:
      for name in ("malloc", "tarn_malloc", "xmalloc"):
        found = run(task, name, 1)
        self.assertEqual(list(found), [f"ns_{size}" for size in report.SIZES])
        self.assertGreater(min(found.values()), 0)

  def test_containers_are_measured(self):
    for name in ("malloc", "xmalloc"):
      found = run("containers", name, 10)
      self.assertEqual(list(found), list(report.FILLED))
      self.assertGreater(min(found.values()), 0)

  def test_what_does_not_exist_is_refused(self):
    for words in ((), ("bare",), ("bare", "nobody", 10), ("clean", "xmalloc", 10),
                  ("bare", "xmalloc", 0), ("containers", "floor", 10)):
      self.assertEqual(start(*words).returncode, 2, words)


def rounds(ours, theirs):
  figures = lambda ns: {f"run{run}_{what}": ns for run in report.RUNS for what in ("ns", "faults")}
  return [{("bare", "xmalloc"): figures(a), ("bare", "glibc"): figures(b)}
          for a, b in zip(ours, theirs)]


class Report(unittest.TestCase):
  def test_a_ratio_is_of_each_round(self):
    self.assertEqual(report.speed_ups(rounds((1, 2, 4), (10, 10, 80)), "bare", "xmalloc", 2),
                     [10, 5, 20])

  def test_the_target_is_five_times_and_once_for_the_first_run(self):
    self.assertEqual(report.verdicts(rounds((10,), (50,))).count("| met |"), 3)
    missed = report.verdicts(rounds((10,), (49,)))
    self.assertEqual(missed.count("**missed**"), 2)
    self.assertEqual(report.verdicts(rounds((10,), (9,))).count("**missed**"), 3)

  def test_lists_are_judged_by_the_worst_size(self):
    ours = {f"ns_{size}": 10 if size < 1000 else 13 for size in report.SIZES}
    theirs = {f"ns_{size}": 10 for size in report.SIZES}
    text = report.lists_verdicts([{("own", "xmalloc"): ours, ("own", "tarn_malloc"): theirs}])
    self.assertIn("7 of 8 | 1.30: 1024 bytes", text)
    self.assertNotIn("two threads", text)

  def test_companions_may_be_as_slow_as_std(self):
    filled = lambda ns: dict.fromkeys(report.FILLED, ns)
    text = report.containers_verdicts([{("containers", "xmalloc"): filled(10),
                                        ("containers", "glibc"): {**filled(10), "map_ns": 9}}])
    self.assertEqual(text.count("| met |"), 3)
    self.assertIn("map, keys in order | 1.00 | 1.11 | **missed**", text)

  def test_a_report_has_all_parts(self):
    record = {**subject.RECORD, "peers": ["peer 1"]}
    text = report.markdown(record, rounds((10,), (50,)), ["glibc", "xmalloc", "stranger"])
    for part in ("| xmalloc | 10.0 |", "| glibc | 50.0 |", "| xmalloc | 5.0 |", "peer 1",
                 "- it failed"):
      self.assertIn(part, text)
    self.assertNotIn("stranger", text)


if __name__ == "__main__":
  subject.main()
