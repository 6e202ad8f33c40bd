#!/usr/bin/env -S python3 -B
"""Tests bench/trees: each task of its program at a small size, the arithmetic of the report.

  trees_test.py PROGRAM

What a task measures is checked where it cannot depend on time: bytes, nodes.

SPDX-License-Identifier: MIT
"""
import unittest

import subject
from subject import run, start
from side_by_side import figures, tree_report, tree_suite

NAMES = start("names").stdout.splitlines()


class Tasks(unittest.TestCase):
  def test_each_row_runs_with_each_contestant(self):
    self.assertIn("tarn", NAMES)
    for row in tree_suite.ROWS:
      for name in NAMES:
        found = run(row.task, name, row.shape, row.size, 3000)
        figures = tree_suite.MOVES if row.task == "steal" else tree_suite.TIMES
        for figure in figures:
          self.assertGreater(found[figure], 0, (row, name, figure))

  def test_all_ask_for_the_same(self):
    for shape, size, least, most in (("wide", 24, 24, 24), ("random", "mixed", 66, 70),
                                     ("document", "own", 33, 36)):
      asked = {run("life", name, shape, size, 20000)["asked"] for name in NAMES}
      self.assertEqual(len(asked), 1)
      self.assertTrue(least <= asked.pop() <= most)

  def test_overhead_is_exact(self):
    self.assertAlmostEqual(run("life", "tarn", "wide", 64, 10000)["overhead"], 16, delta=0.1)
    found = run("life", "tarn", "wide", 24, 100000)
    self.assertAlmostEqual(found["overhead"], 24, delta=0.1)  # 40 bytes come in 48.
    self.assertGreater(found["resident_overhead"], 20)
    self.assertLess(found["resident_overhead"], 40)
    with_destructor = run("destructors", "tarn", "wide", 24, 10000)["overhead"]
    self.assertGreater(with_destructor, found["overhead"])

  def test_what_is_to_be_counted_runs(self):
    for task in ("count", "count_destructors"):
      for name in NAMES:
        self.assertEqual(run(task, name, "random", "mixed", 1000)["nodes"], 1000)

  def test_what_does_not_exist_is_refused(self):
    for words in ((), ("life",), ("nothing", "tarn", "wide", 24, 10),
                  ("life", "nobody", "wide", 24, 10), ("life", "tarn", "round", 24, 10),
                  ("life", "tarn", "wide", "none", 10)):
      self.assertEqual(start(*words).returncode, 2, words)


class Report(unittest.TestCase):
  LABEL = "wide 24"

  def rounds(self, pairs, figure="build", peer="talloc"):
    return [{(self.LABEL, "tarn"): {figure: ours}, (self.LABEL, peer): {figure: theirs}}
            for ours, theirs in pairs]

  def test_each_kind_has_its_target(self):
    for figure, pair in (("dispose", (50, 100)), ("overhead", (33, 100))):
      met = self.rounds([pair] * 3, figure)
      missed = self.rounds([(pair[0] + 1, pair[1])] * 3, figure)
      self.assertIn("1 of 1", tree_report.overview(met))
      self.assertNotIn("missed", tree_report.targets(met, "tarn"))
      self.assertIn("0 of 1", tree_report.overview(missed))
      self.assertIn("**missed**", tree_report.targets(missed, "tarn"))

  def test_a_life_is_what_its_parts_take_in_each_round(self):
    parts = {"build": 3, "dispose": 4, "rebuild": 5}
    rounds = tree_report.with_lives([{(self.LABEL, "tarn"): parts}])
    self.assertEqual(figures.values_of(rounds, (self.LABEL, "tarn"), "life"), [7])
    self.assertEqual(figures.values_of(rounds, (self.LABEL, "tarn"), "relife"), [])

  def test_where_talloc_does_not_end_its_stack_is_unlimited(self):
    rounds = self.rounds([(1, 4)], peer=tree_suite.UNLIMITED)
    self.assertIn("0.25", tree_report.targets(rounds, "tarn"))
    self.assertIn("unlimited", tree_report.targets(rounds, "tarn"))

  def test_a_report_has_all_contestants(self):
    record = {**subject.RECORD, "peer": "?", "nodes": 1, "count_nodes": 1,
              "deepest": {"talloc": "5 nodes"}}
    text = tree_report.markdown(record, self.rounds([(1, 4)]))
    for part in ("| talloc | – | – | 4 |", "| tarn | – | – | 1 |",
                 "- it failed", "- talloc: 5 nodes"):
      self.assertIn(part, text)

  def test_every_row_has_a_name_of_its_own(self):
    labels = [row.label for row in tree_suite.ROWS]
    self.assertEqual(len(labels), len(set(labels)))


if __name__ == "__main__":
  subject.main()
