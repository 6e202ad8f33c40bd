# SPDX-License-Identifier: MIT
"""fast_path_test: the walk counts what a processor would run, and each limit can fail."""
import platform
import subprocess
import unittest

from sample import SampleTest

HIT = """
  mov %fs:0, %rax
  test %rdi, %rdi
  je .Lslow_{name}
  add $1, %rax
  jmp .Lfar_{name}
.Lslow_{name}:
  call elsewhere
  ret
  .skip 64, 0x90
.Lfar_{name}:
  {extra}
  ret
"""


@unittest.skipUnless(platform.machine() == "x86_64", "fast_path reads x86-64 code")
class FastPath(SampleTest):
    script = "fast_path"

    def build(self, malloc_extra="nop", free_extra="nop", ident="test compiler 1"):
        text = f'.ident "{ident}"\n.text\n.type elsewhere, @function\nelsewhere: ret\n'
        for name, extra in (("malloc", malloc_extra), ("free", free_extra)):
            text += f".globl {name}\n.type {name}, @function\n{name}:\n"
            text += HIT.format(name=name, extra=extra)
        source, library = self.root / "hit.s", self.root / "libhit.so"
        source.write_text(text)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, source], check=True)
        return library

    def check(self, library, *options):
        return ("--golden", self.root / "golden", *options, library)

    def settle(self):
        """Writes a golden file for the plain library."""
        return self.assert_passes(*self.check(self.build(), "--update"))

    def test_counts_follow_jumps_and_stop_at_the_first_return(self):
        out = self.settle()
        self.assertIn(f"{'malloc':33} instructions=7 branches=1 jumps=1 calls=0 locks=0", out)
        self.assertIn(f"{'free':33} instructions=7 branches=1 jumps=1 calls=0 locks=0", out)

    def test_the_golden_file_is_met_again(self):
        self.settle()
        self.assertIn("fast_path: ok", self.assert_passes(*self.check(self.build())))

    def test_without_a_golden_file_it_says_how_to_write_one(self):
        self.assert_fails("write it with dev/fast_path --update", *self.check(self.build()))

    def test_one_instruction_more_than_golden_fails(self):
        self.settle()
        out = self.assert_fails("if that is meant", *self.check(self.build("nop; nop")))
        self.assertIn("malloc: golden", out)
        self.assertNotIn("free: golden", out)

    def test_another_compiler_is_held_to_the_limits_only(self):
        self.settle()
        other = self.build("nop; nop", ident="test compiler 2")
        self.assertIn("limits only", self.assert_passes(*self.check(other)))

    def test_limit_of_instructions(self):
        long = self.build("; ".join(["nop"] * 10))
        self.assert_fails("malloc: 16 instructions, the limit is 15",
                          *self.check(long, "--update"))

    def test_limit_of_branches(self):
        many = self.build(free_extra="; ".join(["jne .Lslow_free"] * 4))
        self.assert_fails("free: 5 branches, the limit is 4", *self.check(many, "--update"))

    def test_a_call_fails(self):
        self.assert_fails("malloc: 1 calls", *self.check(self.build("call elsewhere"), "--update"))

    def test_a_jump_through_a_register_is_a_call(self):
        self.assert_fails("malloc: 1 calls", *self.check(self.build("jmp *%rax"), "--update"))

    def test_lock_prefix_and_exchange_with_memory(self):
        for locked in ("lock incl (%rdi)", "xchg %rax, (%rdi)", "lock cmpxchg %rcx, (%rdi)"):
            library = self.build(free_extra=locked)
            self.assert_fails("free: 1 locks, the limit is 0", *self.check(library, "--update"))

    def test_exchange_of_registers_is_no_lock(self):
        library = self.build(free_extra="xchg %rcx, %rdx")
        self.assert_passes(*self.check(library, "--update"))

    def build_examples(self, extra="nop"):
        source, library = self.root / "examples.s", self.root / "libexamples.so"
        text = ".text\n.type elsewhere, @function\nelsewhere: ret\n"
        for name in ("path_of_a_pool", "another"):
            text += f".globl {name}\n.type {name}, @function\n{name}:\n  {extra}\n  ret\n"
        source.write_text(text)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, source], check=True)
        return library

    def test_examples_are_counted_by_their_names(self):
        out = self.assert_passes(*self.check(self.build()), self.build_examples(), "--update")
        self.assertIn(f"{'path_of_a_pool':33} instructions=2", out)
        self.assertNotIn("another", out)

    def test_an_example_that_changed_fails(self):
        self.assert_passes(*self.check(self.build()), self.build_examples(), "--update")
        self.assert_fails("if that is meant", *self.check(self.build()),
                          self.build_examples("nop; nop"))

    def test_an_example_that_calls_fails(self):
        self.assert_fails("path_of_a_pool: 1 calls, the limit is 0", *self.check(self.build()),
                          self.build_examples("call elsewhere"), "--update")

    def test_a_library_without_malloc(self):
        source, library = self.root / "none.s", self.root / "libnone.so"
        source.write_text(".text\nret\n")
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, source], check=True)
        self.assert_fails("does not export malloc", *self.check(library))


if __name__ == "__main__":
    unittest.main()
