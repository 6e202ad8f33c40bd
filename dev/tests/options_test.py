# SPDX-License-Identifier: MIT
"""options_test: what dev/options makes of a table, and that it sees where its copies are stale."""
import re
import unittest

from sample import DEV, SampleTest

SETTINGS = """
inline constexpr std::array<OptionRow, option_count> option_rows = {{
    {"delay_ms", 500, 0, 3600000,
     "how long; "
     "0: at once"},
    {"big_kib", 1, 0, std::uint64_t{1} << 32, "says \\"big\\""},
}};
inline constexpr std::array<TextOptionRow, 1> text_option_rows = {{
    {"account", "FOLDER", "where accounts go"},
}};
"""
MARKED = "before\n.. options: begin ..\nold\n.. options: end ..\nafter\n"


class Options(SampleTest):
    script = "options"

    def setUp(self):
        super().setUp()
        self.write("src/platform/settings/settings.hpp", SETTINGS)
        for name in ("docs/options.md", "docs/man/libtarn.3"):
            self.write(name, MARKED, head=False)
        (self.root / "tools/tarn").mkdir(parents=True)

    def test_all_copies_are_written(self):
        self.assert_passes(self.root)
        self.assertEqual((self.root / "docs/options.md").read_text(), """before
.. options: begin ..
| option | values | without it | meaning |
|---|---|---|---|
| `account` | FOLDER | | where accounts go |
| `big_kib` | 0 to 4294967296 | 1 | says "big" |
| `delay_ms` | 0 to 3600000 | 500 | how long; 0: at once |
.. options: end ..
after
""")
        manual = (self.root / "docs/man/libtarn.3").read_text()
        self.assertIn(".It Cm delay_ms Pq 0 to 3600000; 500 without it\nHow long; 0: at once.\n",
                      manual)
        header = (self.root / "tools/tarn/option_table.hpp").read_text()
        self.assertIn(r'{"big_kib", "0 to 4294967296", "1",', header)
        self.assertIn(r'"says \"big\""},', header)

    def test_a_stale_copy_is_named(self):
        self.assert_passes(self.root)
        self.assert_passes("--check", self.root)
        for name in ("docs/options.md", "docs/man/libtarn.3", "tools/tarn/option_table.hpp"):
            path = self.root / name
            path.write_text(path.read_text().replace("500", "400"))
            self.assert_fails(f"stale: {name}; run dev/options", "--check", self.root)
            self.assert_passes(self.root)

    def test_what_is_not_understood_is_said(self):
        self.write("src/platform/settings/settings.hpp", SETTINGS.replace("3600000", "day * 2"))
        self.assert_fails("option_rows in src/platform/settings/settings.hpp is not understood",
                          self.root)
        self.write("src/platform/settings/settings.hpp", SETTINGS.replace("text_option", "words"))
        self.assert_fails("no table text_option_rows", self.root)
        self.write("src/platform/settings/settings.hpp", SETTINGS)
        self.write("docs/options.md", "no marks", head=False)
        self.assert_fails("no marks", self.root)

    def test_all_options_of_the_library_are_in_the_table(self):
        settings = (DEV.parent / "src/platform/settings/settings.hpp").read_text()
        known = re.search(r"enum class Option [^{]*\{(.*?)\}", settings, re.S)[1]
        text = (DEV.parent / "docs/options.md").read_text()
        for name in [*known.replace(",", " ").split(), "account", "mode"]:
            self.assertIn(f"| `{name}` |", text)


if __name__ == "__main__":
    unittest.main()
