# SPDX-License-Identifier: MIT
"""check_style_test: each rule of check_style fails on a file that breaks it and nothing else."""
import unittest

from sample import HEAD, SampleTest

CALL = "  work();\n"
LONG = CALL * 70


class CheckStyle(SampleTest):
    script = "check_style"

    def fails(self, expected, name, text, head=True):
        self.write(name, text, head)
        out = self.assert_fails(expected, self.root)
        self.assertEqual(len(out.splitlines()), 1, out)

    def passes(self, name, text, head=True):
        self.write(name, text, head)
        self.assert_passes(self.root)

    def test_a_plain_file_passes(self):
        self.passes("src/platform/base/bits.hpp", "#pragma once\n\nnamespace tarn {\nint f();\n}\n")

    def test_spdx(self):
        text = "// bits: things.\nint f();\n"
        self.fails("lacks 'SPDX", "src/platform/base/bits.hpp", text, False)

    def test_spdx_outside_of_the_head(self):
        self.fails("lacks 'SPDX", "src/platform/base/bits.hpp", "int a;\n\n" + HEAD, False)

    def test_a_head_that_says_nothing(self):
        text = "// SPDX-License-Identifier: MIT\nint f();\n"
        self.fails("does not say what", "src/platform/base/bits.hpp", text, False)

    def test_a_long_head(self):
        self.fails("head comment of 16 lines", "src/platform/base/bits.hpp", "// more\n" * 13)

    def test_a_head_in_c_style(self):
        text = "/* a: things.\n * SPDX-License-Identifier: MIT */\n"
        self.passes("include/tarn/a.h", text, False)

    def test_scripts_have_heads_too(self):
        self.fails("lacks 'SPDX", "dev/tool", "#!/usr/bin/env bash\n# tool: works.\necho\n", False)

    def test_python_docstring_is_a_head(self):
        text = '# SPDX-License-Identifier: MIT\n"""tool: works."""\n'
        self.passes("dev/tool.py", text, False)

    def test_a_long_file(self):
        self.fails("501 lines, at most 500", "src/platform/base/bits.hpp", "int a;\n" * 498)

    def test_the_longest_file_allowed(self):
        self.passes("src/platform/base/bits.hpp", "int a;\n" * 497)

    def test_a_long_function(self):
        self.fails("bits: 72 lines", "src/base/b.cpp", f"void bits(int n) {{\n{LONG}}}\n")

    def test_the_longest_function_allowed(self):
        self.passes("src/base/b.cpp", f"void bits(int n) {{\n{CALL * 68}}}\n")

    def test_a_long_member_function(self):
        text = f"namespace tarn {{\nclass A {{\n  int f() const noexcept {{\n{LONG}  }}\n}};\n}}\n"
        self.fails("f: 72 lines", "src/base/b.cpp", text)

    def test_a_long_constructor(self):
        text = f"A::A(int n) : a_{{n}}, b_(n) {{\n{LONG}}}\n"
        self.fails("A::A: 72 lines", "src/base/b.cpp", text)

    def test_a_long_table_is_no_function(self):
        self.passes("src/base/b.cpp", "int table[] = {\n" + "  3,\n" * 80 + "};\n")

    def test_a_long_namespace_is_no_function(self):
        self.passes("src/base/b.cpp", "namespace tarn {\n" + "int f() { return 1; }\n" * 90 + "}\n")

    def test_braces_in_strings_and_comments(self):
        text = "const char* f() { return \"{{\"; }  // {{{\n/* {{ */ char c = '{';\n"
        self.passes("src/base/b.cpp", text + "int g();\n" * 80)

    def test_a_long_python_function(self):
        head = '# SPDX-License-Identifier: MIT\n"""tool: works."""\n'
        self.fails("f: 71 lines", "dev/t.py", head + "def f():\n" + "    g()\n" * 70, False)

    def test_columns(self):
        self.fails("101 columns", "src/base/b.cpp", "// " + "x" * 98 + "\n")

    def test_hundred_columns_pass(self):
        self.passes("src/base/b.cpp", "// " + "x" * 97 + "\n")

    def test_tab(self):
        self.fails("a tab", "src/base/b.cpp", "\tint a;\n")

    def test_trailing_blank(self):
        self.fails("blanks at the end", "src/base/b.cpp", "int a; \n")

    def test_tabs_in_a_makefile_pass(self):
        self.passes("Makefile", "all:\n\ttrue\n", False)

    def test_banned_includes_below_entry(self):
        for banned in ("iostream", "string", "mutex", "vector", "thread", "functional", "map",
                       "memory"):
            self.fails(f"<{banned}> is banned", "src/heap/h.hpp", f"#include <{banned}>\n")

    def test_entry_and_tools_may_include_them(self):
        self.passes("src/entry/e.cpp", "#include <string>\n")
        self.passes("tools/tarn/t.cpp", "#include <string>\n")

    def test_many_project_includes(self):
        text = "".join(f'#include "base/f{n}.hpp"\n' for n in range(9))
        more = text + "".join(f'#include "base/g{n}.hpp"\n' for n in range(8))
        self.fails("includes 17 project files, at most 16", "src/heap/h.cpp", more)
        self.passes("src/heap/h.cpp", text)
        self.passes("include/tarn/tarn.h", text)
        self.fails("includes 9 project files, at most 8", "src/heap/h.hpp", text)

    def test_system_includes_are_not_counted(self):
        text = "".join(f'#include "base/f{n}.hpp"\n' for n in range(8))
        self.passes("src/heap/h.hpp", text + "#include <new>\n#include <bit>\n")

    def test_drawers(self):
        for name in ("util", "string_helper", "common", "misc", "manager", "heap_impl"):
            path = f"src/heap/{name}.hpp"
            self.fails("a drawer, not a noun", path, "")
            (self.root / path).unlink()

    def test_a_folder_may_be_a_drawer_too(self):
        self.fails("a drawer", "src/util/bits.hpp", "")

    def test_operator_new_has_a_file(self):
        self.passes("src/entry/malloc/new.cpp", "")

    def test_file_names_are_snake_case(self):
        self.fails("snake_case", "src/heap/BigHeap.hpp", "")
        (self.root / "src/heap/BigHeap.hpp").unlink()
        self.passes("include/tarn/compat/Allocator.h", "")

    def test_todo(self):
        self.fails("TODO without", "src/base/b.cpp", "// TODO: later\n")

    def test_todo_with_its_issue(self):
        self.passes("src/base/b.cpp", "// TODO(#12): later\n")

    def test_machine_paths(self):
        for start in ("wo" + "rk", "ro" + "ot", "ho" + "me/ann"):
            self.fails("absolute path", "docs/a.md", f"see /{start}/tarn\n", False)
            self.fails("absolute path", "docs/a.md", f"`cd /{start}`\n", False)

    def test_other_paths_pass(self):
        self.passes("docs/a.md", "/usr/include, bench/work/x, /proc/self/root/x, $dir/work/y\n",
                    False)

    def test_namespaces(self):
        self.fails("a room hides its internals", "src/base/b.hpp", "namespace tarn::detail {\n}\n")
        self.fails("there is one, tarn", "src/base/b.hpp", "namespace other {\n}\n")
        self.fails("using namespace", "src/base/b.hpp", "using namespace std;\n")

    def test_namespaces_that_pass(self):
        self.passes("src/base/b.hpp", "namespace tarn::os {\nnamespace {\n}\nnamespace x {\n}\n}\n")
        self.passes("tests/unit/t.cpp", "namespace tarn::test {\n}\nusing namespace tarn;\n")

    def test_macros(self):
        self.fails("macros are TARN_UPPER", "src/base/b.hpp", "#define LIKELY(x) (x)\n")

    def test_macros_that_pass(self):
        self.passes("src/base/b.hpp", "#define TARN_LIKELY(x) (x)\n#ifndef MADV_COLD\n"
                    "#define MADV_COLD 20\n#define MADV_OTHER 21\n#endif\n")
        self.passes("tests/unit/t.cpp", "#define CASE(x) (x)\n")

    def test_bytes_that_are_no_text(self):
        (self.root / "src").mkdir()
        (self.root / "src/a.cpp").write_bytes(b"\xff\xfe")
        self.assert_fails("not UTF-8", self.root)


if __name__ == "__main__":
    unittest.main()
