#!/usr/bin/env -S python3 -B
"""Tests bench/heaps: each task at a small size on tarn and glibc, the arithmetic of the report.

  heaps_test.py PROGRAM LIBRARY

What a task measures is checked where it cannot depend on time: pages, bytes, what is brought back.

SPDX-License-Identifier: MIT
"""
import sys
import unittest

import subject
from subject import start
from side_by_side import heap_report, heap_suite

LIBRARY = sys.argv[2]


def run(task, maker, *numbers):
  return subject.run(task, maker, LIBRARY, *numbers)



class Tasks(unittest.TestCase):
  def test_life(self):
    for maker in ("tarn", "tarn-serialised", "tarn-confined"):
      figures = run("create", maker, 2000, 1, 10)
      self.assertGreater(figures["ns"], 0)

  def test_weight_is_that_of_blocks_and_more(self):
    for kind in ("32", "51", "16", "doubled", "random", "same-random"):
      figures = run("many", "tarn", 2000, kind)
      self.assertGreater(figures["bytes"], figures["asked"])
      self.assertGreaterEqual(figures["asked"], 55)  # Ten different sizes.

  def test_an_ended_heap_is_returned(self):
    self.assertGreater(run("destroy", "tarn", 400000, 32)["returned_mib"], 11)
    self.assertGreater(run("destroy", "tarn", 400000, 32, 1)["full_mib"], 0)

  def test_nothing_is_brought_back(self):  # Without a limit nothing is swapped out either.
    figures = run("swapped", "tarn", 8, 32, 1)
    self.assertEqual(figures["brought_back"], 0)
    self.assertGreaterEqual(figures["block_pages"], 2048)

  def test_a_heap_each_separates_structures(self):
    apart, mixed = run("pages", "tarn", 20000), run("pages", "glibc", 20000)
    self.assertLess(apart["pages_each"] * 4, apart["pages_all"])
    self.assertGreater(mixed["pages_each"] * 2, mixed["pages_all"])
    self.assertEqual(run("holes", "tarn", 20000)["pages_kept_percent"], 0)
    self.assertGreater(run("holes", "glibc", 20000)["pages_kept_percent"], 50)

  def test_class_tables_waste_what_they_promise(self):
    for table, fill in ((1, 0.75), (2, 0.857), (4, 0.923), (8, 0.96), (0, 0.985)):
      figures = run("tables", "tarn", table, 20000, 5000)
      self.assertAlmostEqual(figures["asked_bytes"] / figures["live_bytes"], fill, delta=0.01)
      self.assertGreater(figures["committed_bytes"], figures["live_bytes"])
      self.assertGreater(figures["step_ns"], 0)
    moves = [run("tables", "tarn", table, 1000, 100)["moves"] for table in (1, 2, 4, 8)]
    self.assertEqual(moves[0], 13)  # From 16 bytes to 128 KiB.
    self.assertEqual(moves, sorted(moves))
    figures = run("tables", "tarn", 7, 20000, 5000, 1)
    self.assertGreater(figures["asked_bytes"] / figures["live_bytes"], 0.98)

  def test_walks_and_drops(self):
    figures = run("traverse", "tarn", 1000, 3)
    self.assertEqual(figures["compared"], 3 * figures["elements"])
    self.assertEqual(run("traverse", "glibc", 1000, 3), figures)
    self.assertIn("wall_ms", run("drop", "tarn", 1000))

  def test_rates(self):
    self.assertGreater(run("speed", "tarn-fixed", 20000, 48)["step_ns"], 0)
    for maker, has_shared in (("tarn", True), ("tarn-confined", False)):
      rounds = run("scaling", maker, 2000, 3)["rounds"]
      self.assertEqual(len(rounds), 3)
      self.assertEqual("shared_two" in rounds[0], has_shared)

  def test_what_does_not_exist_is_refused(self):
    for words in (("create", "nobody", LIBRARY), ("nothing", "tarn", LIBRARY), ("create",)):
      self.assertEqual(start(*words).returncode, 2)


class Report(unittest.TestCase):
  def test_ratio_is_of_each_slice(self):
    slice_ = {"bare_one": [2, 1], "bare_two": [3, 2], "own_one": [8, 10], "own_two": [6, 20]}
    key = ("scaling", "tarn")
    rounds = [{key: {"rounds": [slice_]}}, {}]
    self.assertEqual(heap_report.scaling_ratios(rounds, key, heap_report.PAIRS[0], 0), [0.5])
    self.assertEqual(heap_report.scaling_ratios(rounds, key, heap_report.PAIRS[0], 1), [1.0])
    self.assertEqual(heap_report.scaling_ratios(rounds, key, heap_report.PAIRS[1], 0), [])

  def test_missed_targets_are_marked(self):
    row = next(row for row in heap_suite.rows() if row.name == "create_empty")
    met, missed = (heap_report.targets([row], [{("create_empty", "tarn"): {"cpu_ns": ns}}], 0)
                   for ns in (999, 1001))
    self.assertNotIn("**missed**", met)
    self.assertIn("**missed**", missed)

  def test_a_busy_machine_judges_no_wall_time_of_two_threads(self):
    row = next(row for row in heap_suite.rows() if row.name == "scaling")
    slice_ = {"bare_one": [1, 1], "bare_two": [2, 2], "own_one": [1, 1], "own_two": [1, 1]}
    rounds = [{("scaling", "tarn"): {"rounds": [slice_]}}]
    for bystanders, missed in ((0.0, 2), (1.4, 1)):
      text = heap_report.targets([row], rounds, bystanders)
      self.assertEqual(text.count("**missed**"), missed)

  def test_every_row_has_a_name_of_its_own(self):
    names = [row.name for row in heap_suite.rows()]
    self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
  subject.main()
