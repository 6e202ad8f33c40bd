# What `cmake --install` puts into a prefix, for find_package(tarn) and pkg-config.
#
# SPDX-License-Identifier: MIT
include(CMakePackageConfigHelpers)

if(TARN_SANITIZE)
  return()
endif()

set_target_properties(tarn_plain PROPERTIES EXPORT_NAME tarn)
set_target_properties(tarn_bare PROPERTIES EXPORT_NAME bare)
set_target_properties(tarn_new PROPERTIES EXPORT_NAME new)
set_target_properties(tarn_shared PROPERTIES EXPORT_NAME malloc)
set_target_properties(tarn_static PROPERTIES EXPORT_NAME malloc_static)
add_custom_target(tarn_installed)  # All that is built to be installed, and no more.
add_dependencies(tarn_installed tarn_plain tarn_new tarn_bare tarn_shared tarn_static)
install(TARGETS tarn_plain tarn_new tarn_bare tarn_shared tarn_static EXPORT tarn_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET tarn_command)
  add_dependencies(tarn_installed tarn_command tarn_sizes)
  if(TARGET tarn_command_texts)
    add_dependencies(tarn_installed tarn_command_texts)
    set(tarn_texts ${PROJECT_BINARY_DIR}/tools/tarn/texts)
    install(FILES ${tarn_texts}/tarn.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${tarn_texts}/tarn.bash RENAME tarn
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${tarn_texts}/_tarn DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${tarn_texts}/tarn.fish
      DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
  install(TARGETS tarn_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS tarn_sizes LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tarn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tarn_targets NAMESPACE tarn:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)

# The library as two files, for projects that copy sources (docs/packaging.md).
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/dev/amalgamate)
  install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\"
    \"${PROJECT_SOURCE_DIR}/dev/amalgamate\" \"${CMAKE_CURRENT_BINARY_DIR}/amalgamated\"
    COMMAND_ERROR_IS_FATAL ANY)")
  install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/amalgamated/
    DESTINATION ${CMAKE_INSTALL_DATADIR}/tarn)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/docs/options.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/docs/man/libtarn.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tarn-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/tarn-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tarn-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tarn-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tarn-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tarn)

# By relative paths, so that a prefix may be moved; folders may be of any depth, or elsewhere.
file(RELATIVE_PATH tarn_prefix_from_pc "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
  "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" tarn_prefix_from_pc "${tarn_prefix_from_pc}")
set(tarn_pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(tarn_pc_includedir "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
foreach(name IN ITEMS tarn tarn-plain tarn-new)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# At the end: the list of what was installed, for `make uninstall`, and a word on the loader. A
# project that has this one inside does both for itself.
if(PROJECT_IS_TOP_LEVEL)
  install(CODE "set(tarn_data_folder \"${CMAKE_INSTALL_DATADIR}\")
    set(tarn_library_folder \"${CMAKE_INSTALL_LIBDIR}\")
    include(\"${PROJECT_SOURCE_DIR}/cmake/after_install.cmake\")")
endif()
