# SPDX-License-Identifier: MIT
"""check_floors_test: the law of the floors is enforced, and a house that keeps it passes."""
import unittest

from sample import SampleTest


class CheckFloors(SampleTest):
    script = "check_floors"

    def setUp(self):
        super().setUp()
        law = ("# the law\nbase :\nlayout : base\nheap : base layout\n"
               "public detail :\npublic heap : detail | heap\n")
        self.write("src/floors.txt", law, head=False)
        self.write("src/platform/base/bits.hpp", "#include <bit>\n")
        self.write("src/layout/table.hpp", '#include "platform/base/bits.hpp"\n')
        self.write("src/heap/heap.cpp",
                   '#include "tarn/heap/heap.hpp"\n#include "layout/table.hpp"\n')
        self.write("include/tarn/heap/heap.hpp", '#include "../detail/align.hpp"\n')
        self.write("include/tarn/detail/align.hpp", "#include <cstddef>\n")
        self.write("tools/tarn/main.cpp", "#include <tarn/heap/heap.hpp>\n")

    def test_a_lawful_house_passes(self):
        self.assertIn("floors: ok (5 rooms, 5 files)", self.assert_passes(self.root))

    def test_a_room_may_not_include_a_higher_one(self):
        self.write("src/base/bad.hpp", '#include "layout/table.hpp"\n')
        self.assert_fails("'base' may not include 'layout'", self.root)

    def test_a_room_may_not_include_one_it_does_not_name(self):
        self.write("src/floors.txt", "base :\nlayout : base\nheap : base\n"
                   "public detail :\npublic heap : detail | heap\n", False)
        self.assert_fails("'heap' may not include 'layout'", self.root)

    def test_public_headers_are_open_to_the_rooms_that_the_law_names(self):
        path = self.write("src/layout/bad.hpp", "#include <tarn/heap/heap.hpp>\n")
        self.assert_fails("'layout' may not include 'tarn/heap'", self.root)
        path.unlink()
        self.write("src/layout/good.hpp", '#include "tarn/detail/align.hpp"\n')
        self.assert_passes(self.root)

    def test_a_public_header_may_not_include_a_room(self):
        self.write("include/tarn/detail/align.hpp", '#include "platform/base/bits.hpp"\n')
        self.assert_fails("'tarn/detail' may not include 'base'", self.root)

    def test_a_public_header_may_not_include_a_folder_that_its_own_does_not_name(self):
        self.write("include/tarn/detail/bad.hpp", '#include "../heap/heap.hpp"\n')
        self.assert_fails("'tarn/detail' may not include 'tarn/heap'", self.root)

    def test_a_folder_of_public_headers_must_be_in_the_law(self):
        self.write("include/tarn/attic/box.hpp", "")
        self.assert_fails("room 'tarn/attic' is not in src/floors.txt", self.root)

    def test_the_law_of_public_headers_names_rooms_that_are_there(self):
        law = (self.root / "src/floors.txt").read_text()
        self.write("src/floors.txt", law + "public tree : heap | attic\n", head=False)
        self.assert_fails("tarn/tree names attic, which is not on a lower floor", self.root)

    def test_an_include_relative_to_the_file_counts(self):
        self.write("src/base/bad.hpp", '#include "../heap/heap.hpp"\n')
        self.write("src/heap/heap.hpp", "")
        self.assert_fails("'base' may not include 'heap'", self.root)

    def test_a_room_must_be_in_the_law(self):
        self.write("src/attic/box.hpp", "")
        self.assert_fails("room 'attic' is not in src/floors.txt", self.root)

    def test_the_law_cannot_hold_a_cycle(self):
        self.write("src/floors.txt", "base : layout\nlayout : base\nheap :\n", False)
        self.assert_fails("base names layout, which is not on a lower floor", self.root)

    def test_a_line_that_is_no_law_is_refused(self):
        self.write("src/floors.txt", "base\n", False)
        self.assert_fails("write one line", self.root)

    def test_files_of_one_room_may_not_form_a_circle(self):
        self.write("src/base/one.hpp", '#include "base/two.hpp"\n')
        self.write("src/base/two.hpp", '#include "one.hpp"\n')
        self.assert_fails("circle of includes: src/base/one.hpp -> src/base/two.hpp", self.root)

    def knot(self):
        """Two components whose sources include each other's headers: no circle of files."""
        self.write("src/base/one.hpp", "")
        self.write("src/base/two.hpp", "")
        self.write("src/base/one.cpp", '#include "base/one.hpp"\n#include "base/two.hpp"\n')
        self.write("src/base/two_part.cpp", '#include "base/two.hpp"\n#include "base/one.hpp"\n')

    def test_components_may_not_form_a_circle(self):
        self.knot()
        self.assert_fails("2 components of base are in circles, at most 0: one two", self.root)

    def test_a_part_with_a_header_of_its_own_is_a_component(self):
        self.knot()
        self.write("src/base/two_part.hpp", "")
        self.assert_passes(self.root)

    def test_a_knot_that_is_in_the_law_is_suffered_until_it_is_smaller(self):
        self.knot()
        law = (self.root / "src/floors.txt").read_text()
        self.write("src/floors.txt", law + "knot base 2\n", head=False)
        self.assert_passes(self.root)
        (self.root / "src/base/two_part.cpp").unlink()
        self.assert_fails("only 0 components of base are in circles: say so", self.root)

    def test_a_knot_of_a_room_that_is_not_there_is_no_law(self):
        law = (self.root / "src/floors.txt").read_text()
        self.write("src/floors.txt", law + "knot attic 2\n", head=False)
        self.assert_fails("write one line", self.root)

    def test_tools_and_examples_see_public_headers_only(self):
        for top in ("tools", "examples", "bench"):
            path = self.write(f"{top}/bad/main.cpp", '#include "platform/base/bits.hpp"\n')
            self.assert_fails("only public headers are open from here", self.root)
            path.unlink()

    def test_internals_of_public_headers_are_not_open_to_tools_and_examples(self):
        self.write("examples/bad/main.cpp", '#include "tarn/detail/align.hpp"\n')
        self.assert_fails("only public headers are open from here", self.root)

    def test_the_house_does_not_include_what_lies_outside(self):
        self.write("tools/tarn/verb.hpp", "")
        self.write("src/base/bad.hpp", '#include "../../tools/tarn/verb.hpp"\n')
        self.assert_fails("which lies outside the house", self.root)

    def test_an_include_of_a_missing_file_is_named(self):
        self.write("src/heap/bad.hpp", '#include "base/gone.hpp"\n')
        self.assert_fails("includes base/gone.hpp, which is not there", self.root)


if __name__ == "__main__":
    unittest.main()
