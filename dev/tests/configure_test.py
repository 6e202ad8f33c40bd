# SPDX-License-Identifier: MIT
"""configure_test: what CMake makes of this project, and of one around it, without being told much.

Nothing is built: the commands by which it would be are read.
"""
import json
import os
import re
import shutil
import subprocess
import unittest

from sample import DEV, SampleTest

SOURCE = DEV.parent
LIBRARY_ALONE = ["-DTARN_BUILD_TOOLS=OFF"]
NOTHING_INSTALLED = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON"
                     for name in ("GTest", "CLI11", "fmt", "nlohmann_json", "libdw", "Python3",
                                  "benchmark")]
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
                    if entry["file"].endswith("/src/entry/malloc/malloc.cpp"))
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

    def commands(self, preset=()):
        """All commands of a build that was told nothing, or only a preset."""
        done = self.configure(*preset)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = (self.root / "build/compile_commands.json").read_text()
        return text.replace(str(SOURCE), "")  # A checkout may be called as a folder is.

    def test_a_user_gets_the_library_and_the_command(self):
        plain = self.commands()
        for part in ("/src/entry/malloc/malloc.cpp", "/tools/tarn/main.cpp"):
            self.assertIn(part, plain)
        for part in ("/tests/", "/examples/", "/bench/", "/fuzz/", "-Werror"):
            self.assertNotIn(part, plain)
        shutil.rmtree(self.root / "build")
        self.assertEqual(self.commands(["--preset", "release"]), plain)

    def test_the_preset_for_users_takes_what_builds_on_the_machine(self):
        for generator, written in (("Ninja", "build.ninja"), ("Unix Makefiles", "Makefile")):
            build = self.root / written
            done = subprocess.run(["cmake", "--preset", "release", "-B", build, *LIBRARY_ALONE],
                                  cwd=SOURCE, capture_output=True, text=True,
                                  env={**os.environ, "CMAKE_GENERATOR": generator})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertTrue((build / written).exists())

    def test_whatever_is_not_installed_the_library_is_built(self):
        done = self.configure("--preset", "release", *NOTHING_INSTALLED)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        text = " ".join(done.stderr.split())
        self.assertIn("the command `tarn` is left out, since these are not installed: libcli11-dev "
                      "libfmt-dev nlohmann-json3-dev libdw-dev. On Debian and Ubuntu: apt-get "
                      "install libcli11-dev libfmt-dev nlohmann-json3-dev libdw-dev", text)
        done = self.configure("-DTARN_BUILD_TOOLS=ON")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("dev/setup tools, or apt-get install libcli11-dev libfmt-dev "
                      "nlohmann-json3-dev libdw-dev; or do without: -DTARN_BUILD_TOOLS=OFF",
                      " ".join(done.stderr.split()))

    def test_a_folder_keeps_what_it_was_configured_for(self):
        """`make demo` and `make bench` use the folder in which `make test` has built tests."""
        presets = json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]
        variables = {preset["name"]: preset.get("cacheVariables", {}) for preset in presets}
        self.assertEqual(variables["release"], {"CMAKE_BUILD_TYPE": "Release"})
        for part in ("TESTS", "TOOLS", "EXAMPLES", "BENCH"):
            self.assertEqual(variables["developer"][f"TARN_BUILD_{part}"], "ON")

    def test_each_option_of_the_build_is_documented(self):
        lists = "".join(path.read_text() for path in SOURCE.rglob("CMakeLists.txt")
                        if "build" not in path.relative_to(SOURCE).parts)
        options = set(re.findall(r"\boption\((TARN_\w+)", lists))
        options |= set(re.findall(r"\bset\((TARN_\w+) [^)]*\bCACHE STRING", lists))
        self.assertIn("TARN_BUILD_TOOLS", options)
        text = (SOURCE / "docs/packaging.md").read_text()
        self.assertEqual(options, set(re.findall(r"^\| `(TARN_\w+)`", text, re.M)))

    def test_gtest_without_gmock_is_enough(self):
        done = self.configure("-DTARN_BUILD_TOOLS=ON", "-DTARN_BUILD_TESTS=ON",
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
        self.assertIn("not installed: libgtest-dev. On Debian and Ubuntu: dev/setup build tools "
                      "test, or apt-get install libgtest-dev; or do without: "
                      "-DTARN_BUILD_TESTS=OFF", text)


if __name__ == "__main__":
    unittest.main()
