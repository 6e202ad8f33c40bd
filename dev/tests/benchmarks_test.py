# SPDX-License-Identifier: MIT
"""benchmarks_test: what dev/benchmarks writes and draws of pages, and that it is that of bench/."""
import unittest

from sample import DEV, SampleTest

RATIOS = """## Time, ratio to glibc (median ± half the range)
| task | glibc | tarn | before | tcmalloc | mimalloc3 |
|---|---|---|---|---|---|
| slots | 0.50 s ±1% | 0.20 ±2% | **0.10** ±1% | 0.15 ±1% | – |
| lists | 0.50 s | **0.40** | 0.50 | 0.60 | **failed** |

## Peak RSS, ratio to glibc (median ± half the range)
| task | glibc | tarn | before | tcmalloc | mimalloc3 |
|---|---|---|---|---|---|
| slots | 3.0 MiB | 1.20 | **0.10** | 1.10 | – |
| lists | 3.0 MiB | 1.40 | 0.50 | 1.60 | 1.50 |
"""
BASELINE = """- Machine: A processor, 2 cores; glibc 2.36

## Against glibc
| allocator | version | time | CPU | peak RSS | tasks |
|---|---|---|---|---|---|
| glibc | 2.36 | 1.000 | 1.000 | 1.000 | 32 |
| tarn | abc | 0.600 [0.590, 0.610] | 0.700 | 1.100 [1.090, 1.110] | 32 |
| before | abc | 0.500 [0.490, 0.510] | 0.700 | 1.200 [1.190, 1.210] | 32 |

""" + RATIOS
# The same figures, as bench/run writes them now.
MORE_COLUMNS = """- Machine: A processor, 2 cores; glibc 2.36

## Against glibc
| allocator | version | time | time (minima) | CPU | peak RSS | RSS (common) | tasks |
|---|---|---|---|---|---|---|---|
| glibc | 2.36 | 1.000 | 1.000 | 1.000 | 1.000 | 1.000 | 32 |
| tarn | abc | 0.600 [0.590, 0.610] | 0.580 | 0.700 | 1.100 [1.090, 1.110] | 1.300 | 32 |
| before | abc | 0.500 [0.490, 0.510] | 0.490 | 0.700 | 1.200 [1.190, 1.210] | 1.300 | 32 |

""" + RATIOS


COUNTS = """- Machine: A processor
- Command: `bench/run --counts`

## Means, ratio to glibc
| allocator | Instructions |
|---|---|
| tarn | 0.700 |
| before | 0.600 |
"""
OTHER = """# What it is

- Machine: Another processor, 2 cores
- Command: `bench/other --rounds 3`; 2026-11-28 12:30; 3 rounds
"""
TARGETS = OTHER + """
## Targets
| ratio | at most | rows that meet it | worst |
|---|---|---|---|
| pools | 1.00 | 15 of 24 | 1.20 |
| arenas | 1.00 | 24 of 24 | 0.90 |

Rows that do not meet theirs:

| ratio | row | at most | median |  |
|---|---|---|---|---|
| pools | list | 1.00 | 1.20 | **missed** |

## Figures
| row | target | median |  |
|---|---|---|---|
| not one of them | 1 | 2 | **missed** |
"""
MET = OTHER + """
## Targets
| row | target | median |  |
|---|---|---|---|
| create | <= 10 | 9 | met |
| destroy | <= 10 | 11 | **missed** |

| form | target | median |  |
|---|---|---|---|
| both missed | <= 10 | 12 | **missed** |
"""
OTHERS = ("SCALING", "RETURNS", "HEAPS", "POOLS", "TREES", "SLOTS", "XALLOCATOR", "HOOKS")


class Benchmarks(SampleTest):
    script = "benchmarks"

    def setUp(self):
        super().setUp()
        (self.root / "docs").mkdir()
        self.write("bench/COUNTS.md", COUNTS, head=False)
        for name in OTHERS:
            text = {"POOLS": TARGETS, "HEAPS": MET}.get(name, OTHER)
            self.write(f"bench/{name}.md", text, head=False)

    def drawn(self, table, made="chart.svg"):
        self.write("bench/BASELINE.md", table, head=False)
        self.assert_passes(self.root)
        return (self.root / "docs" / made).read_text()

    def written(self, table):
        return self.drawn(table, "benchmarks.md")

    def test_each_allocator_is_drawn(self):
        text = self.drawn(BASELINE)
        for word in (">tarn</text>", ">glibc</text>", "A processor, 2 cores"):
            self.assertIn(word, text)
        self.assertNotIn("before", text)
        self.assertEqual(text.count("<circle"), 2)
        self.assert_passes("--check", self.root)
        self.write("bench/BASELINE.md", BASELINE.replace("0.600", "0.605"), head=False)
        self.assert_fails("docs/chart.svg and docs/benchmarks.md not those of", "--check",
                          self.root)

    def test_columns_are_found_by_their_headings(self):
        self.assertEqual(self.drawn(MORE_COLUMNS), self.drawn(BASELINE))

    def test_an_allocator_without_figures_is_not_drawn(self):
        none = "| lost | 1 | – | – | – | – |\n"
        text = self.drawn(BASELINE.replace("\n\n## Time", f"\n{none}\n## Time"))
        self.assertNotIn("lost", text)
        self.assertIn("over 32 tasks", text)

    def test_a_page_without_the_table_or_a_column(self):
        self.write("bench/BASELINE.md", "nothing\n", head=False)
        self.assert_fails("no table 'Against glibc'", self.root)
        self.write("bench/BASELINE.md", BASELINE.replace("peak RSS", "RSS"), head=False)
        self.assert_fails("no column 'peak RSS'", self.root)
        self.write("bench/BASELINE.md", BASELINE.replace("|", ""), head=False)
        self.assert_fails("no table 'Against glibc'", self.root)

    def test_what_others_do_better_is_said(self):
        text = self.written(BASELINE)
        self.assertIn("On 1 of 2 tasks it takes more than 1.05 times the time that", text)
        self.assertIn("| slots | 0.20 | 0.15 | tcmalloc |", text)
        self.assertIn("On 1 of 2 tasks it takes more than 1.3 times the memory", text)
        self.assertIn("| lists | 1.40 | 1.00 | glibc |", text)
        self.assertNotIn("before", text)
        text = self.written(BASELINE.replace("| **0.40** |", "| 1.10 |"))
        self.assertIn("| lists | 1.10 | 0.60 | tcmalloc |", text)
        text = self.written(BASELINE.replace("| 0.20 ±2%", "| 1.20 ±2%").replace("0.15 ±1%", "–"))
        self.assertIn("| slots | 1.20 | 1.00 | glibc |", text)
        text = self.written(BASELINE.replace("| 0.20 ±2%", "| 0.15 ±2%"))
        self.assertIn("On 0 of 2 tasks it takes more than 1.05 times the time", text)
        self.assertNotIn("| 0.15 | tcmalloc |", text)

    def test_targets_are_counted_and_those_missed_are_named(self):
        text = self.written(BASELINE)
        self.assertIn("(../bench/POOLS.md) | `bench/other --rounds 3` | Another processor, "
                      "2026-11-28 12:30 | 39 of 48 |", text)
        self.assertIn("rows that meet it 15 of 24", text)
        self.assertNotIn("pools, list", text)
        self.assertNotIn("not one of them", text)
        self.assertIn("(../bench/HEAPS.md) | `bench/other --rounds 3` | Another processor, "
                      "2026-11-28 12:30 | 1 of 3 |", text)
        self.assertIn("both missed, <= 10: median 12", text)
        self.assertIn("destroy, <= 10: median 11", text)
        self.assertIn("| none set |", text)

    def test_columns_of_groups_are_there_where_the_page_has_them(self):
        groups = ("## By groups of tasks, against glibc\n"
                  "| allocator | time, workload |\n|---|---|\n| glibc | 1.000 |\n"
                  "| tarn | 0.400 |\n\n## Time,")
        text = self.written(BASELINE.replace("## Time,", groups))
        self.assertIn("time, workload |", text)
        self.assertIn("| 0.400 |", text)

    def test_pages_that_cannot_be_read(self):
        self.write("bench/BASELINE.md", BASELINE.replace("| 0.50 | 0.60 |", "| 0.60 |"), head=False)
        self.assert_fails("a row has 5 cells, its table has 6", self.root)
        self.write("bench/BASELINE.md", BASELINE.replace("0.600 [", "0.6.0 ["), head=False)
        self.assert_passes(self.root)
        self.write("bench/BASELINE.md", BASELINE, head=False)
        (self.root / "bench/HOOKS.md").write_bytes(b"\xff")
        self.assert_fails("HOOKS.md", self.root)
        self.assert_fails("unrecognized arguments: --chekc", "--chekc")

    def test_a_page_that_is_not_there(self):
        self.write("bench/BASELINE.md", BASELINE, head=False)
        (self.root / "bench/HOOKS.md").unlink()
        self.assert_fails("HOOKS.md", self.root)

    def test_they_are_current(self):
        self.assert_passes("--check", DEV.parent)


if __name__ == "__main__":
    unittest.main()
