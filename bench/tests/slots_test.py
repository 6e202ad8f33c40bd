#!/usr/bin/env -S python3 -B
"""Tests bench/slots: each form of its program with each contestant, and the report's arithmetic.

  slots_test.py PROGRAM

SPDX-License-Identifier: MIT
"""
import unittest

import subject
from subject import run, start
from side_by_side import slot_report


class Program(unittest.TestCase):
  def test_each_form_with_each_contestant(self):
    for word in ("malloc", "unalloc", "floor"):
      for form in slot_report.FORMS:
        found = run(word, form, 20_000, 3)
        self.assertEqual(len(found["ns"]), 3)
        self.assertTrue(all(ns > 0 for ns in found["ns"]))
        self.assertGreater(found["peak_kib"], 0)

  def test_finer_tables_move_more_often(self):
    moved = []
    for steps in slot_report.STEPS:
      found = run("unalloc", "growth", 50, 1, TARN_OPTIONS=f"unalloc_steps={steps}")
      moved.append(found["moved"])
      self.assertGreater(found["resized"], 50 * 65536 / 257)
    self.assertEqual(moved, sorted(moved))
    self.assertLessEqual(moved[0], 50 * 13)  # The doublings above 16, at most up to 128 KiB.
    self.assertGreater(moved[3], 3 * moved[0])

  def test_words_that_make_no_sense(self):
    for words in ((), ("malloc",), ("jalloc", "pairs", 1, 1), ("malloc", "triples", 1, 1)):
      done = start(*words)
      self.assertEqual(done.returncode, 2)
      self.assertIn("usage", done.stderr)


class Report(unittest.TestCase):
  def rounds(self, ours):
    row = {}
    for form in slot_report.FORMS:
      row[form, "glibc"] = {"ns": 101.0, "peak_kib": 2048}
      row[form, "jemalloc"] = {"ns": 51.0, "peak_kib": 2048}
      row[form, "tcmalloc"] = {"ns": 26.0, "peak_kib": 2048}
      row[form, slot_report.FLOOR] = {"ns": 1.0, "peak_kib": 1024}
      for name in slot_report.OURS:
        row[form, name] = {"ns": ours, "peak_kib": 1024}
    return [row] * 3

  def test_ratios(self):
    rounds = self.rounds(11.0)
    self.assertAlmostEqual(slot_report.ratios(rounds, "pairs", slot_report.OURS[0])[0], 101 / 11)
    self.assertAlmostEqual(
        slot_report.ratios(rounds, "pairs", slot_report.OURS[0], less_floor=True)[0], 10)
    self.assertEqual(slot_report.best_peer(rounds, "pairs"), "tcmalloc")

  def test_what_is_as_fast_as_the_floor_has_a_ratio_all_the_same(self):
    found = slot_report.ratios(self.rounds(1.0), "pairs", slot_report.OURS[0], less_floor=True)
    self.assertTrue(all(ratio > 1000 for ratio in found))

  def test_targets_are_judged(self):
    self.assertNotIn("missed", slot_report.targets(self.rounds(20.0)))
    self.assertNotIn("| met", slot_report.targets(self.rounds(21.0)))

  def test_slack_of_the_tables(self):
    rounds = self.rounds(11.0)
    for name in slot_report.OURS:
      rounds[0]["growth", name] = {"resized": 1000, "moved": 20}
    text = slot_report.growth(rounds, {n: 3 * n / (3 * n + 1) for n in slot_report.STEPS})
    for slack in ("25.0 %", "14.3 %", "7.7 %", "4.0 %"):
      self.assertIn(slack, text)
    self.assertIn("50.0", text)


if __name__ == "__main__":
  subject.main()
