# SPDX-License-Identifier: MIT
"""make_test: what the targets of the Makefile would run, and that its help names each of them."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from sample import DEV

ROOT = DEV.parent


def make(*words):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MAKELEVEL", "PREFIX", "DESTDIR")}
    return subprocess.run(["make", "-C", str(ROOT), *map(str, words)], capture_output=True,
                          text=True, check=False, env=environment)


class Make(unittest.TestCase):
    def test_help_names_each_target(self):
        said = make().stdout
        targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].split()
        self.assertEqual(set(re.findall(r"^  make ([\w-]+)", said, re.M)), set(targets) - {"help"})

    def test_install_takes_a_prefix(self):
        for words, prefix in (((), "/usr/local"), (("PREFIX=some/where",), f"{ROOT}/some/where"),
                              (("PREFIX=~/x", "HOME=/nobody"), "/nobody/x")):
            said = make("-n", "install", *words).stdout
            self.assertIn(f"-DCMAKE_INSTALL_PREFIX='{prefix}'", said)
            self.assertIn("--preset release ", said)
            self.assertIn("cmake --install build/release", said)

    def test_uninstall_follows_the_list(self):
        with tempfile.TemporaryDirectory(prefix="tarn-dev-") as name:
            prefix = pathlib.Path(name)
            done = make("uninstall", f"PREFIX={prefix}")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("tarn was not installed there", " ".join(done.stderr.split()))
            for path, text in (("share/tarn/installed.txt", "lib/libtarn.so\n"
                                "include/tarn/a.h\nshare/tarn/installed.txt\n"),
                               ("lib/libtarn.so", ""), ("include/tarn/a.h", ""), ("lib/other", "")):
                (prefix / path).parent.mkdir(parents=True, exist_ok=True)
                (prefix / path).write_text(text)
            done = make("uninstall", f"PREFIX={prefix}")
            self.assertEqual(done.returncode, 0, done.stderr)
            left = {str(path.relative_to(prefix)) for path in prefix.rglob("*")}
            self.assertEqual(left, {"share", "include", "lib", "lib/other"})


if __name__ == "__main__":
    unittest.main()
