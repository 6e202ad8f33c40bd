# SPDX-License-Identifier: MIT
"""conanfile: examples/consumer with the package that `conan create` has just made."""
from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class ConsumerConan(ConanFile):
  settings = "os", "arch", "compiler", "build_type"
  generators = "CMakeToolchain", "CMakeDeps"

  def requirements(self):
    self.requires(self.tested_reference_str)

  def layout(self):
    cmake_layout(self)

  def build(self):
    cmake = CMake(self)
    cmake.configure(build_script_folder=str(Path(self.source_folder).parents[2] /
                                            "examples" / "consumer"))
    cmake.build()

  def test(self):
    if can_run(self):
      for name in ("drop_in", "drop_in_c", "drop_in_static", "all_static", "beside"):
        self.run(str(Path(self.build_folder) / name), env="conanrun")
