# SPDX-License-Identifier: MIT
"""conanfile: tarn as a Conan 2 package, made from the tree that this file lies in.

  conan create packaging/conan

Programs find the same CMake targets as after `cmake --install`: tarn::tarn, tarn::malloc,
tarn::new, tarn::malloc_static, tarn::bare.
"""
import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy

PARTS = ("CMakeLists.txt", "LICENSE", "cmake/*", "docs/options.md", "docs/man/*", "include/*",
         "src/*", "tools/*")


class TarnConan(ConanFile):
  name = "tarn"
  description = "Memory management for C and C++: a drop-in malloc, heaps, pools, arenas and trees"
  license = "MIT"
  topics = ("memory", "malloc", "allocator", "pool", "arena")
  settings = "os", "arch", "compiler", "build_type"

  def set_version(self):
    build = Path(self.recipe_folder).parents[1] / "CMakeLists.txt"
    self.version = re.search(r"project\(tarn VERSION ([\d.]+)", build.read_text()).group(1)

  def export_sources(self):
    root = Path(self.recipe_folder).parents[1]
    for part in PARTS:
      copy(self, part, src=str(root), dst=self.export_sources_folder)

  def layout(self):
    cmake_layout(self)

  def validate(self):
    if self.settings.os != "Linux" or self.settings.arch != "x86_64":
      raise ConanInvalidConfiguration("tarn is for Linux on x86-64")
    if self.settings.get_safe("compiler.cppstd"):
      check_min_cppstd(self, 17)  # Of the headers; the library itself is compiled as C++20.

  def generate(self):
    toolchain = CMakeToolchain(self)
    toolchain.blocks.remove("cppstd")  # That of the program, not of the library.
    for part in ("TESTS", "TOOLS", "EXAMPLES", "BENCH"):
      toolchain.cache_variables[f"TARN_BUILD_{part}"] = False
    toolchain.cache_variables["TARN_WERROR"] = False  # With compilers that nobody here has seen.
    toolchain.generate()

  def build(self):
    cmake = CMake(self)
    cmake.configure()
    cmake.build()

  def package(self):
    copy(self, "LICENSE", src=self.source_folder, dst=str(Path(self.package_folder) / "licenses"))
    CMake(self).install()

  def package_info(self):
    self.cpp_info.set_property("cmake_find_mode", "none")  # The package brings its own files.
    self.cpp_info.builddirs.append("lib/cmake/tarn")
    self.cpp_info.libs = ["tarn"]
    self.cpp_info.system_libs = ["pthread"]
