# What `cmake --install` does at its end. It writes the list of the installed files, relative to the
# prefix where they lie in it, to share/tarn/installed.txt for cmake/uninstall.cmake, and says what
# the dynamic loader needs to find libtarn.so. install.cmake sets tarn_data_folder and
# tarn_library_folder.
#
# SPDX-License-Identifier: MIT
cmake_policy(VERSION 3.25)
cmake_path(ABSOLUTE_PATH tarn_data_folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
cmake_path(ABSOLUTE_PATH tarn_library_folder BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")

set(list_file "${tarn_data_folder}/tarn/installed.txt")
set(lines "")
foreach(file IN LISTS CMAKE_INSTALL_MANIFEST_FILES ITEMS "${list_file}")
  cmake_path(IS_PREFIX CMAKE_INSTALL_PREFIX "${file}" NORMALIZE is_under)
  if(is_under)
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
  endif()
  string(APPEND lines "${file}\n")
endforeach()
file(WRITE "$ENV{DESTDIR}${list_file}" "${lines}")

# A package is not run from where it is put together.
if(NOT "$ENV{DESTDIR}" STREQUAL "")
  return()
endif()
set(loader_folders /lib /usr/lib /lib64 /usr/lib64)
file(GLOB configurations /etc/ld.so.conf /etc/ld.so.conf.d/*.conf)
foreach(configuration IN LISTS configurations)
  file(STRINGS "${configuration}" lines REGEX "^/")
  list(APPEND loader_folders ${lines})
endforeach()
if(tarn_library_folder IN_LIST loader_folders)
  message(STATUS "Run `ldconfig` once, as root, so that programs find libtarn.so in "
    "${tarn_library_folder}")
else()
  message(STATUS "The dynamic loader does not look in ${tarn_library_folder}: link with "
    "-Wl,-rpath,${tarn_library_folder}, or name that folder in /etc/ld.so.conf.d and run "
    "`ldconfig`. The command, LD_PRELOAD and static linking work without")
endif()
