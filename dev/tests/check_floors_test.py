# SPDX-License-Identifier: MIT
"""check_floors_test: the law of the house is enforced, and a house that keeps it passes."""
import shutil
import subprocess
import unittest

from sample import SampleTest

LAW = """# the law
tier tarn
  detail :
  heap   : detail
  all    : detail heap
tier platform
  base   :
tier engine
  layout : platform/base
  pages  : layout platform/base tarn/heap
"""


class CheckFloors(SampleTest):
    script = "check_floors"

    def setUp(self):
        super().setUp()
        self.write("src/floors.txt", LAW, head=False)
        self.write("src/platform/base/bits.hpp", "inline int bits() { return 1; }\n")
        self.write("src/engine/layout/table.hpp",
                   '#include "platform/base/bits.hpp"\ninline int table() { return bits(); }\n')
        self.write("src/engine/pages/page.cpp",
                   '#include "tarn/heap/heap.hpp"\n#include "engine/layout/table.hpp"\n')
        self.write("include/tarn/heap/heap.hpp", '#include "../detail/align.hpp"\n')
        self.write("include/tarn/detail/align.hpp", "#include <cstddef>\n")
        self.write("include/tarn/tarn.hpp", '#include "heap/heap.hpp"\n')
        self.write("tools/tarn/main.cpp", "#include <tarn/heap/heap.hpp>\n")

    def law(self, more):
        self.write("src/floors.txt", LAW + more, head=False)

    def test_a_lawful_house_passes(self):
        self.assertIn("floors: ok (6 rooms, 6 files)", self.assert_passes(self.root))

    def test_a_room_may_not_include_one_of_a_higher_tier(self):
        self.write("src/platform/base/bad.cpp", '#include "engine/layout/table.hpp"\n')
        self.assert_fails("'platform/base' may not use 'engine/layout'", self.root)

    def test_a_room_may_not_include_one_that_it_does_not_name(self):
        self.write("src/engine/layout/bad.cpp", '#include "tarn/heap/heap.hpp"\n')
        self.assert_fails("'engine/layout' may not use 'tarn/heap'", self.root)

    def test_a_public_header_may_not_include_a_room(self):
        self.write("include/tarn/detail/align.hpp", '#include "platform/base/bits.hpp"\n')
        self.assert_fails("'tarn/detail' may not use 'platform/base'", self.root)

    def test_a_header_beside_the_folders_is_of_the_room_all(self):
        self.write("src/engine/pages/bad.cpp", '#include "tarn/tarn.hpp"\n')
        self.assert_fails("'engine/pages' may not use 'tarn/all'", self.root)

    def test_an_include_relative_to_the_file_counts(self):
        self.write("src/platform/base/bad.cpp", '#include "../../engine/layout/table.hpp"\n')
        self.assert_fails("'platform/base' may not use 'engine/layout'", self.root)

    def test_a_room_must_be_in_the_law(self):
        self.write("src/engine/attic/box.hpp", "")
        self.assert_fails("room 'engine/attic' is not in src/floors.txt", self.root)

    def test_the_law_names_lower_rooms_only(self):
        self.law("  attic : box\n  box :\n")
        self.assert_fails("engine/attic names engine/box, which is not on a lower floor", self.root)

    def test_a_line_that_is_no_law_is_refused(self):
        for line in ("  attic\n", "tier engine\n", "  layout :\n"):
            self.law(line)
            self.assert_fails("write `tier NAME` once for each tier", self.root)

    def test_files_may_not_form_a_circle(self):
        self.write("src/platform/base/one.hpp", '#include "platform/base/two.hpp"\nint one();\n')
        self.write("src/platform/base/two.hpp", '#include "one.hpp"\nint two();\n')
        self.assert_fails("circle of includes: src/platform/base/one.hpp src/platform/base/two.hpp",
                          self.root)

    def circle(self):
        """Two components whose sources include each other's headers: no circle of files."""
        self.write("src/platform/base/one.hpp", "int one();\n")
        self.write("src/platform/base/two.hpp", "int two();\n")
        self.write("src/platform/base/one.cpp",
                   '#include "platform/base/one.hpp"\n#include "platform/base/two.hpp"\n')
        self.write("src/platform/base/two_part.cpp",
                   '#include "platform/base/two.hpp"\n#include "platform/base/one.hpp"\n')

    def test_components_may_not_form_a_circle(self):
        self.circle()
        self.assert_fails("2 components are in a circle by includes: platform/base/one "
                          "platform/base/two", self.root)

    def test_a_part_with_a_header_of_its_own_is_a_component(self):
        self.circle()
        self.write("src/platform/base/two_part.hpp", "int part();\n")
        self.assert_passes(self.root)

    def test_a_header_uses_what_it_includes(self):
        self.write("src/engine/layout/idle.hpp", '#include "platform/base/bits.hpp"\nint a();\n')
        self.assert_fails("uses nothing of platform/base/bits.hpp", self.root)

    def test_what_a_header_hands_on_of_the_vocabulary_counts(self):
        self.write("include/tarn/detail/api.h", "#define TARN_LIKELY(x) (x)\n")
        self.law("")
        law = LAW.replace("base   :", "base   : tarn/detail")
        self.write("src/floors.txt", law, head=False)
        self.write("src/platform/base/config.hpp", '#include "tarn/detail/api.h"\n')
        self.write("src/engine/layout/uses.hpp",
                   '#include "platform/base/config.hpp"\n'
                   "inline int a() { return TARN_LIKELY(1); }\n")
        self.assert_passes(self.root)

    def test_friends_are_of_the_same_header_or_of_the_tests(self):
        text = ("class Near {};\n"
                "class Owner {\n  friend class Near;\n  friend struct OwnerAccess;\n};\n")
        self.write("src/platform/base/owner.hpp", text)
        self.assert_passes(self.root)
        self.write("src/platform/base/owner.hpp", text.replace("class Near {};\n", ""))
        self.assert_fails("Near is a friend, and of another component", self.root)

    def test_a_room_has_so_many_lines(self):
        for name in ("one", "two"):
            self.write(f"src/platform/base/{name}.cpp", "int a;\n" * 1600)
        self.assert_fails("src/platform/base has 32", self.root)

    def test_tools_and_examples_see_public_headers_only(self):
        for include in ("platform/base/bits.hpp", "tarn/detail/align.hpp"):
            for top in ("tools", "examples", "bench"):
                path = self.write(f"{top}/bad/main.cpp", f'#include "{include}"\n')
                self.assert_fails("only public headers are open from here", self.root)
                path.unlink()

    def test_the_house_does_not_include_what_lies_outside(self):
        self.write("tools/tarn/verb.hpp", "")
        self.write("src/platform/base/bad.hpp", '#include "../../../tools/tarn/verb.hpp"\n')
        self.assert_fails("which lies outside the house", self.root)

    def test_an_include_of_a_missing_file_is_named(self):
        self.write("src/engine/pages/bad.cpp", '#include "platform/base/gone.hpp"\n')
        self.assert_fails("includes platform/base/gone.hpp, which is not there", self.root)

    # The picture.

    def draw(self, picture, levels):
        self.write("docs/design/house.md", f"```text\n{picture}```\n```text\n{levels}```\n", False)

    def test_the_picture_names_tiers_and_rooms(self):
        self.draw("engine/ layout pages\nplatform/ base\n", "")
        self.assert_passes(self.root)
        self.draw("engine/ layout\nplatform/ base\n", "")
        self.assert_fails("the picture of engine/ does not name engine/pages", self.root)
        self.draw("engine/ layout pages base\n", "")
        self.assert_fails("the picture has no tier platform/", self.root)

    def test_the_levels_in_the_picture_are_those_of_the_code(self):
        self.write("src/platform/base/more.cpp", '#include "platform/base/bits.hpp"\n')
        levels = "platform/base: bits < more\n"
        self.assertEqual(levels, self.run_script("--levels", self.root).stdout)
        self.draw("engine/ layout pages\nplatform/ base\n", levels)
        self.assert_passes(self.root)
        self.draw("engine/ layout pages\nplatform/ base\n", "platform/base: more < bits\n")
        self.assert_fails("the levels are not those of the code", self.root)


@unittest.skipUnless(shutil.which("c++"), "no C++ compiler")
class CheckObjects(SampleTest):
    script = "check_floors"

    def setUp(self):
        super().setUp()
        self.write("src/floors.txt", "tier platform\n  base :\n  os :\n", head=False)
        self.write("src/platform/base/one.hpp", "namespace tarn {\nint one();\n}\n")
        self.write("src/platform/base/one.cpp",
                   '#include "platform/base/one.hpp"\n'
                   "namespace tarn {\nint one() { return 1; }\n}\n")

    def compile(self):
        folder = self.root / "build/src/CMakeFiles/tarn_core.dir"
        for source in (self.root / "src").rglob("*.cpp"):
            target = folder / source.relative_to(self.root / "src").with_suffix(".cpp.o")
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["c++", "-c", f"-I{self.root}/src", str(source), "-o", str(target)],
                           check=True)
        return ("--objects", self.root / "build", self.root)

    def test_a_house_that_keeps_the_law_passes(self):
        self.assert_passes(*self.compile())

    def test_without_objects_it_says_what_to_do(self):
        self.assert_fails("build it first", "--objects", self.root / "build", self.root)

    def test_a_function_is_defined_where_it_is_declared(self):
        self.write("src/platform/base/two.cpp",
                   "namespace tarn {\nint one(char) { return 2; }\n}\n")
        self.assert_fails("src/platform/base/two.cpp: defines one, which "
                          "src/platform/base/one.hpp declares", *self.compile())

    def test_a_function_without_a_header_is_named(self):
        self.write("src/platform/base/two.cpp", "namespace tarn {\nint two() { return 2; }\n}\n")
        self.assert_fails("defines two, which no header declares", *self.compile())

    def test_a_folder_of_a_room_defines_what_its_headers_declare(self):
        self.write("src/platform/os/vm.hpp", "namespace tarn::os {\nint map();\n}\n")
        self.write("src/platform/os/linux/map.cpp",
                   "namespace tarn::os {\nint map() { return 3; }\n}\n")
        self.assert_passes(*self.compile())

    def test_a_port_is_defined_by_the_component_that_the_law_names(self):
        self.write("src/platform/base/check.hpp", "namespace tarn {\nvoid fail();\n}\n")
        self.write("src/platform/base/check.cpp", "namespace tarn {\nvoid fail();\n"
                   "void call() { fail(); }\n}\n")
        self.write("src/platform/base/check.hpp",
                   "namespace tarn {\nvoid fail();\nvoid call();\n}\n")
        self.write("src/platform/os/report.cpp", "namespace tarn {\nvoid fail() {}\n}\n")
        self.assert_fails("calls src/platform/os/report.cpp, of a higher room", *self.compile())
        law = (self.root / "src/floors.txt").read_text()
        self.write("src/floors.txt", law + "port platform/base/check platform/os/report\n", False)
        self.assert_passes(*self.compile())

    def test_components_may_not_call_each_other(self):
        for one, other in (("three", "four"), ("four", "three")):
            self.write(f"src/platform/base/{one}.hpp", f"namespace tarn {{\nint {one}();\n}}\n")
            self.write(f"src/platform/base/{one}.cpp", f"namespace tarn {{\nint {other}();\n"
                       f"int {one}() {{ return {other}(); }}\n}}\n")
        self.assert_fails("2 components are in a circle by includes and symbols", *self.compile())


if __name__ == "__main__":
    unittest.main()
