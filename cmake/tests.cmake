# tests: tarn_test(), which every test of this project and the program that it runs come from;
# tarn_test_program() and tarn_test_library(), with the same words, for what several tests use.
# SPDX-License-Identifier: MIT

#   tarn_test(FOLDER.NAME          in ctest, and FOLDER is its label; the program is FOLDER_NAME
#     SOURCES file...              or COMMAND word...: what is there already, a target or a script
#     LINK library...              none: the program has public headers alone
#     BY_C library                 linked by the C compiler with this library as a plain file, as a
#                                  target would bring the C++ library along
#     MAIN                         a program in C++ with a main of its own, not gtest's
#     DEFINE OPTIONS LINK_OPTIONS INCLUDE   of the program; ARGS: its arguments
#     HEADERS folder               where it finds tarn's public headers, if not in include
#     TARGET name value...         further properties of the program's target
#     LABELS TIMEOUT ENVIRONMENT   of the test: further labels; 240 s; PROPERTIES: all others
#     DIVISOR n)                   TARN_TEST_DIVISOR, which long loops are cut by, in sanitized
#                                  builds, if not 10; it is 1 in others
function(tarn_test name)
  tarn_parse_test()
  if(test_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tarn_test(${name}): what is ${test_UNPARSED_ARGUMENTS}?")
  endif()
  if(test_SOURCES)
    string(REPLACE "." "_" test_COMMAND ${name})
    tarn_test_program(${test_COMMAND} ${ARGN})
  endif()
  if(test_is_gtest)
    list(PREPEND test_ARGS --gtest_brief=1)
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 240)
  endif()
  string(REGEX MATCH "^[^.]+" folder ${name})
  add_test(NAME ${name} COMMAND ${test_COMMAND} ${test_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${folder};${test_LABELS}"
    TIMEOUT ${test_TIMEOUT} ENVIRONMENT "${test_ENVIRONMENT}" ${test_PROPERTIES})
endfunction()

# A program which several tests run, or none.
function(tarn_test_program program)
  tarn_parse_test()
  add_executable(${program} ${test_SOURCES})
  if("${test_SOURCES}" MATCHES "TARGET_OBJECTS")
    set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  tarn_test_options(${program} ${ARGN})
endfunction()

# What programs of tests are linked with, or open: kind is OBJECT, SHARED or MODULE. The last two
# lie in the folder of the test that makes them.
function(tarn_test_library library kind)
  tarn_parse_test()
  set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  add_library(${library} ${kind} ${test_SOURCES})
  tarn_test_options(${library} ${ARGN})
endfunction()

# Sets `result` to the share of a full number of rounds that TARN_TEST_AMOUNT asks for; 1 at least.
function(tarn_amount full result)
  math(EXPR rounds "${full} * ${TARN_TEST_AMOUNT} / 100")
  if(rounds LESS 1)
    set(rounds 1)
  endif()
  set(${result} ${rounds} PARENT_SCOPE)
endfunction()

# For a function whose first argument is a name: sets test_SOURCES and so on, and test_is_gtest.
macro(tarn_parse_test)
  cmake_parse_arguments(PARSE_ARGV 1 test "MAIN" "TIMEOUT;DIVISOR;BY_C;HEADERS"
    "SOURCES;COMMAND;LINK;ARGS;LABELS;DEFINE;OPTIONS;LINK_OPTIONS;INCLUDE;TARGET;ENVIRONMENT;\
PROPERTIES")
  set(test_is_gtest OFF)
  if(NOT test_MAIN AND "${test_SOURCES}" MATCHES "\\.cpp|TARGET_OBJECTS")
    set(test_is_gtest ON)
  endif()
endmacro()

# To be called when the target has all compiler options of its own. A third of what a test takes to
# compile is gtest.h; what was precompiled serves targets that have the same options, since gcc 12
# says nothing good to others.
function(tarn_precompile_gtest target)
  get_target_property(options ${target} COMPILE_OPTIONS)
  string(REPLACE "options-NOTFOUND" "precompiled_options-NOTFOUND" options "${options}")
  if(${flags_in_use} STREQUAL precompiled_flags AND options STREQUAL precompiled_options)
    target_precompile_headers(${target} REUSE_FROM tarn_precompiled)
  endif()
endfunction()

# What every test's program, library and module is compiled and linked with.
function(tarn_test_options target)
  tarn_parse_test()
  if(NOT DEFINED test_DIVISOR)
    set(test_DIVISOR 10)
  endif()
  if(NOT DEFINED test_HEADERS)
    set(test_HEADERS ${PROJECT_SOURCE_DIR}/include)
  endif()
  target_compile_options(${target} PRIVATE ${test_OPTIONS})
  target_compile_definitions(${target} PRIVATE ${test_DEFINE} $<$<CONFIG:Debug>:TARN_DEBUG>
    $<$<BOOL:${TARN_SANITIZE}>:TARN_SANITIZED>
    TARN_TEST_DIVISOR=$<IF:$<BOOL:${TARN_SANITIZE}>,${test_DIVISOR},1>)
  if(TARN_SANITIZE MATCHES "thread")
    target_compile_definitions(${target} PRIVATE TARN_TEST_TSAN)
  endif()
  target_include_directories(${target} PRIVATE ${test_HEADERS} ${test_INCLUDE})
  if(test_is_gtest)
    target_link_libraries(${target} PRIVATE GTest::gtest GTest::gtest_main)
  endif()
  target_link_libraries(${target} PRIVATE ${test_LINK} tarn_warnings Threads::Threads)
  target_link_options(${target} PRIVATE ${test_LINK_OPTIONS})
  if(DEFINED test_BY_C)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS $<TARGET_FILE:${test_BY_C}>
                          C_EXTENSIONS OFF)
    add_dependencies(${target} ${test_BY_C})
    target_link_libraries(${target} PRIVATE $<TARGET_FILE:${test_BY_C}>)
  endif()
  if(test_TARGET)
    set_target_properties(${target} PROPERTIES ${test_TARGET})
  endif()
  if(test_is_gtest AND "${test_SOURCES}" MATCHES "\\.cpp")
    tarn_precompile_gtest(${target})
  endif()
endfunction()
