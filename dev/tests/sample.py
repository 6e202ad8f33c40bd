# SPDX-License-Identifier: MIT
"""sample: a small project tree in a temporary folder, for the tests of the scripts of dev/."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

DEV = pathlib.Path(__file__).resolve().parent.parent
HEAD = "// {}: what this file owns.\n//\n// SPDX-License-Identifier: MIT\n"


class SampleTest(unittest.TestCase):
    """Each test starts with an empty folder `self.root`, and runs the script named `script`."""
    script = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tarn-dev-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, name, text, head=True):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((HEAD.format(path.stem) if head else "") + text)
        return path

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, str(DEV / self.script), *map(str, arguments)],
                              capture_output=True, text=True)

    def assert_passes(self, *arguments):
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def assert_fails(self, expected, *arguments):
        """The script fails, and says `expected` while it does."""
        done = self.run_script(*arguments)
        self.assertNotEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(expected, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout
