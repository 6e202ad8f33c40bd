# SPDX-License-Identifier: MIT
"""snippets_test: tests/snippets/snippets_test.py sees what is wrong with the code in a document."""
import unittest

from sample import DEV, SampleTest

GOOD = """
<!-- snippet
struct node {
  int number;
};
-->
```c
#include <tarn/detail/api.h>
static struct node first = {1};
```
<!-- snippet: elided='return 1;' -->
```cpp
inline int f() {
  ...
}
class Empty { ... };
```
```sh
if true; then echo yes; fi
```
```text
no code
```
"""


class Snippets(SampleTest):
    script = "../tests/snippets/snippets_test.py"

    def setUp(self):
        super().setUp()
        (self.root / "include").symlink_to(DEV.parent / "include")

    def document(self, text):
        self.write("docs/piece.md", text, head=False)
        return self.root, self.root / "build", "docs/piece.md"

    def test_all_pieces_are_read(self):
        self.assertIn("3 of docs/piece.md, 0 failed", self.assert_passes(*self.document(GOOD)))

    def test_a_piece_that_does_not_compile_is_named(self):
        for old, new, line in (("{1};", "{1}, {2};", 8), ("...\n}", "..;\n}", 13),
                               ("; fi", "", 19)):
            self.assertIn(old, GOOD)
            self.assert_fails(f"docs/piece.md:{line}: ", *self.document(GOOD.replace(old, new)))

    def test_what_is_not_declared_fails(self):
        for language in ("c", "cpp"):
            self.assert_fails("docs/piece.md:2: ", *self.document(
                f"```{language}\nint f(void) {{ return tarn_free(0), 1; }}\n```\n"))

    def test_a_header_of_tarn_is_shown_in_the_piece(self):
        self.assert_fails("includes a header of tarn's", *self.document(
            "<!-- snippet: main\n#include <tarn/tarn.h>\n-->\n```c\ntarn_free(0);\n```\n"))


if __name__ == "__main__":
    unittest.main()
