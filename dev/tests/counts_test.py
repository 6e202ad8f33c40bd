# SPDX-License-Identifier: MIT
"""counts_test: what is executed is compared with the golden file, in both directions."""
import platform
import shutil
import subprocess
import unittest

from sample import DEV, SampleTest

# Stands for bench/workloads: lists one workload, which works as long as the library says.
WORKLOADS = """
#include <stdio.h>
#include <string.h>
unsigned long amount(void);
int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--list") == 0)
    return puts("slots\\tworkload\\t64\\tnothing") < 0;
  volatile unsigned long sum = 0;
  for (unsigned long i = 0; i < amount(); ++i) sum += i;
  return puts("0") < 0;
}
"""
LIBRARY = '__asm__(".ident \\"{}\\""); unsigned long amount(void) {{ return {}; }}'


@unittest.skipUnless(platform.machine() == "x86_64" and shutil.which("valgrind"), "needs valgrind")
class Counts(SampleTest):
    script = "counts"

    def setUp(self):
        super().setUp()
        self.library(1)
        self.compile("workloads", WORKLOADS, "-L", self.root, "-lsubject",
                     f"-Wl,-rpath,{self.root}")
        launcher = DEV.parent / "bench" / "launcher.c"
        subprocess.run(["gcc", "-static", "-o", self.root / "launcher", launcher], check=True)

    def compile(self, name, text, *options):
        source = self.root / f"{name}.c"
        source.write_text(text)
        subprocess.run(["gcc", "-O1", "-o", self.root / name, source, *options], check=True)
        return self.root / name

    def library(self, amount, ident="test compiler 1"):
        return self.compile("libsubject.so", LIBRARY.format(ident, amount), "-shared", "-fPIC")

    def check(self, amount, *options, **more):
        return ("--golden", self.root / "golden", "--workloads", self.root / "workloads", *options,
                self.library(amount, **more))

    def test_what_differs_by_two_percent_fails_and_less_does_not(self):
        self.assert_fails("write it with dev/counts --update", *self.check(1000000))
        self.assert_passes(*self.check(1000000, "--update"))
        self.assertIn("counts: ok", self.assert_passes(*self.check(1010000)))
        self.assert_fails("slots: instructions 1.0", *self.check(1050000))
        self.assert_fails("slots: instructions 0.9", *self.check(950000))

    def test_a_start_that_executes_more_of_the_library_fails(self):
        self.assert_passes(*self.check(1000000, "--update"))
        golden = self.root / "golden"
        golden.write_text(golden.read_text().replace("windows=1", "windows=2"))
        self.assert_fails("start: windows 0.500 of golden", *self.check(1000000))

    def test_counts_of_another_compiler_are_not_compared(self):
        self.assert_passes(*self.check(1000000, "--update"))
        out = self.assert_passes(*self.check(2000000, ident="test compiler 2"))
        self.assertIn("nothing is compared", out)

    def test_a_workload_that_the_golden_file_lacks_fails(self):
        self.assert_passes(*self.check(1000, "--update"))
        golden = self.root / "golden"
        golden.write_text(golden.read_text().replace("slots", "lists"))
        self.assert_fails("golden has lists", *self.check(1000))

    def test_a_workload_that_fails_ends_the_check(self):
        self.compile("workloads", WORKLOADS.replace('return puts("0") < 0', "return 7"),
                     "-L", self.root, "-lsubject", f"-Wl,-rpath,{self.root}")
        self.assert_fails("counts: slots: exit status 7", *self.check(1000))


if __name__ == "__main__":
    unittest.main()
