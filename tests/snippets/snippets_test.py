#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""snippets_test: compiles and runs each piece of code in a document, as it stands there.

  snippets_test.py SOURCE_FOLDER BUILD_FOLDER DOCUMENT      CC and CXX name the compilers

A piece is a fence of c, cpp, cmake or sh; sh is only read (bash -n). A piece that is no whole file
has a comment before it with what is around it (see Piece). The headers of tarn's that it needs are
shown in it, or in an earlier piece of the same language.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
FENCE = re.compile(r"(?:<!-- snippet(?P<around>(?:(?!-->).)*)-->\n)?^```(?P<language>\w+)\n"
                   r"(?P<code>.*?)^```$", re.S | re.M)
COMPILERS = {"c": [*shlex.split(os.environ.get("CC", "cc")), "-std=c11"],
             "cpp": [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++20"]}
ARM = {"c": ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-std=c11"],
       "cpp": ["arm-none-eabi-g++", "-mcpu=cortex-m3", "-std=c++20"]}
C_ERRORS = [f"-Werror={what}" for what in ("implicit-function-declaration", "implicit-int",
                                           "int-conversion", "incompatible-pointer-types")]


class Piece:
    """A fence, and the comment before it:

      <!-- snippet: WORDS
      lines at file scope
      main:                     what follows, and the piece, stand in main()
      lines before the piece
      ...                       the piece; it stands at the end if there is no such line
      lines behind it
      -->

    Words: main (the piece stands in main(), all lines at file scope), compat (includes by the names
    of older libraries), arm (is compiled for a Cortex-M), needs=PACKAGE (of pkg-config), top=REGEX
    (lines of the piece that stand at file scope), elided=CODE (what a line `...` of the piece
    stands for)."""

    def __init__(self, document, text, match):
        self.language, code = match["language"], match["code"]
        self.line = text.count("\n", 0, match.start("code")) + 1
        self.place = f"{document}:{self.line}"
        first, _, rest = (match["around"] or "").partition("\n")
        words = [word.partition("=") for word in shlex.split(first.lstrip(": "))]
        self.words = {name: value for name, _, value in words}
        elided = self.words.get("elided", "")
        code = re.sub(r"^([ \t]*)\.\.\.$", lambda found: found[1] + elided, code, flags=re.M)
        self.code = code.replace("{ ... }", "{}").splitlines()
        self.top, is_split, inside = rest.partition("main:\n")
        self.has_main = "main" in self.words or bool(is_split)
        around = inside if self.has_main else self.top
        self.before, _, self.behind = around.partition("...\n")
        if not self.has_main:
            self.top = ""
        self.document = document

    def includes(self):
        return [line for line in self.code if line.startswith("#include")]

    def program(self, earlier):
        """The source; `earlier` has the includes of the pieces before."""
        rest = ["" if line.startswith("#include") else line for line in self.code]
        at_top = []
        if "top" in self.words:
            at_top = [line for line in rest if re.match(self.words["top"], line)]
            rest = ["" if line in at_top else line for line in rest]
        around = f"{self.top}{self.before}{self.behind}"
        if re.search(r"#include [<\"]tarn/", around):
            sys.exit(f"{self.place}: the comment includes a header of tarn's; show it in the piece")
        others = re.findall(r"^#include.*\n", around, re.M)
        top, before, behind = (re.sub(r"^#include.*\n", "", part, flags=re.M)
                               for part in (self.top, self.before, self.behind))
        lines = [*others, *earlier, *self.includes(), top, *at_top]
        lines += ["int main(void) {"] * self.has_main
        lines += [before, f'#line {self.line} "{self.document}"', *rest, behind]
        lines += ["  return 0;", "}"] * self.has_main
        return "\n".join(line.rstrip("\n") for line in lines) + "\n"

    def build_and_run(self, folder, earlier):
        """None, or what went wrong."""
        source = folder / f"piece.{self.language}"
        source.write_text(self.program(earlier))
        compilers = ARM if "arm" in self.words else COMPILERS
        include = SOURCE / "include" / ("tarn/compat" if "compat" in self.words else "")
        command = [*compilers[self.language], f"-I{include}", str(source)]
        if self.language == "c":
            command += C_ERRORS
        libraries = []
        for package in filter(None, self.words.get("needs", "").split(",")):
            said = run(["pkg-config", "--cflags", "--libs", package])
            if said.returncode != 0:
                return f"left out: no {package}"
            libraries += said.stdout.split()
        if "arm" in self.words and not shutil.which(command[0]):
            return f"left out: no {command[0]}"
        if not self.has_main and "int main(" not in source.read_text() or "arm" in self.words:
            done = run([*command, *libraries, "-fsyntax-only"])
            return None if done.returncode == 0 else done.stderr
        program = folder / "piece"
        done = run([*command, str(BUILD / "lib/libtarn_plain.a"), *libraries, "-pthread", "-o",
                    str(program)])
        if done.returncode != 0:
            return done.stderr
        done = run([str(program)], cwd=folder)
        return None if done.returncode == 0 else f"ended with {done.returncode}: {done.stderr}"

    def configure(self, folder):
        """CMake's pieces are of a project that finds an installed tarn."""
        prefix = folder / "prefix"
        if not prefix.exists():
            done = run(["cmake", "--install", str(BUILD), "--prefix", str(prefix)])
            if done.returncode != 0:
                return done.stderr
        project = folder / "project"
        project.mkdir(exist_ok=True)
        (project / "server.c").write_text("int main(void) { return 0; }\n")
        code = "\n".join(self.code)
        (project / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.16)\nproject(piece C CXX)\n{self.before}\n{code}\n")
        done = run(["cmake", "-S", str(project), "-B", str(project / "build"),
                    f"-DCMAKE_PREFIX_PATH={prefix}"])
        if done.returncode == 0:
            done = run(["cmake", "--build", str(project / "build")])
        return None if done.returncode == 0 else done.stdout + done.stderr


def run(command, **how):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120,
                          stdin=subprocess.DEVNULL, check=False, **how)


def main():
    document = sys.argv[3]
    text = (SOURCE / document).read_text()
    failed, count, earlier = 0, 0, {"c": [], "cpp": []}
    with tempfile.TemporaryDirectory(prefix="tarn-snippets-") as name:
        folder = pathlib.Path(name)
        for match in FENCE.finditer(text):
            piece = Piece(document, text, match)
            if piece.language in earlier:
                before = [] if "compat" in piece.words else earlier[piece.language]
                fault = piece.build_and_run(folder, before)
                if "compat" not in piece.words:
                    earlier[piece.language] += [line for line in piece.includes()
                                                if "tarn/" in line and "/hooks/" not in line]
            elif piece.language == "cmake":
                fault = piece.configure(folder)
            elif piece.language == "sh":
                done = run(["bash", "-n", "-c", match["code"]])
                fault = None if done.returncode == 0 else done.stderr
            else:
                continue
            count += 1
            if fault is not None:
                print(f"{piece.place}: {fault}")
                failed += not fault.startswith("left out")
    print(f"snippets: {count} of {document}, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
