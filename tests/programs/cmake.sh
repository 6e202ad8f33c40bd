# cmake: configures, builds and tests a small project; cmake, ninja and the compiler all run on
# tarn.
#
# SPDX-License-Identifier: MIT
needs="cmake ninja g++"

run_case() {
  mkdir project
  cat > project/CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.16)
project(tiny LANGUAGES C CXX)
include(CheckIncludeFile)
check_include_file(stdint.h HAS_STDINT)
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <vector>\nint main() { std::vector<int> v; }" HAS_VECTOR)
foreach(number RANGE 1 300)
  list(APPEND numbers "number ${number}")
endforeach()
list(JOIN numbers "," joined)
string(SHA256 digest "${joined}")
file(WRITE ${CMAKE_BINARY_DIR}/digest "${digest}")
configure_file(answer.h.in answer.h)
add_library(answer STATIC answer.c)
target_include_directories(answer PUBLIC ${CMAKE_BINARY_DIR})
add_executable(tiny tiny.cpp)
target_link_libraries(tiny PRIVATE answer)
enable_testing()
add_test(NAME tiny COMMAND tiny)
set_tests_properties(tiny PROPERTIES PASS_REGULAR_EXPRESSION "answer 42")
END
  echo '#define ANSWER 6 * @HAS_STDINT@ * 7 * @HAS_VECTOR@' > project/answer.h.in
  printf '#include "answer.h"\nint answer(void) { return ANSWER; }\n' > project/answer.c
  cat > project/tiny.cpp << 'END'
#include <iostream>
extern "C" int answer(void);
int main() { std::cout << "answer " << answer() << '\n'; }
END
  on_tarn cmake -S project -B build -G Ninja > configured || fail "cmake failed"
  on_tarn cmake --build build > built || fail "the build failed"
  (cd build && on_tarn ctest > tested) || fail "ctest failed"
  grep -q "100% tests passed" build/tested || fail "ctest ran no test"
  expect "the program's output" "$(build/tiny)" "answer 42"
  joined=$(seq -f 'number %.0f' 300 | paste -s -d ,)
  expect "the digest" "$(cat build/digest)" "$(printf %s "$joined" | sha256sum | cut -d ' ' -f 1)"
  expect_account cmake
  expect_account ctest
  expect_account ninja
}
