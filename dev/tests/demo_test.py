# SPDX-License-Identifier: MIT
"""demo_test: `make demo` after a configure that failed.

A copy of dev/demo is run beside a cmake of the test's own, which tells what it was called with.
"""
import os
import shutil
import subprocess
import sys
import unittest

from sample import DEV, SampleTest

CMAKE = """#!/bin/sh
echo "$*" >>{root}/log
case "$*" in
  *--build*) echo 'nothing is built here'; exit 1 ;;
  *) mkdir -p {root}/build/release && touch {root}/build/release/CMakeCache.txt
     [ -e {root}/works ] && touch {root}/build/release/{generated} ;;
esac
"""


class Demo(SampleTest):
    def setUp(self):
        super().setUp()
        (self.root / "dev").mkdir()
        shutil.copy(DEV / "demo", self.root / "dev/demo")

    def use_cmake(self, generated="build.ninja"):
        path = self.root / "bin/cmake"
        path.parent.mkdir(exist_ok=True)
        path.write_text(CMAKE.format(root=self.root, generated=generated))
        path.chmod(0o755)

    def calls_of_demo(self):
        """How cmake was called, call by call. Building always fails, which ends the demo."""
        log = self.root / "log"
        log.write_text("")
        path = f"{self.root}/bin:{os.environ['PATH']}"
        done = subprocess.run([sys.executable, str(self.root / "dev/demo")], capture_output=True,
                              text=True, env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("demo: failed: cmake", done.stderr)
        return log.read_text().splitlines()

    def test_a_failed_configure_is_repeated_from_the_start(self):
        self.use_cmake()
        self.assertRegex("\n".join(self.calls_of_demo()), "^--fresh --preset release [^\n]*$")
        (self.root / "works").touch()
        configure, build = self.calls_of_demo()
        self.assertIn("--fresh", configure)
        self.assertIn("--build", build)

    def test_a_folder_that_was_configured_is_only_told_what_the_demo_needs(self):
        (self.root / "works").touch()
        for generated in ("build.ninja", "Makefile"):
            self.use_cmake(generated)
            self.assertIn("--fresh", self.calls_of_demo()[0])
            configure, _ = self.calls_of_demo()
            self.assertEqual(configure, "--preset release -DTARN_BUILD_TOOLS=ON "
                                        "-DTARN_BUILD_EXAMPLES=ON")
            shutil.rmtree(self.root / "build")


if __name__ == "__main__":
    unittest.main()
