"""Tests of the generated inputs of the real programs.

Run by ctest (bench_inputs), or: python3 bench/tests/inputs_test.py

SPDX-License-Identifier: MIT
"""
import tempfile
import unittest
from pathlib import Path

import subject
from side_by_side import inputs


class Inputs(unittest.TestCase):

  def test_inputs_are_the_same_every_time(self):
    with tempfile.TemporaryDirectory() as folder:
      for write, size in ((inputs.cxx_source, 3), (inputs.sql_script, 50),
                          (inputs.solver_puzzle, 9)):
        self.twice(folder, write, size)

  def test_those_of_the_validation_set_change_with_the_seed(self):
    with tempfile.TemporaryDirectory() as folder:
      for write in (inputs.json_records, inputs.xml_records, inputs.pdf_pages, inputs.graph,
                    inputs.words, inputs.php_script):
        self.assertNotEqual(self.twice(folder, write, 200, 1), self.twice(folder, write, 200, 2))

  def twice(self, folder, write, *shape):
    """What is written, the same both times."""
    written = []
    for name in ("first", "second"):
      write(Path(folder, name), *shape)
      written.append(Path(folder, name).read_bytes())
    self.assertEqual(*written)
    self.assertGreater(len(written[0]), 500)
    return written[0]


if __name__ == "__main__":
  subject.main()
