# SPDX-License-Identifier: MIT
"""dev/test's and dev/quick's own words: steps, refusals, and what is read from ctest's report."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import tempfile
import unittest

DEV = pathlib.Path(__file__).resolve().parents[1]


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, timeout=60)


def loaded():
    loader = importlib.machinery.SourceFileLoader("dev_test", str(DEV / "test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("dev_test", loader))
    loader.exec_module(module)
    return module


class Steps(unittest.TestCase):
    def test_each_run_names_its_steps(self):
        self.assertEqual(run(DEV / "test", "--list").stdout.split(),
                         ["checks", "release", "dev", "tsan"])
        self.assertEqual(run(DEV / "test", "--long", "--list").stdout.split(),
                         ["release", "dev", "tsan", "min", "reference"])

    def test_a_step_of_the_other_run_is_refused(self):
        for words in (("--only", "min"), ("--long", "--only", "checks"), ("--only", "nothing")):
            done = run(DEV / "test", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no step", done.stderr)

    def test_only_the_long_run_has_all_folders_and_rounds(self):
        test = loaded()
        for preset, folders in test.SHORT.items():
            short = test.Steps(1, False).extent(preset)
            self.assertIn("-DTARN_TESTS=" + ";".join(folders), short)
            self.assertIn("-DTARN_BUILD_EXAMPLES=OFF", short)
            whole = test.Steps(1, True).extent(preset)
            for word in ("-DTARN_TESTS=", "-DTARN_TEST_AMOUNT=100", "-DTARN_BUILD_EXAMPLES=ON"):
                self.assertIn(word, whole)
        self.assertEqual(test.Steps(1, True).extent("min"), ())

    def test_the_folders_of_the_short_run_are_there(self):
        tests = DEV.parent / "tests"
        named = {name for folders in loaded().SHORT.values() for name in folders}
        for name in named - {"fuzz", "model"}:
            self.assertTrue((tests / name / "CMakeLists.txt").is_file(), name)

    def test_a_report_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.xml"
            path.write_text('<testsuite><testcase name="a" status="run" time="1.5"/>'
                            '<testcase name="b" status="fail" time="2"/>'
                            '<testcase name="c" status="notrun"/></testsuite>')
            counted = loaded().read_junit(path)
        self.assertEqual((counted["passed"], counted["failed"], counted["skipped"]),
                         (["a"], ["b"], ["c"]))
        self.assertEqual(counted["times"], [(1.5, "a"), (2.0, "b"), (0.0, "c")])


class Quick(unittest.TestCase):
    def test_an_option_prints_what_it_is(self):
        done = run(DEV / "quick", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("dev/quick pages", done.stdout)

    def test_an_option_that_there_is_not_is_refused(self):
        done = run(DEV / "quick", "--all")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no option --all", done.stderr)


if __name__ == "__main__":
    unittest.main()
