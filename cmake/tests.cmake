# tarn_test(): every test of this project, and the program that it runs.
#
#   tarn_test(FOLDER.NAME          in ctest, and FOLDER is its label; the program is FOLDER_NAME
#     SOURCES file...              or COMMAND word...: what is there already, a target or a script
#     LINK library...              none: the program has public headers alone
#     BY_C library                 linked by the C compiler with this library as a plain file, as a
#                                  target would bring the C++ library along
#     MAIN                         a program in C++ with a main of its own, not gtest's
#     DEFINE OPTIONS INCLUDE       of the program; ARGS: its arguments
#     LABELS TIMEOUT ENVIRONMENT   of the test: further labels; 240 s; PROPERTIES: all others
#     DIVISOR n)                   TARN_TEST_DIVISOR in sanitized builds, if not 10
#
# SPDX-License-Identifier: MIT

# Sets `result` to the share of a full number of rounds that TARN_TEST_AMOUNT asks for; 1 at least.
function(tarn_amount full result)
  math(EXPR rounds "${full} * ${TARN_TEST_AMOUNT} / 100")
  if(rounds LESS 1)
    set(rounds 1)
  endif()
  set(${result} ${rounds} PARENT_SCOPE)
endfunction()

set(tarn_test_flags MAIN)
set(tarn_test_values TIMEOUT DIVISOR BY_C)
set(tarn_test_lists SOURCES COMMAND LINK ARGS LABELS DEFINE OPTIONS INCLUDE ENVIRONMENT PROPERTIES)

# To be called when the target has all compiler options of its own. A third of what a test takes to
# compile is gtest.h; what was precompiled serves targets that have the same options, since gcc 12
# says nothing good to others.
function(tarn_link_gtest target)
  target_link_libraries(${target} PRIVATE GTest::gtest GTest::gtest_main)
  get_target_property(options ${target} COMPILE_OPTIONS)
  string(REPLACE "options-NOTFOUND" "precompiled_options-NOTFOUND" options "${options}")
  if(${flags_in_use} STREQUAL precompiled_flags AND options STREQUAL precompiled_options)
    target_precompile_headers(${target} REUSE_FROM tarn_precompiled)
  endif()
endfunction()

# What every test's program, library and module is compiled with.
function(tarn_test_options target)
  cmake_parse_arguments(PARSE_ARGV 1 test "${tarn_test_flags}" "${tarn_test_values}"
                        "${tarn_test_lists}")
  if(NOT DEFINED test_DIVISOR)
    set(test_DIVISOR 10)
  endif()
  target_compile_features(${target} PRIVATE cxx_std_20 c_std_11)
  target_compile_options(${target} PRIVATE ${test_OPTIONS})
  target_compile_definitions(${target} PRIVATE ${test_DEFINE} $<$<CONFIG:Debug>:TARN_DEBUG>
    "$<$<BOOL:${TARN_SANITIZE}>:TARN_SANITIZED;TARN_TEST_DIVISOR=${test_DIVISOR}>")
  if(TARN_SANITIZE MATCHES "thread")
    target_compile_definitions(${target} PRIVATE TARN_TEST_TSAN)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${test_INCLUDE})
  target_link_libraries(${target} PRIVATE ${test_LINK} tarn_warnings Threads::Threads)
  if(DEFINED test_BY_C)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS $<TARGET_FILE:${test_BY_C}>
                          C_EXTENSIONS OFF)
    add_dependencies(${target} ${test_BY_C})
    target_link_libraries(${target} PRIVATE $<TARGET_FILE:${test_BY_C}>)
  endif()
endfunction()

# A program of tarn_test()'s options which several tests run, or none.
function(tarn_test_program program)
  cmake_parse_arguments(PARSE_ARGV 1 test "${tarn_test_flags}" "${tarn_test_values}"
                        "${tarn_test_lists}")
  add_executable(${program} ${test_SOURCES})
  tarn_test_options(${program} ${ARGN})
  if(NOT test_MAIN AND "${test_SOURCES}" MATCHES "\\.cpp")
    tarn_link_gtest(${program})
  endif()
endfunction()

function(tarn_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "${tarn_test_flags}" "${tarn_test_values}"
                        "${tarn_test_lists}")
  if(test_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tarn_test(${name}): what is ${test_UNPARSED_ARGUMENTS}?")
  endif()
  if(test_SOURCES)
    string(REPLACE "." "_" test_COMMAND ${name})
    tarn_test_program(${test_COMMAND} ${ARGN})
    if(NOT test_MAIN AND "${test_SOURCES}" MATCHES "\\.cpp")
      list(PREPEND test_ARGS --gtest_brief=1)
    endif()
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 240)
  endif()
  string(REGEX MATCH "^[^.]+" folder ${name})
  add_test(NAME ${name} COMMAND ${test_COMMAND} ${test_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${folder};${test_LABELS}"
    TIMEOUT ${test_TIMEOUT} ENVIRONMENT "${test_ENVIRONMENT}" ${test_PROPERTIES})
endfunction()
