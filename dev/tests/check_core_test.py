# SPDX-License-Identifier: MIT
"""check_core_test: an object that calls what is banned is named, and entry/new may."""
import subprocess
import unittest

from sample import SampleTest

BANNED = {
    "malloc": "#include <cstdlib>\nvoid* f() { return std::malloc(8); }\n",
    "free": "#include <cstdlib>\nvoid f(void* p) { std::free(p); }\n",
    "_Znwm": "void* f() { return ::operator new(8); }\n",
    "_ZdlPvm": "void f(void* p) { ::operator delete(p, 8ul); }\n",
    "__cxa_throw": "void f() { throw 1; }\n",
    "__cxa_guard_acquire": "int g();\nint f() { static int once = g(); return once; }\n",
    "_ZSt4cout": "#include <iostream>\nvoid f() { std::cout << 1; }\n",
    "_ZSt20__throw_length_errorPKc":
        "#include <stdexcept>\nvoid f() { std::__throw_length_error(\"\"); }\n",
    "pthread_mutex_lock": "#include <mutex>\nvoid f(std::mutex& m) { m.lock(); }\n",
    "__tls_get_addr": "extern thread_local int x;\nint f() { return x; }\n",
}


class CheckCore(SampleTest):
    script = "check_core"

    def build(self, **sources):
        objects = []
        for name, text in sources.items():
            source, built = self.root / f"{name}.cpp", self.root / f"{name}.cpp.o"
            source.write_text(text)
            subprocess.run(["g++", "-std=c++20", "-O1", "-fPIC", "-c", "-o", built, source],
                           check=True)
            objects.append(built)
        archive = self.root / "libtarn.a"
        archive.unlink(missing_ok=True)
        subprocess.run(["ar", "rcs", archive, *objects], check=True)

    def test_a_core_on_its_own_passes(self):
        self.build(pages="int f(int n) { return n + 1; }\n",
                   entry="int f(int);\nint g() { return f(1); }\n")
        self.assertIn("core: ok", self.assert_passes(self.root))

    def test_each_banned_reference_is_named(self):
        for name, text in BANNED.items():
            with self.subTest(name):
                self.build(pages="int plain() { return 1; }\n", heap=text)
                self.assert_fails(f"libtarn.a(heap.cpp.o): refers to {name}\n", self.root)

    def test_entry_new_may_throw(self):
        self.build(new=BANNED["__cxa_throw"], pages="int f() { return 1; }\n")
        self.assert_passes(self.root)

    def test_defining_malloc_is_no_reference(self):
        self.build(entry='extern "C" void* malloc(unsigned long) { return nullptr; }\n')
        self.assert_passes(self.root)

    def test_a_shared_library_that_needs_libstdcxx(self):
        self.build(pages="int f() { return 1; }\n")
        (self.root / "so.cpp").write_text(BANNED["_ZSt4cout"])
        subprocess.run(["g++", "-shared", "-fPIC", "-o", self.root / "libtarn.so",
                        self.root / "so.cpp"], check=True)
        self.assert_fails("libtarn.so: needs [libstdc++", self.root)

    def test_a_shared_library_with_dynamic_tls(self):
        self.build(pages="int f() { return 1; }\n")
        (self.root / "so.cpp").write_text(BANNED["__tls_get_addr"])
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", self.root / "libtarn.so",
                        self.root / "so.cpp"], check=True)
        self.assert_fails("thread-locals must be initial-exec", self.root)

    def test_an_archive_that_is_not_there(self):
        self.assert_fails("check_core: nm", self.root)

    def test_an_archive_without_objects(self):
        subprocess.run(["ar", "rcs", self.root / "libtarn.a"], check=True)
        self.assert_fails("holds no objects", self.root)


if __name__ == "__main__":
    unittest.main()
