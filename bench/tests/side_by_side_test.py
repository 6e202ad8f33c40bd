"""Tests of the benchmark's own arithmetic and of what it does when an allocator fails.

Run by ctest (bench_side_by_side), or: python3 bench/tests/side_by_side_test.py LAUNCHER

SPDX-License-Identifier: MIT
"""
import contextlib
import io
import json
import sys
import tempfile
import unittest
from argparse import ArgumentTypeError
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import subject
from side_by_side import counts, driver, figures, hook_report, report, tables
from side_by_side.driver import Contestant, Failure
from side_by_side.measure import Meter
from side_by_side.suite import Place, Task

LAUNCHER = sys.argv[1] if len(sys.argv) > 1 else None


def sample(wall, rss=1000):
  return {"wall": wall, "cpu": wall, "rss": rss, "faults": 10}


def rounds_of(rows):
  """Rounds from {task: {allocator: [walls]}}; None: it failed."""
  count = max(len(walls) for row in rows.values() for walls in row.values())
  return [{(task, name): sample(walls[turn]) for task, row in rows.items()
           for name, walls in row.items() if walls[turn]} for turn in range(count)]


def record_of(rounds, names, failures=(), metrics=figures.TIMED, **more):
  """What a report is made of."""
  tasks = sorted({key[0] for row in rounds for key in row} | {row["task"] for row in failures})
  return {**subject.RECORD, "samples": rounds, "failures": list(failures), "missing": [],
          "skipped": [], "part": 16,
          "allocators": [{"name": name, "version": str(at)} for at, name in enumerate(names, 1)],
          "summary": figures.summarise(rounds, failures, tasks, names, metrics), **more}


def failure_of(task, allocator):
  return {"task": task, "allocator": allocator, "round": 1, "reason": "killed by SIGBUS"}


class Figures(unittest.TestCase):

  def test_ratios_pair_samples_of_one_round(self):
    # The machine is ten times slower in the second round; the ratio must not see it.
    rounds = rounds_of({"a": {"glibc": [1.0, 10.0, 1.0], "tarn": [0.5, 5.0, 0.5]}})
    rows = figures.ratios(rounds, ("a", "tarn"), ("a", "glibc"), "wall")
    self.assertEqual(len(rows), 3)
    for ratio in rows:
      self.assertAlmostEqual(ratio, 0.5, places=2)

  def test_rounds_in_which_one_failed_are_left_out(self):
    rounds = rounds_of({"a": {"glibc": [1.0, 1.0], "tarn": [None, 2.0]}}) + [{}]
    keys = ("a", "tarn"), ("a", "glibc")
    self.assertEqual(figures.ratios(rounds, *keys, "wall"), [2.0])
    self.assertEqual(figures.values_of(rounds, keys[1], "wall"), [1.0, 1.0])
    self.assertEqual(figures.values_of(rounds, keys[0], lambda found: found["rss"] + 1), [1001])
    self.assertEqual(figures.values_of(rounds, keys[0], "no such figure"), [])
    self.assertEqual(figures.contestants_in(rounds), ["glibc", "tarn"])

  def test_a_ratio_to_nothing_is_none_unless_there_is_a_floor(self):
    rounds = [{("a", "ours"): {"faults": 50}, ("a", "theirs"): {"faults": 0}}]
    keys = ("a", "ours"), ("a", "theirs")
    self.assertEqual(figures.ratios(rounds, *keys, "faults"), [])
    self.assertEqual(figures.ratios(rounds, *keys, "faults", 50), [2.0])
    self.assertEqual(figures.ratios(rounds, *reversed(keys), "faults"), [0.0])

  def test_the_middle_of_a_list(self):
    self.assertEqual(figures.quartiles([5, 1, 4, 2, 3]), (2, 4))
    self.assertEqual(figures.quartiles([7]), (7, 7))
    self.assertEqual(figures.interval(list(range(1001))), (25, 975))
    self.assertEqual(figures.relative_spread([1, 2, 5]), 1.0)
    self.assertEqual(figures.relative_spread([0, 0, 0]), 0)

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
    rounds = rounds_of({"a": {"glibc": [1.0], "tarn": [0.5], "peer": [0.25]},
                        "b": {"glibc": [1.0], "tarn": [0.5], "peer": [None]}})
    failures = [{"task": "b", "allocator": "peer", "round": 1, "reason": "killed by SIGSEGV"}]
    summary = figures.summarise(rounds, failures, ["a", "b"], ["glibc", "tarn", "peer"])
    self.assertEqual(summary["common_tasks"], ["a"])
    self.assertEqual(summary["means"]["tarn"]["wall"]["tasks"], 2)
    self.assertEqual(summary["means"]["peer"]["wall"]["tasks"], 1)
    self.assertNotIn("peer", summary["per_task"]["b"])
    self.assertAlmostEqual(summary["against"]["peer"]["wall"]["mean"], 2.0, places=1)

  def test_groups_have_means_of_their_own(self):
    rounds = rounds_of({"a": {"glibc": [1.0], "tarn": [0.5]}, "b": {"glibc": [1.0], "tarn": [2.0]}})
    summary = figures.summarise(rounds, [], ["a", "b"], ["glibc", "tarn"],
                                groups={"a": "workload", "b": "validation"})
    self.assertAlmostEqual(summary["groups"]["workload"]["tarn"]["wall"]["mean"], 0.5, delta=0.01)
    self.assertAlmostEqual(summary["groups"]["validation"]["tarn"]["wall"]["mean"], 2.0, delta=0.01)

  def test_minima_are_compared_whatever_their_rounds(self):
    rounds = rounds_of({"a": {"glibc": [2.0, 1.0, 3.0], "tarn": [0.5, 0.9, 0.8],
                              "peer": [None] * 3}})
    summary = figures.summarise(rounds, [], ["a"], ["glibc", "tarn", "peer"])
    self.assertAlmostEqual(summary["per_task"]["a"]["tarn"]["minima"], 0.5, places=2)
    self.assertAlmostEqual(summary["means"]["tarn"]["minima"], 0.5, places=2)
    self.assertIsNone(summary["means"]["peer"]["minima"])


class Tables(unittest.TestCase):

  def test_cells_have_a_median_and_a_spread(self):
    self.assertEqual(tables.cell([1, 2, 3, 4, 5], 0), "3 [2, 4]")
    self.assertEqual(tables.cell([2, 2], 1), "2.0")
    self.assertEqual(tables.range_cell([1000, 3000, 2001], 0), "2,001 ± 1,000")
    self.assertEqual(tables.range_cell([0.5], 1), "0.5")
    self.assertEqual(tables.percent_cell([0.9, 1.0, 0.95]), "95.0 % [90, 100]")
    self.assertEqual({tables.cell([]), tables.range_cell([], 1), tables.percent_cell([])},
                     {tables.NOTHING})

  def test_targets_are_judged_by_the_median_and_its_quartiles(self):
    self.assertEqual(tables.verdict([0.9, 1.0, 1.1], 1.0), "met")
    self.assertIn("spread", tables.verdict([0.9, 0.9, 1.1, 1.2, 1.3], 1.0))
    self.assertEqual(tables.verdict([1.1, 1.2, 1.3], 1.0), "**missed**")

  def test_a_tally_counts_medians_and_shows_the_worst(self):
    found = [([1, 2, 9], "a"), ([5], "b"), ([3, 3, 3], "c")]
    self.assertEqual(tables.tally(found, 3), ["3.00", "2 of 3", "5.00: b"])

  def test_a_contestant_without_figures_has_no_line(self):
    rounds = rounds_of({"a": {"glibc": [1.0], "tarn": [0.5], "peer": [None]}})
    self.assertEqual(tables.matrix(rounds, ["glibc", "peer", "tarn"], [("s", ("a",), "wall", 1)]),
                     "| | s |\n|---|---|\n| glibc | 1.0 |\n| tarn | 0.5 |\n".replace("| |", "|  |"))


class Driver(unittest.TestCase):

  def session(self, folder, rounds, run_round):
    class Subject(driver.Session):
      def run_round(self, turn):
        run_round(self, turn)
    return Subject(SimpleNamespace(rounds=rounds, output=Path(folder)))

  def run_quietly(self, session):
    with contextlib.redirect_stderr(io.StringIO()) as said:
      return session.run(), said.getvalue()

  def test_each_round_has_an_order_of_its_own_and_the_same_one_again(self):
    names = list("abcdef")
    orders = [driver.in_turn(turn, "row", names) for turn in range(5)]
    self.assertEqual([sorted(order) for order in orders], [names] * 5)
    self.assertGreater(len(set(map(tuple, orders))), 1)
    self.assertEqual(orders, [driver.in_turn(turn, "row", names) for turn in range(5)])
    self.assertNotEqual(orders, [driver.in_turn(turn, "other", names) for turn in range(5)])

  def test_samples_and_failures_of_all_rounds_are_recorded(self):
    def measure(turn):
      if turn == 1:
        raise Failure("no")
      return {"ns": turn}
    with tempfile.TemporaryDirectory() as folder:
      session = self.session(folder, 3, lambda self, turn: self.sample(("row", "tarn"), measure,
                                                                       turn))
      has_ended, said = self.run_quietly(session)
    self.assertTrue(has_ended)
    self.assertEqual(session.samples, [{("row", "tarn"): {"ns": 0}}, {},
                                       {("row", "tarn"): {"ns": 2}}])
    record = session.record(more=1)
    self.assertEqual((record["repetitions"], record["failures"], record["more"]),
                     (3, ["row with tarn: no"], 1))
    self.assertIn("round 3 of 3 is done", said)
    self.assertEqual(driver.from_flat(driver.flat(session.samples)), session.samples)
    self.assertEqual(driver.from_flat([]), [])

  def test_what_was_measured_until_an_interruption_counts(self):
    def run_round(session, turn):
      session.sample(("row", "tarn"), lambda: {"ns": turn})
      if turn == 1:
        raise KeyboardInterrupt
    with tempfile.TemporaryDirectory() as folder:
      session = self.session(folder, 3, run_round)
      has_ended, said = self.run_quietly(session)
    self.assertFalse(has_ended)
    self.assertEqual(len(session.samples), 2)
    self.assertIn("interrupted", said)

  def test_a_page_and_all_samples_are_written_and_a_kept_page_only_where_it_is_asked_for(self):
    with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(
        driver, NAME="subject", ROOT=Path(folder)):
      (Path(folder) / "bench").mkdir()
      session = self.session(folder, 2, lambda self, turn: self.sample(("row", "tarn"),
                                                                       lambda: {"ns": turn}))
      self.run_quietly(session)
      session.save(session.record(), "page\n")
      self.assertEqual(json.loads((Path(folder) / "subject.json").read_text())["samples"],
                       [[0, "row", "tarn", {"ns": 0}], [1, "row", "tarn", {"ns": 1}]])
      self.assertEqual((Path(folder) / "subject.md").read_text(), "page\n")
      self.assertEqual(list((Path(folder) / "bench").iterdir()), [])
      with contextlib.redirect_stderr(io.StringIO()):
        session.write(session.record(), "kept\n", "KEPT.md")
      self.assertEqual((Path(folder) / "bench" / "KEPT.md").read_text(), "kept\n")

  def test_peers_are_those_that_are_wanted_and_there(self):
    with tempfile.TemporaryDirectory() as folder:
      table = Path(folder) / "peers.json"
      self.assertEqual(driver.peers(table=table, fetch=None), [])
      rows = [{"name": name, "path": path, "version": "1", "origin": "?"}
              for name, path in (("a", __file__), ("b", "/no/such"), ("c", __file__))]
      table.write_text(json.dumps({"peers": rows, "missing": []}))
      self.assertEqual([each.name for each in driver.peers(table=table)], ["a", "c"])
      self.assertEqual([each.name for each in driver.peers(("b", "c"), table)], ["c"])
      self.assertEqual(driver.peers(table=table, fetch=None, hardened=True), [])
      rows[2]["hardened"] = True
      table.write_text(json.dumps({"peers": rows, "missing": []}))
      self.assertEqual([each.name for each in driver.peers(table=table)], ["a"])
      self.assertEqual([each.name for each in driver.peers(table=table, hardened=True)], ["c"])

  def test_how_a_run_ended_is_said(self):
    for script, reason in (("kill -SEGV $$", "SIGSEGV"), ("echo no >&2; exit 3", "with 3: no"),
                           ("echo no", "printed no figures")):
      with self.assertRaisesRegex(Failure, reason):
        driver.figures_of(driver.start(["sh", "-c", script]))
    with self.assertRaisesRegex(Failure, "did not end"):
      driver.start(["sleep", "60"], timeout=0.1)
    with self.assertRaisesRegex(Failure, "did not start"):
      driver.start(["/no/such/program"])

  def test_a_run_sees_the_settings_of_its_contestant_alone(self):
    script = ["sh", "-c", 'echo "{\\"a\\": \\"$TARN_OPTIONS\\"}"']
    with mock.patch.dict("os.environ", TARN_OPTIONS="x=1"):
      self.assertEqual(driver.figures_of(driver.start(script)), {"a": ""})
      contestant = Contestant("tarn", environment={"TARN_OPTIONS": "y=2"})
      self.assertEqual(driver.figures_of(driver.start(script, contestant)), {"a": "y=2"})

  def test_words_that_make_no_sense_are_refused(self):
    self.assertEqual(driver.positive("7"), 7)
    for convert, word in ((driver.positive, "0"), (driver.positive, "-1"), (driver.positive, "x"),
                          (driver.named_library, "x"), (driver.named_library, "x=/no/such")):
      with self.assertRaisesRegex(ArgumentTypeError, "give"):
        convert(word)

  def test_a_command_is_shown_without_paths_of_this_machine(self):
    with mock.patch.object(sys, "argv", ["x", "--library", "a=/usr/lib/b.so", "/tmp/c", "n=1"]):
      self.assertEqual(driver.said_command().split()[1:], ["--library", "a=b.so", "c", "n=1"])


class Report(unittest.TestCase):

  def test_names_machine_command_rounds_and_every_failure(self):
    rounds = rounds_of({"a": {"glibc": [1.0], "tarn": [0.5]}, "b": {"glibc": [1.0],
                                                                    "tarn": [None]}})
    text = report.markdown(record_of(
        rounds, ["glibc", "tarn"], [failure_of("b", "tarn")],
        machine={**subject.MACHINE, "processor": "Quick 9000"}, command="bench/run -x",
        repetitions=7, missing=[{"name": "lost", "reason": "not in the registry"}],
        skipped=[{"task": "c", "reason": "c is not installed"}]))
    for part in ("Quick 9000", "bench/run -x", "Rounds: 7", "tarn on b, round 1: killed by SIGBUS",
                 "lost was not measured: not in the registry", "c was not run", "**failed**"):
      self.assertIn(part, text)

  def test_a_page_of_several_groups_has_the_means_of_each(self):
    rounds = rounds_of({"a": {"glibc": [2.0], "tarn": [1.0]}, "b": {"glibc": [1.0], "tarn": [2.0]}})
    record = record_of(rounds, ["glibc", "tarn"])
    self.assertNotIn("By groups", report.markdown(record))
    record["summary"] = figures.summarise(rounds, [], ["a", "b"], ["glibc", "tarn"],
                                          groups={"a": "workload", "b": "program"})
    text = report.markdown(record)
    self.assertIn("| allocator | time, workload | RSS, workload | time, program |", text)
    self.assertIn("| tarn | 0.500 | 1.000 | 1.99", text)

  def test_a_task_that_glibc_failed_has_no_ratios(self):
    rounds = rounds_of({"a": {"glibc": [2.0, 1.0], "tarn": [0.5, 0.9], "peer": [1.0, 1.0]},
                        "b": {"glibc": [None, None], "tarn": [0.5, 0.5], "peer": [None, None]}})
    record = record_of(rounds, ["glibc", "tarn", "peer"],
                       [failure_of("b", "glibc"), failure_of("b", "peer")])
    for text in (report.task_table(record, "wall"), report.minima_table(record)):
      self.assertIn("| b | **failed** | – | **failed** |", text)
    self.assertIn("| a | 1.00 s | **0.50** | 1.00 |", report.minima_table(record))
    self.assertIn("| a | 1.50 s ±33% | **0.58** ±56% | 0.75 ±33% |",
                  report.task_table(record, "wall"))
    report.markdown(record)

  def test_what_failures_mean_is_said_where_there_are_some(self):
    rounds = [{("a", name): {**sample(1.0), "instructions": 1} for name in ("glibc", "tarn")}]
    names, skipped = ["glibc", "tarn"], [{"task": "c", "reason": "c is not installed"}]
    calm = record_of(rounds, names, skipped=skipped)
    for text in (report.markdown(calm), report.counts_markdown(
        record_of(rounds, names, metrics=counts.METRICS, skipped=skipped))):
      self.assertTrue(text.endswith("- c was not run: c is not installed\n"), text)
    failed = [failure_of("b", "tarn")]
    self.assertIn("allocator's means; the columns marked *common*",
                  report.markdown(record_of(rounds, names, failed)))
    text = report.counts_markdown(record_of(rounds, names, failed, counts.METRICS))
    self.assertTrue(text.endswith("is left out of that allocator's means.\n"), text)


class Counts(unittest.TestCase):

  def test_events_of_all_processes_are_added(self):
    events = "events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim\n"
    with tempfile.TemporaryDirectory() as folder:
      paths = [Path(folder, name) for name in "ab"]
      for path, factor in zip(paths, (1, 1000)):
        row = " ".join(str(factor * n) for n in range(1, 14))
        path.write_text(f"desc: I1 cache: x\n{events}fl=x\n0 1 2\nsummary: {row}\n")
      self.assertEqual(counts.totals(paths), {"instructions": 1001, "first": 13013,
                                              "last": 15015, "mispredicted": 24024})
      self.assertEqual(counts.totals(paths[:1])["first"], 13)
      paths[1].write_text(events)
      with self.assertRaisesRegex(Failure, "did not finish b"):
        counts.totals(paths)
    with self.assertRaisesRegex(Failure, "written nothing"):
      counts.totals([])

  def test_system_calls_are_the_sum_of_the_table(self):
    self.assertEqual(counts.calls_in("    calls syscall\n-----\n   12 read\n-----\n   17 total\n"),
                     17)
    with self.assertRaisesRegex(Failure, "counted nothing"):
      counts.calls_in("")

  def test_a_run_that_cannot_be_counted_keeps_what_could(self):
    def measure(task, allocator, number):
      if allocator.name == "none":
        raise Failure("no")
      return {"rss": number}, {"works": Failure("half")} if allocator.name == "half" else {}
    said = {}

    def note(_, allocator, failure, lost):
      said[allocator.name] = [str(failure), list(lost)]
    found = counts.count_all(
        [Task("t", "program", "", None)], [Contestant(name) for name in ("all", "half", "none")],
        measure, note)
    self.assertEqual(sorted(found), [("t", "all"), ("t", "half")])
    self.assertEqual(said, {"all": ["None", []], "half": ["None", ["works"]], "none": ["no", []]})

  def test_the_page_has_a_table_for_each_count(self):
    rounds = [{("a", "glibc"): {"instructions": 100, "rss": 10},
               ("a", "tarn"): {"instructions": 50, "rss": 20}}]
    text = report.counts_markdown(record_of(rounds, ["glibc", "tarn"], (), counts.METRICS))
    for part in ("| a | 100 | **0.50** |", "| tarn | 2 | 0.500 |", "a 16th of the work"):
      self.assertIn(part, text)


class Runner(unittest.TestCase):
  """bench/run, whose allocators and runs are made up."""

  def setUp(self):
    loader = SourceFileLoader("bench_run", str(subject.BENCH / "run"))
    self.runner = module_from_spec(spec_from_loader("bench_run", loader))
    loader.exec_module(self.runner)

  def session(self, folder, *tasks):
    options = SimpleNamespace(output=Path(folder), no_install=True, rounds=1, part=16, timeout=2.0)
    place = Place(*[Path(folder)] * 4)
    found = [Contestant("glibc"), Contestant("tarn")], []
    with mock.patch.object(self.runner, "find_allocators", return_value=found):
      return self.runner.Count(options, place, [*tasks])

  def test_servers_are_not_prepared_to_be_counted(self):
    task = Task("a", "program", "", None)
    server = Task("b", "program", "", None, needs=(("no such program", ""),), client=list)
    with tempfile.TemporaryDirectory() as folder:
      session = self.session(folder, task, server)
      self.assertEqual((session.tasks, session.progress.total), ([task], 2))
      self.assertEqual([row["task"] for row in session.skipped], ["b"])
      self.assertIn("client's time", session.skipped[0]["reason"])
      with self.assertRaisesRegex(Failure, "no task is left"):
        self.session(folder, server)

  def test_what_is_not_counted_is_named_with_its_tasks_unless_it_is_all(self):
    def count(self, task, allocator, number):
      if (task.name, allocator.name) == ("a", "tarn"):
        return {"rss": 1}, {"works": Failure("no")}
      return {"rss": 2}, {"idles": Failure("never")} if allocator.name == "glibc" else {}
    tasks = [Task(name, "program", "", None) for name in "ab"]
    with (tempfile.TemporaryDirectory() as folder, mock.patch.object(Meter, "run") as alone,
          mock.patch.object(counts.Counter, "count", count),
          contextlib.redirect_stderr(io.StringIO())):
      session = self.session(folder, *tasks)
      self.assertTrue(session.run())
    self.assertEqual([call.args for call in alone.call_args_list],
                     [(task, Contestant("glibc")) for task in tasks])
    self.assertEqual(session.samples[0]["a", "tarn"], {"rss": 1})
    self.assertEqual(session.failures, [])
    self.assertEqual(session.missing, [{"name": "What glibc idles", "reason": "never"},
                                       {"name": "What tarn works in a", "reason": "no"}])

  def test_rounds_and_counts_are_refused_together(self):
    for words in (["--quick"], ["--repetitions", "3"]):
      done = driver.start([sys.executable, "-B", subject.BENCH / "run", "--counts", *words])
      self.assertEqual(done.returncode, 2)
      self.assertIn("leave out --quick and --repetitions", done.stderr)


class Hooks(unittest.TestCase):

  def test_ratios_are_of_each_round_and_the_heap_says_what_it_held(self):
    rounds = [{("in memory", name): {"seconds": seconds * turn, "mib": 40, "told": f"told {turn}"}
               for name, seconds in zip(hook_report.CONTESTANTS, (4, 5, 3))}
              for turn in range(1, 6)]
    text = hook_report.markdown({
        **subject.RECORD, "command": "bench/hooks -x", "repetitions": 3, "bystanders": 0.25,
        "sqlite": "-", "size": 50}, rounds, {1000: (50_000, 700)})
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
    self.plain = Contestant("glibc")

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
    other = Contestant("other", "/nowhere/libother.so")
    process = self.meter.launch(self.task("echo $LD_PRELOAD"), other, -1)
    output, _ = process.communicate(timeout=10)
    self.assertIn(b"/nowhere/libother.so", output)
    self.assertNotIn("LD_PRELOAD", self.meter.environment)


  def test_counts_hold_for_the_output_that_the_meter_has_seen(self):
    counter = counts.Counter(self.meter)
    self.assertEqual(counter.meter_of(0, 10).timeout, 20.0)
    self.meter.run(self.task("echo 1"), self.plain)
    with self.assertRaisesRegex(Failure, "something else"):
      counter.count(self.task("echo 2"), self.plain, 0)

  def test_one_tool_that_fails_leaves_the_counts_of_the_other(self):
    for lost, kept, what in (("calls", "events", "asks of the OS"),
                             ("events", "calls", "executes and misses")):
      with (mock.patch.object(counts.Counter, lost, side_effect=Failure("no")),
            mock.patch.object(counts.Counter, kept, return_value={"kept": 7})):
        found, reasons = counts.Counter(self.meter).count(self.task("echo 1"), self.plain, 0)
      self.assertEqual((sorted(found), list(reasons)), (["faults", "kept", "rss"], [what]))


if __name__ == "__main__":
  subject.main()
