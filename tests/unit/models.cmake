# The remote-free protocol, the word of purgeables and how a heap is closed, explored exhaustively.
# Nothing of the library is linked: these are models. Each lies beside the unit tests of its room.
#
# SPDX-License-Identifier: MIT
if(TARN_SANITIZE MATCHES "thread")
  return()  # The model itself has one thread.
endif()
if(TARN_SANITIZE)
  set(model_programs 20)
else()
  set(model_programs 300)
endif()
tarn_amount(${model_programs} model_programs)

set(model_sources protocol protocol_heap protocol_pages protocol_purge remote_free scenarios)
list(TRANSFORM model_sources REPLACE "(.+)" "unit/engine/pages/model/\\1.cpp")
tarn_test(model.engine.pages SOURCES ${model_sources} OPTIONS ${TARN_HOT_OPTIONS} TIMEOUT 300
  ENVIRONMENT TARN_MODEL_PROGRAMS=${model_programs})
tarn_test(model.heaps.heap SOURCES unit/heaps/heap/model/closing.cpp OPTIONS ${TARN_HOT_OPTIONS}
  INCLUDE ${CMAKE_CURRENT_SOURCE_DIR}/unit TIMEOUT 300)
tarn_test(model.watch.recover SOURCES unit/watch/recover/model/purgeable.cpp
  OPTIONS ${TARN_HOT_OPTIONS} INCLUDE ${CMAKE_CURRENT_SOURCE_DIR}/unit TIMEOUT 300)
