# What threads do with each other, in every order of their steps. Where the library is compiled for
# ThreadSanitizer, support/explorer stands in for that: so these are its own protocols, as they are
# in src, each beside the unit tests of its room.
#
# SPDX-License-Identifier: MIT
if(NOT TARN_SANITIZE MATCHES "thread" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  return()
endif()

tarn_amount(3000 explorer_runs)  # Of each scenario, if it has so many.
set(explorer support/explorer/turns.cpp support/explorer/hooks.cpp)
set_source_files_properties(${explorer} PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread
  SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)

# model.NAME, of these sources and the library's own objects.
function(explored name)
  tarn_test(model.${name} SOURCES ${ARGN} ${explorer} $<TARGET_OBJECTS:tarn_core>
    $<TARGET_OBJECTS:tarn_fake_memory> INCLUDE ${CMAKE_CURRENT_SOURCE_DIR}
    ${CMAKE_CURRENT_SOURCE_DIR}/unit ${PROJECT_SOURCE_DIR}/src
    LINK_OPTIONS -fno-sanitize=thread -no-pie
    ENVIRONMENT TARN_EXPLORER_RUNS=${explorer_runs} TIMEOUT 1200)
endfunction()

explored(explorer support/explorer/toys.cpp)
explored(engine.pages unit/engine/pages/model/remote_free.cpp
  unit/engine/pages/model/scenarios.cpp unit/engine/pages/model/world.cpp)
explored(heaps.heap unit/heaps/heap/model/closing.cpp)
explored(watch.recover unit/watch/recover/model/purgeables.cpp)
