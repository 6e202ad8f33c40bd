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
        found = run(name, state, 1000)
        for at in report.RUNS:
          self.assertGreater(found[f"run{at}_ns"], 0, name)
          self.assertGreaterEqual(found[f"run{at}_faults"], 0, name)

  def test_blocks_that_are_used_again_are_not_touched(self):
    """12 MB are 3,000 pages. Fresh blocks are linked by malloc; used again, they are not."""
    found = run("xmalloc", "bare", 2000)
    self.assertGreater(found["run1_faults"], 2500)
    self.assertLess(found["run2_faults"] + found["run3_faults"], 600)

  def test_what_does_not_exist_is_refused(self):
    for words in ((), ("xmalloc",), ("nobody", "bare", 10), ("xmalloc", "clean", 10),
                  ("xmalloc", "bare", 0)):
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

  def test_a_report_has_all_parts(self):
    record = {**subject.RECORD, "peers": ["peer 1"]}
    text = report.markdown(record, rounds((10,), (50,)), ["glibc", "xmalloc", "stranger"])
    for part in ("| xmalloc | 10.0 |", "| glibc | 50.0 |", "| xmalloc | 5.0 |", "peer 1",
                 "- it failed"):
      self.assertIn(part, text)
    self.assertNotIn("stranger", text)


if __name__ == "__main__":
  subject.main()
