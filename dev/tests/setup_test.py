# SPDX-License-Identifier: MIT
"""setup_test: dev/setup installs what is missing, and says what to do where it cannot.

It runs a copy of dev/setup beside a list of packages that do not exist, with an apt-get, a sudo and
an id of the test's own first in PATH: nothing is installed on this machine.
"""
import os
import shutil
import subprocess
import unittest

from sample import DEV, SampleTest

PACKAGES = """
# comment
build  make-believe   make-believe      pretends
tools  made-up        {root}/made-*.h   pretends too
tools  shell          sh                is always there
"""


class Setup(SampleTest):
    def setUp(self):
        super().setUp()
        shutil.copy(DEV / "setup", self.root / "setup")
        (self.root / "packages.txt").write_text(PACKAGES.format(root=self.root))
        self.bin = self.root / "bin"
        self.bin.mkdir()
        self.log = self.root / "log"
        self.log.write_text("")

    def fake(self, name, body):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def fake_apt(self, result="exit 0"):
        self.fake("id", "echo 1000")
        # Only the call of apt-get is let through; the rest would touch the real machine.
        self.fake("sudo", f'echo "sudo $*" >>{self.log}\ncase "$*" in *apt-get*) exec "$@";; esac')
        self.fake("apt-get", f'echo "apt-get $*" >>{self.log}\n'
                  f'case "$*" in *install*) touch {self.root}/made-up.h;; esac\n{result}')

    def run_setup(self, *arguments, path=None):
        path = path or f"{self.bin}:{os.environ['PATH']}"
        return subprocess.run(["/bin/bash", str(self.root / "setup"), *arguments],
                              capture_output=True, text=True, env={**os.environ, "PATH": path})

    def test_everything_there_is_one_line_and_no_apt(self):
        self.fake_apt()
        (self.root / "made-up.h").write_text("")
        done = self.run_setup("tools")
        self.assertEqual((done.returncode, done.stdout), (0, "setup: tools ready\n"))
        self.assertEqual(self.log.read_text(), "")

    def test_the_missing_package_is_installed_and_explained(self):
        self.fake_apt()
        done = self.run_setup("tools")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"made-up +pretends too")
        self.assertIn("setup: tools ready", done.stdout)
        log = self.log.read_text()
        self.assertRegex(log, r"apt-get .* install -y --no-install-recommends made-up\n")
        self.assertIn("sudo env DEBIAN_FRONTEND=noninteractive", log)
        self.assertNotIn("shell", log)
        self.assertNotIn("make-believe", log)

    def test_a_failing_apt_is_reported_with_its_words(self):
        self.fake_apt("echo 'E: no such package' >&2; exit 100")
        done = self.run_setup("tools")
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: no such package", done.stderr)
        self.assertIn("apt-get failed", done.stderr)

    def test_an_installation_that_changes_nothing_is_a_failure(self):
        self.fake_apt()
        done = self.run_setup("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("installed, yet still not found: make-believe", done.stderr)

    def test_list_only_tells(self):
        self.fake_apt()
        done = self.run_setup("--list", "build", "tools")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"make-believe +pretends\n +made-up +pretends too")
        self.assertEqual(self.log.read_text(), "")

    def link(self, *names):
        for name in names:
            (self.bin / name).symlink_to(shutil.which(name))

    def test_a_system_without_apt(self):
        self.link("dirname", "grep", "awk", "sort", "paste")
        done = self.run_setup("tools", path=str(self.bin))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no apt-get; install the above", done.stderr)
        self.assertIn("made-up", done.stdout)

    def test_neither_root_nor_sudo(self):
        self.link("dirname", "grep", "awk", "sort", "paste")
        self.fake("apt-get", "exit 1")
        self.fake("id", "echo 1000")
        done = self.run_setup("build", path=str(self.bin))
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install make-believe", done.stderr)

    def test_an_unknown_group(self):
        done = self.run_setup("kitchen")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no group 'kitchen'", done.stderr)

    def test_no_group_prints_the_groups(self):
        done = self.run_setup()
        self.assertEqual(done.returncode, 2)
        self.assertIn("groups: build tools", done.stderr)


if __name__ == "__main__":
    unittest.main()
