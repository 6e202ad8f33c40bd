#!/usr/bin/env -S python3 -B
"""Tests bench/pools: each task of its program at a small size, the arithmetic of the report.

  pools_test.py PROGRAM

What a task measures is checked where it cannot depend on time: bytes, pages, what is printed.

SPDX-License-Identifier: MIT
"""
import json
import unittest

import subject
from subject import start
from side_by_side import pool_report, pool_suite


def run(task, *contestants, size_max=1_000, turn=0):
  rows = map(json.loads, start(task, turn, size_max, *contestants).stdout.splitlines())
  return {(row.pop("task"), row.pop("size"), row.pop("contestant")): row for row in rows}



class Tasks(unittest.TestCase):
  def test_each_turn_begins_with_another_contestant(self):
    first = [name for _, _, name in run("names")]
    self.assertEqual([name for _, _, name in run("names", turn=1)], first[1:] + first[:1])
    self.assertTrue({"bump", "hand-written list", "tarn Pool", "malloc"} <= set(first))

  def test_growth_has_every_state(self):
    found = run("growth")
    names = {name for _, _, name in run("names")} - {"malloc"}
    self.assertEqual(set(found), {(task, 1_000, name) for task in pool_suite.LISTS
                                  for name in names})
    pool = found["forward_list", 1_000, "tarn Pool"]
    for figure in (*pool_suite.STATES, "scattered", "regrown_walk", "random_frees"):
      self.assertGreater(pool[figure], 0)
    self.assertNotIn("scattered", found["forward_list", 1_000, "bump"])

  def test_malloc_is_measured_beside_the_floor(self):
    found = run("malloc", "bump", "malloc")
    self.assertIn("regrown", found["list", 1_000, "malloc"])
    self.assertEqual(len(found), 4)
    scattered = run("scattered", "malloc")
    self.assertIn("scattered_walk", scattered["forward_list", 1_000, "malloc"])

  def test_slots_need_contestants_that_free(self):
    found = run("slots", "tarn Pool", "bump")
    self.assertEqual({task for task, _, _ in found}, {"slots", "bare", "batches"})
    self.assertEqual({name for _, _, name in found}, {"tarn Pool"})

  def test_a_pool_from_which_all_was_freed_returns_its_chunks(self):
    found = run("destroy", size_max=40_000)
    held = found["destroy", 40_000, "tarn ObjectPool"]
    self.assertLess(held["empty_bytes"] * 4, held["full_bytes"])
    held = found["destroy", 40_000, "hand-written list"]
    self.assertEqual(held["empty_bytes"], held["full_bytes"])

  def test_a_pool_is_made_without_touching_its_pages(self):
    found = run("initialise", "tarn Pool")
    self.assertLess(found["initialise", 256 << 20, "tarn Pool"]["faults"], 64)

  def test_free_lists_keep_what_a_pool_gives_back(self):
    size = next(size for _, size, _ in run("story", "malloc"))
    kept = run("story", "free lists before malloc")["story", size, "free lists before malloc"]
    given = run("story", "tarn Pool")["story", size, "tarn Pool"]
    self.assertGreater(kept["trimmed_bytes"] * 2, kept["built_bytes"])
    self.assertLess(given["trimmed_bytes"] * 2, given["built_bytes"])

  def test_instructions_are_counted(self):
    found = run("count_growth", "bump", "malloc")
    floor, malloc = (found["count_list", 128, name]["push"] for name in ("bump", "malloc"))
    self.assertLessEqual(floor, malloc)  # Both are 0 where tracing is not allowed.

  def test_what_does_not_exist_is_refused(self):
    for words in (("nothing", "0", "0"), ("growth",)):
      self.assertEqual(start(*words).returncode, 2)


class Report(unittest.TestCase):
  ROW = ("slots", 32)

  def rounds(self, pairs):
    ours, theirs = (*self.ROW, "tarn Pool"), (*self.ROW, "Boost pool")
    return [{ours: {"fresh": first}, theirs: {"fresh": second}} for first, second in pairs]

  def test_only_rows_that_were_measured_are_judged(self):
    text = pool_report.targets(self.rounds([(2, 1)] * 3))
    self.assertEqual(text.count("missed"), 1)
    self.assertIn("0 of 1", pool_report.overview(self.rounds([(2, 1)] * 3)))
    self.assertIn("1 of 1", pool_report.overview(self.rounds([(1, 2)] * 3)))

  def test_best_peer_is_neither_glibc_nor_tarn(self):
    def rounds(ns):
      return [{("list", 1_000, "malloc"): {"regrown": ns}}]
    libraries = {"glibc": rounds(1), "tarn": rounds(2), "slow": rounds(4), "quick": rounds(3)}
    self.assertEqual(pool_report.best_peer(libraries, "list", 1_000, "regrown"), ("quick", [3]))


if __name__ == "__main__":
  subject.main()
