# SPDX-License-Identifier: Apache-2.0
# What another project finds: find_package(Narratoria) and pkg-config narratoria.
include(CMakePackageConfigHelpers)

if(NOT TARGET narratoria_runtime)
    return()
endif()

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Narratoria")
install(EXPORT Narratoria NAMESPACE Narratoria:: FILE NarratoriaTargets.cmake
    DESTINATION "${package_folder}")
configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/NarratoriaConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/NarratoriaConfig.cmake"
    INSTALL_DESTINATION "${package_folder}")
# Before 1.0 a minor release may change what the C++ headers say.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/NarratoriaConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/NarratoriaConfig.cmake"
    "${PROJECT_BINARY_DIR}/NarratoriaConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/NarratoriaPlugin.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/nar_plugin.map"
    DESTINATION "${package_folder}")

# Relative to the file itself, so that an installed tree may be moved. An absolute folder given by
# whoever configures is taken as it is.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR absolute_library_folder)
if(absolute_library_folder)
    set(pkgconfig_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pkgconfig_prefix "\${pcfiledir}/${up}")
endif()
foreach(kind IN ITEMS LIB INCLUDE)
    cmake_path(IS_ABSOLUTE CMAKE_INSTALL_${kind}DIR absolute)
    if(absolute)
        set(pkgconfig_${kind} "${CMAKE_INSTALL_${kind}DIR}")
    else()
        set(pkgconfig_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
    endif()
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/narratoria.pc.in"
    "${PROJECT_BINARY_DIR}/narratoria.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/narratoria.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
