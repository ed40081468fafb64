# SPDX-License-Identifier: Apache-2.0
# Installs the package for other projects: find_package(Narratoria) and pkg-config narratoria.
include(CMakePackageConfigHelpers)

if(NOT TARGET narratoria_runtime)
    return()
endif()

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Narratoria")
install(EXPORT Narratoria NAMESPACE Narratoria:: FILE NarratoriaTargets.cmake
    DESTINATION "${package_folder}")
set(stories_folder "${CMAKE_INSTALL_DATADIR}/narratoria/stories")
configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/NarratoriaConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/NarratoriaConfig.cmake"
    INSTALL_DESTINATION "${package_folder}"
    PATH_VARS stories_folder)
# Before 1.0 a minor release may change the C++ headers incompatibly.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/NarratoriaConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/NarratoriaConfig.cmake"
    "${PROJECT_BINARY_DIR}/NarratoriaConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/NarratoriaPlugin.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/nar_plugin.map"
    DESTINATION "${package_folder}")

# Relative to the file itself, so that an installed tree may be moved. An absolute folder of the
# configuration is used unchanged.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR absolute_library_folder)
if(absolute_library_folder)
    set(pkgconfig_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    file(RELATIVE_PATH up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(pkgconfig_prefix "\${pcfiledir}/${up}")
endif()
foreach(kind IN ITEMS LIB INCLUDE DATA)
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

# The pages for users, in the same relative places as in the source tree. Links to installed files
# get their installed paths, and links to files that are not installed become plain text.
set(uninstalled_pages "architecture|building|conformance|fuzzing|mutations|performance")
function(narratoria_install_page page)
    cmake_path(GET page PARENT_PATH folder)
    set(here "${CMAKE_INSTALL_FULL_DOCDIR}/${folder}")
    file(RELATIVE_PATH headers "${here}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}/narratoria")
    file(RELATIVE_PATH data "${here}" "${CMAKE_INSTALL_FULL_DATADIR}/narratoria")
    file(READ "${PROJECT_SOURCE_DIR}/${page}" text)
    string(REGEX REPLACE "\\]\\((\\.\\./)*(abi|sdk)/include/narratoria" "](${headers}" text "${text}")
    string(REGEX REPLACE "\\]\\((\\.\\./)*abi/schemas" "](${data}/schemas" text "${text}")
    string(REGEX REPLACE "\\]\\((\\.\\./)*(examples|\\.\\.)/stories" "](${data}/stories" text "${text}")
    set(folders "abi|sdk|runtime|tests|examples/projects[^)]*|bindings/python[^)]*|plugins/web/page")
    string(REGEX REPLACE
        "\\[([^]]*)\\]\\((\\.\\./)*(${folders}|(docs/)?(${uninstalled_pages})\\.md[^)]*|CONTRIBUTING\\.md)\\)"
        "\\1" text "${text}")
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/pages/${page}" CONTENT "@text@" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/pages/${page}"
        DESTINATION "${CMAKE_INSTALL_DOCDIR}/${folder}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${page}")
endfunction()
file(GLOB pages CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/docs/*.md")
list(FILTER pages EXCLUDE REGEX "/(${uninstalled_pages})\\.md$")
foreach(page IN LISTS pages)
    narratoria_install_page("${page}")
endforeach()
foreach(plugin IN ITEMS console event_log launcher narrator_llm narrator_process slurm web)
    narratoria_install_page("plugins/${plugin}/README.md")
endforeach()
narratoria_install_page(examples/tools/README.md)
narratoria_install_page(README.md)
narratoria_install_page(CHANGELOG.md)
# A story's page is installed in the story's folder, far from the pages.
file(GLOB story_pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/stories/*/README.md")
foreach(page IN LISTS story_pages)
    cmake_path(GET page PARENT_PATH folder)
    cmake_path(GET folder FILENAME story)
    set(here "${CMAKE_INSTALL_FULL_DATADIR}/narratoria/stories/${story}")
    file(RELATIVE_PATH documents "${here}" "${CMAKE_INSTALL_FULL_DOCDIR}")
    file(READ "${page}" text)
    string(REPLACE "](../../../docs/" "](${documents}/docs/" text "${text}")
    string(REPLACE "](../../python/" "](${documents}/examples/python/" text "${text}")
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/pages/stories/${story}/README.md" CONTENT "@text@"
        @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/pages/stories/${story}/README.md"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/narratoria/stories/${story}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
endforeach()
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES docs/picture.svg docs/nuwa.tmLanguage.json DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
install(DIRECTORY docs/page DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
install(DIRECTORY examples/container examples/hosts examples/python examples/service examples/tools DESTINATION "${CMAKE_INSTALL_DOCDIR}/examples"
    USE_SOURCE_PERMISSIONS PATTERN README.md EXCLUDE PATTERN __pycache__ EXCLUDE)
