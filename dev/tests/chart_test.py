# SPDX-License-Identifier: MIT
"""chart_test: what dev/chart draws of a table, and that docs/chart.svg is of BASELINE.md."""
import unittest

from sample import DEV, SampleTest

BASELINE = """- Machine: A processor, 2 cores; glibc 2.36

## Against glibc
| allocator | version | time | CPU | peak RSS | tasks |
|---|---|---|---|---|---|
| glibc | 2.36 | 1.000 | 1.000 | 1.000 | 32 |
| tarn | abc | 0.600 [0.590, 0.610] | 0.700 | 1.100 [1.090, 1.110] | 32 |
| before | abc | 0.500 [0.490, 0.510] | 0.700 | 1.200 [1.190, 1.210] | 32 |

## Next
"""
# The same figures, as bench/run writes them now.
MORE_COLUMNS = """- Machine: A processor, 2 cores; glibc 2.36

## Against glibc
| allocator | version | time | time (minima) | CPU | peak RSS | RSS (common) | tasks |
|---|---|---|---|---|---|---|---|
| glibc | 2.36 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 32 |
| tarn | abc | 0.600 [0.590, 0.610] | 0.580 | 0.700 | 1.100 [1.090, 1.110] | 1.300 | 32 |
| before | abc | 0.500 [0.490, 0.510] | 0.490 | 0.700 | 1.200 [1.190, 1.210] | 1.300 | 32 |

## Next
"""


class Chart(SampleTest):
    script = "chart"

    def drawn(self, table):
        self.write("bench/BASELINE.md", table, head=False)
        (self.root / "docs").mkdir(exist_ok=True)
        self.assert_passes(self.root)
        return (self.root / "docs/chart.svg").read_text()

    def test_each_allocator_is_drawn(self):
        text = self.drawn(BASELINE)
        for word in (">tarn</text>", ">glibc</text>", "A processor, 2 cores"):
            self.assertIn(word, text)
        self.assertNotIn("before", text)
        self.assertEqual(text.count("<circle"), 2)
        self.assert_passes("--check", self.root)
        self.write("bench/BASELINE.md", BASELINE.replace("0.600", "0.605"), head=False)
        self.assert_fails("docs/chart.svg is not that of", "--check", self.root)

    def test_columns_are_found_by_their_headings(self):
        self.assertEqual(self.drawn(MORE_COLUMNS), self.drawn(BASELINE))

    def test_an_allocator_without_figures_is_not_drawn(self):
        none = "| lost | 1 | – | – | – | – |\n"
        text = self.drawn(BASELINE.replace("\n\n## Next", f"\n{none}\n## Next"))
        self.assertNotIn("lost", text)
        self.assertIn("over 32 tasks", text)

    def test_a_page_without_the_table_or_a_column(self):
        self.write("bench/BASELINE.md", "nothing\n", head=False)
        self.assert_fails("no table 'Against glibc'", self.root)
        self.write("bench/BASELINE.md", BASELINE.replace("peak RSS", "RSS"), head=False)
        self.assert_fails("no column 'peak RSS'", self.root)
        self.write("bench/BASELINE.md", BASELINE.replace("|", ""), head=False)
        self.assert_fails("no column 'allocator'", self.root)

    def test_the_chart_is_current(self):
        self.assert_passes("--check", DEV.parent)


if __name__ == "__main__":
    unittest.main()
