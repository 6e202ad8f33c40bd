#!/usr/bin/env -S python3 -B
"""Tests bench/misuse: how an outcome is told, and the report's arithmetic.

SPDX-License-Identifier: MIT
"""
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import subject  # First: it says where the others are.
from side_by_side import driver, misuse_report, misuse_suite


class Outcomes(unittest.TestCase):
  def outcome(self, script):
    with TemporaryDirectory() as folder:
      program = Path(folder) / "program"
      program.write_text(f"#!/bin/sh\n{script}\n")
      program.chmod(0o755)
      return misuse_suite.outcome(program, "a/case/24", driver.glibc())

  def test_what_a_status_and_a_signal_say(self):
    for script, outcome in (("exit 0", "unnoticed"), ("exit 3", "harmed"), ("exit 4", "leaked"),
                            ("kill -SEGV $$", "crashed"), ("exit 1", "crashed"),
                            ("echo why >&2; kill -ABRT $$", "reported"),
                            ("echo why >&2; kill -SEGV $$", "reported"),
                            ("echo why >&2; exit 0", "unnoticed")):
      self.assertEqual(self.outcome(script), outcome, script)

  def test_an_unknown_case_is_a_failure(self):
    with self.assertRaises(driver.Failure):
      self.outcome("echo 'usage: misuse --list' >&2; exit 2")

  def test_what_does_not_end_hangs(self):
    limit, misuse_suite.LIMIT = misuse_suite.LIMIT, 0.2
    self.addCleanup(setattr, misuse_suite, "LIMIT", limit)
    self.assertEqual(self.outcome("exec sleep 60"), "hangs")


class Report(unittest.TestCase):
  ROUNDS = [{("over/a/24", "tarn"): "reported", ("over/a/24", "glibc"): "crashed",
             ("after/b/24", "tarn"): "crashed", ("after/b/24", "glibc"): "leaked"},
            {("over/a/24", "tarn"): "reported", ("over/a/24", "glibc"): "harmed",
             ("after/b/24", "tarn"): "reported"}]

  def test_the_worst_of_all_rounds_counts(self):
    self.assertEqual(misuse_report.worst(self.ROUNDS, "over/a/24", "glibc"), "harmed")
    self.assertEqual(misuse_report.worst(self.ROUNDS, "after/b/24", "tarn"), "crashed")
    self.assertEqual(misuse_report.worst(self.ROUNDS, "after/b/24", "glibc"), "leaked")
    self.assertIsNone(misuse_report.worst(self.ROUNDS, "after/b/24", "another"))

  def test_families_are_counted(self):
    text = misuse_report.families(self.ROUNDS)
    self.assertIn("| over | 1 | 1 | 0 |", text)
    self.assertIn("| **all** | 2 | **2** | **0** |", text)
    self.assertIn("| *reported* |  | 1 | 0 |", text)

  def test_the_page_has_every_case(self):
    text = misuse_report.markdown({**subject.RECORD, "peers": []}, self.ROUNDS)
    self.assertIn("| over/a/24 | **reported** | harmed |", text)
    self.assertIn("- it failed", text)


if __name__ == "__main__":
  subject.main()
