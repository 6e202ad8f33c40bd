# SPDX-License-Identifier: MIT
"""reference_test: what dev/reference makes of a header's comments, and that it heeds warnings."""
import shutil
import subprocess
import sys
import unittest

from sample import DEV, SampleTest

HEADER = """/* sample: what this is.
 *
 *   int* p = make(1);
 *
 * SPDX-License-Identifier: MIT */
#ifdef __cplusplus
extern "C" {
#endif
/* A section. */

/* Gives `p` to <somebody>. */
int make(int p);
struct pair {
  int left;  /* The first. */
};
#ifdef __cplusplus
}
#endif
// One line,
// and another.
class Maker {
 public:
  // Says so.
  int get() {
    // Not of the reference.
    return 1;  // Nor this.
  }
};
"""


class Reference(SampleTest):
    script = "reference"

    def filtered(self):
        return self.assert_passes("--filter", self.write("sample.h", HEADER, head=False))

    def test_comments_of_declarations_become_doxygens(self):
        said = self.filtered()
        for made in ("/** \\file\n", "\\verbatim\n  int* p = make(1);",
                     "/** Gives <code>p</code> to \\<somebody\\>. */\nint make(int p);",
                     "int left;  /**< The first. */", "/** One line,\nand another. */\nclass Maker",
                     "/** Says so. */\n  int get() {"):
            self.assertIn(made, said)

    def test_other_comments_stay(self):
        said = self.filtered()
        for kept in ("/* A section. */", "// Not of the reference.", "// Nor this."):
            self.assertIn(kept, said)
        self.assertNotIn("SPDX", said)

    @unittest.skipIf(shutil.which("doxygen") is None, "no doxygen")
    def test_a_warning_fails(self):
        script = self.write("dev/reference", (DEV / "reference").read_text(), head=False)
        for text, status in ((HEADER, 0), (HEADER + "/** \\nosuch */\n\nint a;\n", 1)):
            self.write("include/tarn/sample.h", text, head=False)
            done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn("sample.h", done.stderr)

    @unittest.skipIf(shutil.which("doxygen") is not None, "doxygen is there")
    def test_without_doxygen_it_says_what_to_install(self):
        self.assert_fails("dev/setup reference", self.root)


if __name__ == "__main__":
    unittest.main()
