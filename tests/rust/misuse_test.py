#!/usr/bin/env python3
"""misuse_test: each example of the crate that must not compile is refused for the reason it names.

  misuse_test.py CRATE_FOLDER TARGET_FOLDER      after `cargo test` has built the crate there

`cargo test` compiles these examples too, but rustc looks at the codes of errors in nightly ones
only: one that fails for a misspelt name would pass.

SPDX-License-Identifier: MIT
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CRATE, TARGET = map(Path, sys.argv[1:3])
EXAMPLE = re.compile(r"^ *//[/!] ```compile_fail(?:,(E\d+))?\n(.*?)^ *//[/!] ```", re.S | re.M)
WITHOUT_CODE = {"arena.rs": "lifetime may not live long enough"}


def examples():
  for path in sorted((CRATE / "src").glob("*.rs")):
    for found in EXAMPLE.finditer(path.read_text()):
      lines = [re.sub(r"^ *//[/!] ?", "", line) for line in found[2].splitlines()]
      yield path.name, found[1], "\n".join(lines)


def library():
  return max((TARGET / "debug" / "deps").glob("libtarn-*.rlib"), key=lambda p: p.stat().st_mtime)


class Misuse(unittest.TestCase):
  def compile(self, body):
    with tempfile.TemporaryDirectory() as folder:
      source = Path(folder) / "example.rs"
      source.write_text(f"fn main() {{\n{body}\n}}\n")
      return subprocess.run(["rustc", "--edition", "2021", "--emit", "obj", "--out-dir", folder,
                             "--extern", f"tarn={library()}", str(source)],
                            capture_output=True, text=True, check=False)

  def test_each_is_refused_for_its_reason(self):
    found = list(examples())
    self.assertGreaterEqual(len(found), 9)
    for name, code, body in found:
      with self.subTest(body):
        done = self.compile(body)
        self.assertNotEqual(done.returncode, 0)
        expected = f"error[{code}]" if code else WITHOUT_CODE[name]
        self.assertIn(expected, done.stderr)

  def test_what_is_right_is_taken(self):
    done = self.compile("let arena = tarn::Arena::new(); assert_eq!(*arena.alloc(7), 7);")
    self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
  unittest.main(argv=sys.argv[:1])
