#!/usr/bin/env python3
"""Tests packaging/: the files for Conan and vcpkg, with stand-ins for these tools.

  packaging_test.py SOURCE_FOLDER BUILD_FOLDER

The recipe is run by a stand-in for the module `conan`, the port by cmake with stand-ins for vcpkg's
functions, of which the one that installs installs the build.

SPDX-License-Identifier: MIT
"""
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

SOURCE, BUILD = map(Path, sys.argv[1:3])
PACKAGING = SOURCE / "packaging"
VERSION = re.search(r"project\(tarn VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]

PORT_FUNCTIONS = """
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "SOURCE_PATH" "OPTIONS")
  if(NOT EXISTS "${given_SOURCE_PATH}/CMakeLists.txt")
    message(FATAL_ERROR "no CMakeLists.txt in ${given_SOURCE_PATH}")
  endif()
  file(READ "${given_SOURCE_PATH}/CMakeLists.txt" text)
  foreach(option IN LISTS given_OPTIONS)
    string(REGEX MATCH "^-D([A-Z_]+)=" name "${option}")
    if(NOT text MATCHES "(option|set)\\\\(${CMAKE_MATCH_1} ")
      message(FATAL_ERROR "there is no option ${CMAKE_MATCH_1}")
    endif()
  endforeach()
endfunction()
function(vcpkg_cmake_install)
  foreach(folder ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/debug)
    execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${folder}
                    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  endforeach()
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "CONFIG_PATH" "")
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${given_CONFIG_PATH}/tarn-config.cmake")
    message(FATAL_ERROR "no tarn-config.cmake in ${given_CONFIG_PATH}")
  endif()
endfunction()
function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/tarn.pc")
    message(FATAL_ERROR "no tarn.pc")
  endif()
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "" "FILE_LIST")
  file(COPY ${given_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share)
endfunction()
"""


class Vcpkg(unittest.TestCase):
  def test_manifest_is_of_this_version(self):
    manifest = json.loads((PACKAGING / "vcpkg/tarn/vcpkg.json").read_text())
    self.assertEqual(manifest["name"], "tarn")
    self.assertEqual(manifest["version"], VERSION)
    self.assertEqual(manifest["license"], "MIT")

  def test_port_builds_this_tree(self):
    with tempfile.TemporaryDirectory() as folder:
      script = Path(folder) / "port.cmake"
      script.write_text(PORT_FUNCTIONS + f"include({PACKAGING}/vcpkg/tarn/portfile.cmake)\n")
      done = subprocess.run(["cmake", f"-DBUILD={BUILD}", f"-DCURRENT_PACKAGES_DIR={folder}/made",
                             "-P", str(script)], capture_output=True, text=True, check=False)
      self.assertEqual(done.returncode, 0, done.stderr)
      self.assertTrue((Path(folder) / "made/share/LICENSE").exists())
      # vcpkg refuses packages with these.
      for part in ("include", "share"):
        self.assertFalse((Path(folder) / "made/debug" / part).exists(), part)


class Conan(unittest.TestCase):
  copied = []

  @classmethod
  def load(cls, file):
    """The recipe's module, with stand-ins for what it imports."""
    def module(name, **what):
      made = sys.modules[name] = types.ModuleType(name)
      vars(made).update(what)

    def copy(_recipe, pattern, src, dst):
      cls.copied.append((pattern, src, dst))

    base = type("ConanFile", (), {})
    module("conan", ConanFile=base)
    module("conan.errors", ConanInvalidConfiguration=type("Invalid", (Exception,), {}))
    module("conan.tools", )
    module("conan.tools.build", check_min_cppstd=None, can_run=None)
    module("conan.tools.cmake", CMake=None, CMakeToolchain=None, cmake_layout=None)
    module("conan.tools.files", copy=copy)
    spec = importlib.util.spec_from_file_location("recipe", file)
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    return recipe

  def test_recipe_is_of_this_version_and_exports_what_is_there(self):
    recipe = self.load(PACKAGING / "conan/conanfile.py").TarnConan()
    recipe.recipe_folder = str(PACKAGING / "conan")
    recipe.export_sources_folder = "exported"
    recipe.set_version()
    self.assertEqual(recipe.version, VERSION)
    self.copied.clear()
    recipe.export_sources()
    self.assertTrue(self.copied)
    for pattern, src, dst in self.copied:
      self.assertTrue(list(Path(src).glob(pattern)), pattern)
      self.assertEqual(dst, "exported")

  def test_recipe_refuses_other_machines(self):
    module = self.load(PACKAGING / "conan/conanfile.py")
    for system, machine, refused in (("Linux", "x86_64", False), ("Linux", "armv8", True),
                                     ("Windows", "x86_64", True)):
      recipe = module.TarnConan()
      recipe.settings = types.SimpleNamespace(os=system, arch=machine, get_safe=lambda _: None)
      if refused:
        with self.assertRaises(module.ConanInvalidConfiguration):
          recipe.validate()
      else:
        recipe.validate()

  def test_the_test_package_runs_programs_that_there_are(self):
    text = (PACKAGING / "conan/test_package/conanfile.py").read_text()
    compile(text, "conanfile.py", "exec")
    consumer = (SOURCE / "examples/consumer/CMakeLists.txt").read_text()
    for name in re.search(r"for name in \((.*?)\):", text, re.S)[1].replace('"', "").split(","):
      self.assertIn(f"add_executable({name.strip()} ", consumer)


class NoHosts(unittest.TestCase):
  def test_no_file_names_a_host(self):
    for path in PACKAGING.rglob("*"):
      if path.is_file() and "build" not in path.parts:
        self.assertNotRegex(path.read_text(), r"https?://", path)


if __name__ == "__main__":
  sys.dont_write_bytecode = True
  unittest.main(argv=sys.argv[:1])
