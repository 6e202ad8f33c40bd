"""Tests of the benchmark's own arithmetic and of what it does when an allocator fails.

Run by ctest (bench_side_by_side), or: python3 bench/tests/side_by_side_test.py LAUNCHER

SPDX-License-Identifier: MIT
"""
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from side_by_side import figures, hook_report, inputs, report  # noqa: E402
from side_by_side.measure import Allocator, Failure, Meter  # noqa: E402
from side_by_side.suite import Place, Task  # noqa: E402

LAUNCHER = sys.argv.pop() if len(sys.argv) > 1 and "launcher" in sys.argv[-1] else None


def sample(wall, rss=1000):
  return {"wall": wall, "cpu": wall, "rss": rss, "faults": 10}


def suite_of(rows):
  """samples[task][allocator] from {task: {allocator: [walls]}}; None stays None."""
  return {task: {name: [wall and sample(wall) for wall in walls] for name, walls in row.items()}
          for task, row in rows.items()}


class Figures(unittest.TestCase):

  def test_ratios_pair_samples_of_one_round(self):
    # The machine is ten times slower in the second round; the ratio must not see it.
    samples = suite_of({"a": {"glibc": [1.0, 10.0, 1.0], "tarn": [0.5, 5.0, 0.5]}})
    rows = figures.ratios(samples, "a", "tarn", "glibc", "wall")
    self.assertEqual(len(rows), 3)
    for ratio in rows:
      self.assertAlmostEqual(ratio, 0.5, places=2)

  def test_rounds_in_which_one_failed_are_left_out(self):
    samples = suite_of({"a": {"glibc": [1.0, 1.0], "tarn": [None, 2.0]}})
    self.assertEqual(len(figures.ratios(samples, "a", "tarn", "glibc", "wall")), 1)

  def test_the_mean_is_geometric(self):
    self.assertAlmostEqual(figures.geometric_mean([0.5, 2.0]), 1.0)
    self.assertAlmostEqual(figures.geometric_mean([4.0]), 4.0)

  def test_the_interval_holds_the_median_and_widens_with_noise(self):
    calm = figures.median_ratio([0.99, 1.0, 1.01, 1.0, 1.0], "calm")
    wild = figures.median_ratio([0.5, 1.0, 1.5, 0.7, 1.3], "wild")
    for figure in (calm, wild):
      self.assertLessEqual(figure["low"], figure["median"])
      self.assertGreaterEqual(figure["high"], figure["median"])
    self.assertGreater(wild["high"] - wild["low"], calm["high"] - calm["low"])
    self.assertAlmostEqual(wild["spread"], 0.5)

  def test_a_failed_task_leaves_that_allocator_and_the_common_set(self):
    samples = suite_of({"a": {"glibc": [1.0], "tarn": [0.5], "peer": [0.25]},
                        "b": {"glibc": [1.0], "tarn": [0.5], "peer": [None]}})
    failures = [{"task": "b", "allocator": "peer", "round": 1, "reason": "killed by SIGSEGV"}]
    summary = figures.summarise(samples, failures, ["glibc", "tarn", "peer"])
    self.assertEqual(summary["common_tasks"], ["a"])
    self.assertEqual(summary["means"]["tarn"]["wall"]["tasks"], 2)
    self.assertEqual(summary["means"]["peer"]["wall"]["tasks"], 1)
    self.assertNotIn("peer", summary["per_task"]["b"])
    self.assertAlmostEqual(summary["against"]["peer"]["wall"]["mean"], 2.0, places=1)


class Report(unittest.TestCase):

  def test_names_machine_command_rounds_and_every_failure(self):
    samples = suite_of({"a": {"glibc": [1.0], "tarn": [0.5]}, "b": {"glibc": [1.0],
                                                                    "tarn": [None]}})
    failures = [{"task": "b", "allocator": "tarn", "round": 1, "reason": "killed by SIGBUS"}]
    machine = dict.fromkeys(("memory", "kernel", "system", "libc", "compiler", "huge_pages"), "-")
    text = report.markdown({
        "machine": {**machine, "processor": "Quick 9000", "cores": 2}, "command": "bench/run -x",
        "rounds": 7, "date": "-", "bystanders": 0.0, "samples": samples, "failures": failures,
        "missing": [{"name": "lost", "reason": "not in the registry"}],
        "skipped": [{"task": "c", "reason": "c is not installed"}],
        "allocators": [{"name": "glibc", "version": "1"}, {"name": "tarn", "version": "2"}],
        "summary": figures.summarise(samples, failures, ["glibc", "tarn"])})
    for part in ("Quick 9000", "bench/run -x", "Rounds: 7", "tarn on b, round 1: killed by SIGBUS",
                 "lost was not measured: not in the registry", "c was not run", "**failed**"):
      self.assertIn(part, text)


class Hooks(unittest.TestCase):

  def test_ratios_are_of_each_round_and_the_heap_says_what_it_held(self):
    results = {"in memory": {name: [{"seconds": seconds * turn, "mib": 40, "told": f"told {turn}"}
                                    for turn in range(1, 6)]
                             for name, seconds in zip(hook_report.CONTESTANTS, (4, 5, 3))}}
    machine = dict.fromkeys(("processor", "cores", "memory", "system", "kernel", "libc",
                             "compiler", "huge_pages"), "-")
    text = hook_report.markdown({
        "machine": machine, "command": "bench/hooks -x", "date": "-", "repetitions": 3,
        "bystanders": 0.25, "tarn": "-", "sqlite": "-", "size": 50}, results, {1000: (50_000, 700)})
    for part in ("| in memory, s | 12.00 [8.00, 16.00] | 15.00 [10.00, 20.00] | 9.00 [6.00, 12.00] "
                 "| 0.75 |", "| 1,000 | 50,000 | 700 |", "told 5", "bench/hooks -x", "3 rounds",
                 "0.25 cores"):
      self.assertIn(part, text)


@unittest.skipIf(LAUNCHER is None, "needs the path of the launcher")
class Measuring(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)
    scratch = Path(self.folder.name)
    place = Place(scratch, Path(LAUNCHER).parent, scratch, scratch)
    self.meter = Meter(place, timeout=2.0)
    self.plain = Allocator("glibc", None, "")

  def task(self, script):
    return Task("t", "program", "", lambda place: ["/bin/sh", "-c", script])

  def test_costs_are_those_of_the_program(self):
    sample = self.meter.run(self.task("sleep 0.3"), self.plain)
    self.assertGreaterEqual(sample.wall, 0.3)
    self.assertLess(sample.cpu, 0.3)
    # A shell is small. This process is not, and must not be counted into it.
    self.assertLess(sample.rss, 8000)
    self.assertGreater(sample.faults, 10)

  def test_a_crash_an_exit_status_and_a_hang_are_failures(self):
    for script, reason in (("kill -SEGV $$", "SIGSEGV"), ("echo no >&2; exit 3", "status 3: no"),
                           ("sleep 60", "did not end")):
      with self.assertRaisesRegex(Failure, reason):
        self.meter.run(self.task(script), self.plain)

  def test_another_output_is_a_failure(self):
    self.meter.run(self.task("echo 1"), self.plain)
    with self.assertRaisesRegex(Failure, "something else"):
      self.meter.run(self.task("echo 2"), self.plain)

  def test_only_the_program_is_preloaded(self):
    other = Allocator("other", "/nowhere/libother.so", "")
    process = self.meter.launch(self.task("echo $LD_PRELOAD"), other, -1)
    output, _ = process.communicate(timeout=10)
    self.assertIn(b"/nowhere/libother.so", output)
    self.assertNotIn("LD_PRELOAD", self.meter.environment)


class Inputs(unittest.TestCase):

  def test_inputs_are_the_same_every_time(self):
    with tempfile.TemporaryDirectory() as folder:
      for write, size in ((inputs.cxx_source, 3), (inputs.sql_script, 50),
                          (inputs.solver_puzzle, 9)):
        first, second = Path(folder, "first"), Path(folder, "second")
        write(first, size)
        write(second, size)
        self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertGreater(first.stat().st_size, 500)


if __name__ == "__main__":
  unittest.main()
