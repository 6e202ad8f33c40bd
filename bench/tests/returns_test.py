#!/usr/bin/env -S python3 -B
"""Tests bench/returns: its program, how a run's end and its limit are read, and the report.

  returns_test.py PROGRAM

SPDX-License-Identifier: MIT
"""
import json
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import subject
from subject import start
from side_by_side import driver, returns_report, returns_suite, swapped
from side_by_side.packages import Unavailable

PROGRAM = sys.argv[1]
RUNNER = subject.BENCH / "returns"
MIB = 16


def run(task, seed, mib=MIB):
  return subject.run(*task.words(seed, mib, 0, 300))



class Program(unittest.TestCase):
  def test_each_peak_is_reached(self):
    for peak in returns_suite.PEAKS:
      figures = run(returns_suite.Task(peak, "idle"), 1)
      self.assertGreater(figures["filled_kib"], MIB * 1024, peak)
      self.assertLess(figures["filled_kib"], 3 * MIB * 1024, peak)
      self.assertGreaterEqual(figures["peak_kib"], figures["filled_kib"])
      self.assertGreater(figures["faults"], MIB * 256, peak)
      self.assertEqual(len(figures["samples"]), 1 + 3)
      self.assertEqual(figures["given_back_by"], "malloc_trim")

  def test_what_takes_as_much_again_has_it(self):
    for demand in ("large", "thread"):
      figures = run(returns_suite.Task("small", demand), 1)
      held = max(kib for ms, kib in figures["samples"] if 0 < ms < 1000)
      self.assertGreater(held, MIB * 1024, demand)
      self.assertLess(figures["samples"][-1][1], held + 1024)

  def test_a_seed_says_the_sizes(self):
    blocks = [run(returns_suite.Task("small", "idle"), seed)["blocks"] for seed in (1, 1, 2, 3)]
    self.assertEqual(blocks[0], blocks[1])
    self.assertGreater(len(set(blocks)), 1)

  def test_rows(self):
    for row in ("resident", "served", "sparse"):
      done = start("row", row, 1, 1)
      self.assertEqual(done.returncode, 0, done.stderr)
      self.assertEqual({key for key, *_ in returns_suite.ROWS[row][1]},
                       set(json.loads(done.stdout)))
    self.assertEqual(set(returns_suite.ROWS),
                     set(start().stderr.split("row ")[1].split()[0].split("|")))

  def test_words_that_make_no_sense(self):
    for words in ((), ("small",), ("row", "nothing", 1, 1), ("row", "resident", 0, 1),
                  ("small", "idle", 1, 1, 0, 0), ("small", "idle", 1, 1, 500, 500),
                  ("small", "idle", 1, 1, "x", 500), ("big", "idle", 1, 1, 0, 500),
                  ("small", "work", 1, 1, 0, 500), ("small", "idle", 1, "1G", 0, 500)):
      done = start(*words)
      self.assertEqual(done.returncode, 2, words)
      self.assertIn("usage", done.stderr)

  def test_without_memory_it_says_so(self):
    command = ["sh", "-c", 'ulimit -v 65536; exec "$@"', "sh", PROGRAM,
               *returns_suite.Task("small", "idle").words(1, 256, 0, 300)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    self.assertEqual(done.returncode, returns_suite.NO_MEMORY)


class Runner(unittest.TestCase):
  def test_options_are_checked(self):
    for words, said in ((("--rounds", "0"), "at least 1"), (("--library", "x"), "NAME=PATH"),
                        (("--library", "x=/no/such"), "NAME=PATH"),
                        (("--pause", "13"), "less than"), (("--at-once", "0"), "at least 1"),
                        (("--limited", "--at-once", "2"), "not for --limited")):
      done = subprocess.run([str(RUNNER), *words], capture_output=True, text=True, check=False)
      self.assertEqual(done.returncode, 2)
      self.assertIn(said, done.stderr)

  def test_an_option_that_is_refused_is_named(self):
    line = "tarn: options: 'background_purge=1' ignored: known are mode=fast"
    self.assertEqual(returns_suite.refuses(f"else\n{line}\n", "background_purge"), line)
    self.assertIsNone(returns_suite.refuses("nothing of that kind", "background_purge"))

  def test_glibc_alone_from_run_to_report(self):
    with tempfile.TemporaryDirectory() as folder:
      command = [str(RUNNER), "--no-build", "--no-peers", "--allocators", "none", "--program",
                 PROGRAM, "--mib", "8", "--seconds", "0.5", "--pause", "0.1",
                 "--rounds", "1", "--seed", "2", "--at-once", "2", "--only",
                 "small/idle", "large/large", "resident", "--output", folder]
      done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
      self.assertEqual(done.returncode, 0, done.stderr)
      record = json.loads((Path(folder) / "returns.json").read_text())
      self.assertEqual([name for _, name, *_ in record["samples"]],
                       ["resident", "small/idle", "large/large"])
      self.assertFalse(record["whole"])
      self.assertEqual(record["seed"], 2)
      text = (Path(folder) / "returns.md").read_text()
      self.assertIn("| small/idle |", text)
      self.assertIn("2 contestants of a task ran at a time", text)
      self.assertNotIn(folder, text)


class Limits(unittest.TestCase):
  def test_the_limit_is_a_share_of_what_was_charged(self):
    figures = {"peak_kib": 1000}
    self.assertEqual(returns_suite.limit_of(1_000_000, figures), (1_100_000, "group"))
    self.assertEqual(returns_suite.limit_of(None, figures), (1_126_400, "process"))

  def test_ends_of_runs(self):
    def outcome(status, work=None, base=1.0):
      figures = None if work is None else {"work_s": work}
      return returns_suite.outcome(status, figures, {"work_s": base})
    self.assertEqual(outcome(-signal.SIGKILL), "killed")
    self.assertEqual(outcome(returns_suite.NO_MEMORY), "refused")
    self.assertEqual(outcome(-signal.SIGSEGV), "failed")
    self.assertEqual(outcome(0, 1.9), "survived")
    self.assertEqual(outcome(0, 2.1), "slow")
    self.assertEqual(outcome(0, 0.9, base=0.01), "survived")

  def test_a_program_beyond_its_limit_is_killed(self):
    words = [PROGRAM, *returns_suite.Task("small", "large").words(1, 64, 0, 300)]
    try:
      with swapped.group(256 << 20) as folder:
        done = driver.start(words, timeout=60, preexec_fn=swapped.joining(folder))
        charged = swapped.most_charged(folder)
      self.assertEqual(done.returncode, 0, done.stderr)
      if charged is not None:
        self.assertGreater(charged, 64 << 20)
        self.assertLess(charged, 256 << 20)
      with swapped.group(32 << 20) as folder:
        done = driver.start(words, timeout=60, preexec_fn=swapped.joining(folder))
    except Unavailable as failure:
      self.skipTest(str(failure))
    free_swap = Path("/proc/meminfo").read_text().split("SwapFree:")[1].split()[0]
    if free_swap == "0":
      self.assertEqual(done.returncode, -signal.SIGKILL)


def figures(peak_mib, samples, **more):
  return {"peak_kib": peak_mib * 1024, "filled_kib": 1024, "work_s": 0.5, "faults": 1000,
          "wall_s": 12.5, "samples": samples, **more}


class Report(unittest.TestCase):
  def record(self, ours_mib, ours_samples, **more):
    samples = [{("small/small", "glibc"): figures(100, [[0, 1024], [12000, 2048]]),
                ("small/small", "tarn"): figures(ours_mib, ours_samples),
                ("small/idle", "tarn"): figures(ours_mib, ours_samples, **more)}]
    return {**subject.RECORD, "seed": 1, "mib": 512, "seconds": 12, "pause": 3,
            "failures": ["tarn, background: refused"],
            "contestants": [["glibc", "2"], ["tarn", "1"]], "samples": samples}

  def test_resident_at_a_time(self):
    found = figures(1, [[0, 1024], [1010, 2048], [5020, 3072]])
    self.assertEqual([returns_suite.resident_at(found, at) for at in (0, 1, 5, 12)],
                     [1.0, 2.0, 3.0, None])

  def test_targets_are_judged(self):
    kept = [[0, 65 * 1024], [12000, 65 * 1024]]
    given = [[0, 65 * 1024], [12000, 63 * 1024]]
    text = returns_report.targets(self.record(106, kept, given_back_by="malloc_trim",
                                              given_back_kib=9 * 1024))
    self.assertEqual(text.count("missed"), 3)
    text = returns_report.targets(self.record(105, given, given_back_by="malloc_trim",
                                              given_back_kib=8 * 1024))
    self.assertEqual((text.count("missed"), text.count("| met")), (0, 3))

  def test_the_worst_seed_is_judged_and_one_alone_is_called_so(self):
    record = self.record(500, [[0, 1024]])
    record["samples"] = [{("small/thread", name): figures(peak, [[0, 1024]])
                          for name, peak in zip(("glibc", "tarn"), peaks)}
                         for peaks in ((1041, 562), (526, 562))]
    self.assertIn("| 1.07 | **missed** |", returns_report.targets(record))
    self.assertIn("One seed only", returns_report.markdown(record, None))
    record["repetitions"] = 2
    self.assertIn("Seeds 1 to 2; the worst", returns_report.markdown(record, None))

  def test_markdown(self):
    free = self.record(105, [[0, 1024], [12000, 1024]])
    limited = {**free, "limits": [[0, "small/large", 100 << 20, "group"],
                                  [1, "small/large", 104 << 20, "group"]],
               "samples": [{("small/large", "tarn"): {"outcome": "survived"}},
                           {("small/large", "tarn"): {"outcome": "killed"}}]}
    text = returns_report.markdown(free, limited)
    self.assertIn("Not measured: tarn, background: refused", text)
    self.assertIn("| small/large | 102 ± 2 | – | survived, killed |", text)
    self.assertIn("was charged while glibc ran it", text)
    self.assertNotIn("## Limited", returns_report.markdown(free, None))
    self.assertNotIn("## Targets", returns_report.markdown(None, limited))


if __name__ == "__main__":
  subject.main()
