#!/usr/bin/env -S python3 -B
"""Tests bench/scaling: each series of its program, and the report's arithmetic.

  scaling_test.py PROGRAM

SPDX-License-Identifier: MIT
"""
import unittest

import subject
from subject import RECORD, run, start
from side_by_side import scaling_report
from side_by_side.scaling_report import BY_NAME


class Program(unittest.TestCase):
  def test_each_series(self):
    for words in (("live", 2), ("size", 8), ("size", 4 << 20), ("threads", 3)):
      found = run(*words)
      self.assertGreater(found["ns"], 0)
      self.assertGreater(found["overhead"], 0.5, words)
      self.assertLess(found["overhead"], 20, words)

  def test_more_is_live_in_a_larger_point(self):
    """What is resident beside what is live hardly changes, so both are counted."""
    small, large = run("live", 4), run("live", 16)
    self.assertLess(abs(small["overhead"] / large["overhead"] - 1), 0.5)

  def test_periods_have_a_figure_each(self):
    found = run("uptime", 3)
    self.assertEqual([len(found["ns"]), len(found["overhead"])], [3, 3])

  def test_heaps_are_tarns(self):
    done = start("heaps", 10)
    self.assertEqual(done.returncode, 3)

  def test_words_that_make_no_sense(self):
    for words in ((), ("live",), ("life", 1), ("live", 0), ("live", "x"), ("live", -1),
                  ("live", "1x"), ("threads", 5000), ("live", 1, 1, 1), ("live", 1, "x")):
      done = start(*words)
      self.assertEqual(done.returncode, 2, words)
      self.assertIn("usage", done.stderr)


class Report(unittest.TestCase):
  def rounds(self):
    row = {}
    for point, ns in ((1, 10.0), (4, 20.0), (16, 90.0)):
      row["live", point, "glibc"] = {"ns": ns, "fill_ns": ns, "overhead": 1.25}
      row["live", point, "tarn"] = {"ns": 5.0, "fill_ns": 7.0, "overhead": 1.5}
    row["uptime", 3, "tarn"] = {"ns": [1.0, 2.0, 3.0], "overhead": [1.1, 1.2, 1.3]}
    return [row] * 3

  def test_lists_are_points(self):
    rounds = scaling_report.spread_out(self.rounds())
    found = scaling_report.medians(rounds, BY_NAME["uptime"], "tarn", "overhead")
    self.assertEqual(found, {1: 1.1, 2: 1.2, 3: 1.3})

  def test_a_cliff_shows(self):
    self.assertEqual(scaling_report.steepest({1: 10.0, 4: 20.0, 16: 90.0}), (4.5, 16))
    self.assertIsNone(scaling_report.steepest({1: 10.0}))
    text = scaling_report.markdown({**RECORD, "contestants": [["tarn", "?"]]}, self.rounds())
    self.assertIn("4.50 at 16 MiB", text)
    self.assertIn("1.00 at", text)
    self.assertIn("Not measured: it failed", text)

  def test_many_points_are_thinned_out(self):
    shown = scaling_report.shown_points(list(range(1, 97)))
    self.assertEqual((shown[0], shown[-1], len(shown)), (1, 96, 12))

  def test_labels(self):
    self.assertEqual([scaling_report.bytes_label(n) for n in (8, 4096, 1 << 20, 1 << 30)],
                     ["8 B", "4 KiB", "1 MiB", "1 GiB"])


if __name__ == "__main__":
  subject.main()
