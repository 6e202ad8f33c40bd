# Removes what `cmake --install` has put into a prefix, by the list that it left there, and then the
# folders that are tarn's own. DESTDIR counts as for installing.
#
#   cmake -DPREFIX=/usr/local [-DDATADIR=share] -P cmake/uninstall.cmake
#
# SPDX-License-Identifier: MIT
cmake_policy(VERSION 3.25)
if(NOT PREFIX)
  message(FATAL_ERROR "uninstall: say from where: -DPREFIX=FOLDER")
endif()
if(NOT DATADIR)
  set(DATADIR share)
endif()
cmake_path(ABSOLUTE_PATH PREFIX NORMALIZE)
cmake_path(ABSOLUTE_PATH DATADIR BASE_DIRECTORY "${PREFIX}" NORMALIZE)
set(list_file "$ENV{DESTDIR}${DATADIR}/tarn/installed.txt")
if(NOT EXISTS "${list_file}")
  message(FATAL_ERROR "uninstall: tarn was not installed there: no file ${list_file}")
endif()

file(STRINGS "${list_file}" files)
set(folders "")
foreach(file IN LISTS files)
  set(path "$ENV{DESTDIR}${file}")
  if(NOT IS_ABSOLUTE "${file}")
    set(path "$ENV{DESTDIR}${PREFIX}/${file}")
    cmake_path(GET file PARENT_PATH folder)
    while("/${folder}/" MATCHES "/tarn/")
      list(APPEND folders "${folder}")
      cmake_path(GET folder PARENT_PATH folder)
    endwhile()
  endif()
  file(REMOVE "${path}")
  if(EXISTS "${path}" OR IS_SYMLINK "${path}")
    message(FATAL_ERROR "uninstall: cannot remove ${path}")
  endif()
endforeach()

# The deepest first; rmdir leaves a folder alone that has something else in it.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
  execute_process(COMMAND rmdir "$ENV{DESTDIR}${PREFIX}/${folder}" ERROR_QUIET)
endforeach()
message(STATUS "tarn is gone from $ENV{DESTDIR}${PREFIX}")
