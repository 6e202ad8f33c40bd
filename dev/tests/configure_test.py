# SPDX-License-Identifier: MIT
"""configure_test: what CMake makes of this project, and of one around it, without being told much.

Nothing is built: the commands by which it would be are read.
"""
import json
import os
import re
import subprocess
import unittest

from sample import DEV, SampleTest

SOURCE = DEV.parent
LIBRARY_ALONE = [f"-DTARN_BUILD_{part}=OFF" for part in ("TESTS", "TOOLS", "EXAMPLES", "BENCH")]
# As a machine has it that lacks gmock.
GTEST_ALONE = """
add_library(GTest::gtest INTERFACE IMPORTED)
add_library(GTest::gtest_main INTERFACE IMPORTED)
"""
OUTER = """
cmake_minimum_required(VERSION 3.25)
project(outer C CXX)
add_subdirectory({source} tarn)
"""


class Configure(SampleTest):
    def configure(self, *arguments, source=SOURCE):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("CMAKE_BUILD_TYPE", "CFLAGS", "CXXFLAGS")}
        return subprocess.run(["cmake", "-G", "Ninja", "-S", str(source), "-B",
                               str(self.root / "build"), "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
                               *arguments], capture_output=True, text=True, env=environment)

    def optimisations(self, *arguments, source=SOURCE):
        """The optimisation that malloc's source is compiled with; the last of several counts."""
        done = self.configure(*arguments, source=source)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        commands = json.loads((self.root / "build/compile_commands.json").read_text())
        command, = (entry["command"] for entry in commands
                    if entry["file"].endswith("/src/entry/malloc.cpp"))
        return re.findall(r" -O(\S+)", command)

    def outer_project(self):
        folder = self.root / "outer"
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(OUTER.format(source=SOURCE))
        return folder

    def package(self, text):
        folder = self.root / "package"
        folder.mkdir()
        (folder / "GTestConfig.cmake").write_text(text)
        return f"-DGTest_DIR={folder}"

    def test_no_build_type_is_release(self):
        self.assertEqual(self.optimisations(*LIBRARY_ALONE), ["3"])

    def test_a_build_type_that_is_given_counts(self):
        self.assertEqual(self.optimisations(*LIBRARY_ALONE, "-DCMAKE_BUILD_TYPE=MinSizeRel"), ["s"])

    def test_in_a_project_without_a_build_type_malloc_is_optimised(self):
        self.assertEqual(self.optimisations(source=self.outer_project()), ["2"])

    def test_in_a_project_with_flags_of_its_own_these_count(self):
        self.assertEqual(self.optimisations("-DCMAKE_CXX_FLAGS=-O1", source=self.outer_project()),
                         ["1"])

    def test_gtest_without_gmock_is_enough(self):
        done = self.configure("-DTARN_BUILD_BENCH=OFF", "-DTARN_BUILD_EXAMPLES=OFF",
                              self.package(GTEST_ALONE))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("tarn_tools_tests:", (self.root / "build/build.ninja").read_text())
        for path in (SOURCE / "tests").rglob("*.[ch]pp"):
            self.assertNotIn("gmock" + "/", path.read_text(), path)

    def test_what_to_install_is_said(self):
        done = self.configure(*LIBRARY_ALONE, "-DTARN_BUILD_TESTS=ON",
                              "-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON")
        self.assertNotEqual(done.returncode, 0)
        text = " ".join(done.stderr.split())
        self.assertIn("apt-get install libgtest-dev; or do without: -DTARN_BUILD_TESTS=OFF", text)


if __name__ == "__main__":
    unittest.main()
