# SPDX-License-Identifier: MIT
"""check_format_test: that dev/check_format sees code that is laid out otherwise, and mends it."""
import shutil
import unittest

from sample import SampleTest


@unittest.skipUnless(shutil.which("clang-format-14"), "no clang-format-14")
class CheckFormat(SampleTest):
    script = "check_format"

    def setUp(self):
        super().setUp()
        (self.root / ".clang-format").write_text("BasedOnStyle: Google\nColumnLimit: 100\n")

    def test_right_code_passes(self):
        self.write("src/room/file.cpp", "\nint right(int x) { return x + 1; }\n")
        self.assert_passes(self.root)

    def test_wrong_code_is_named_and_mended(self):
        path = self.write("tests/file.c", "\nint  wrong( int x ){return x+1;}\n")
        self.assert_fails("tests/file.c: not as .clang-format lays it out", self.root)
        self.assert_passes("--fix", self.root)
        self.assertIn("int wrong(int x) { return x + 1; }", path.read_text())
        self.assert_passes(self.root)

    def test_other_folders_and_kinds_of_files_are_left_alone(self):
        path = self.write("docs/file.cpp", "\nint  wrong( int x );\n")
        self.write("src/room/file.txt", "int  wrong( int x );\n")
        self.assert_passes("--fix", self.root)
        self.assertIn("int  wrong( int x );", path.read_text())


if __name__ == "__main__":
    unittest.main()
