# SPDX-License-Identifier: MIT
# portfile: tarn as an overlay port, made from the tree that this file lies in.
#
#   vcpkg install tarn --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DTARN_BUILD_TESTS=OFF -DTARN_BUILD_TOOLS=OFF -DTARN_BUILD_EXAMPLES=OFF
          -DTARN_BUILD_BENCH=OFF -DTARN_WERROR=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/tarn)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
