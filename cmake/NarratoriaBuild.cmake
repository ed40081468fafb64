# SPDX-License-Identifier: Apache-2.0
# How everything of ours is compiled: one interface target, narratoria_build, that our targets link
# and that is never installed. What must stay plain (the supervisor, the bad tools of the tests) does
# not link it; so nothing goes through CMAKE_CXX_FLAGS.

include(GNUInstallDirs)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or RelWithDebInfo" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# A build folder may be moved or mounted elsewhere and its programs still find the library.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# A clean clone in another folder finds what was compiled before: paths below the clone count as
# relative, and a precompiled header as what it was made of.
find_program(NARRATORIA_CCACHE ccache)
mark_as_advanced(NARRATORIA_CCACHE)
if(NARRATORIA_CCACHE)
    foreach(language C CXX)
        if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
            set(CMAKE_${language}_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
                "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
                CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_ctime,include_file_mtime
                # ccache does not read the file that -fsanitize-ignorelist names.
                "CCACHE_EXTRAFILES=${PROJECT_SOURCE_DIR}/tests/fuzz/ignored.txt"
                "${NARRATORIA_CCACHE}")
        endif()
    endforeach()
endif()

# Standard headers are parsed once for a program instead of in each of its files, and several files
# are compiled as one. The preset for working on it builds without: there a missing include shows.
set(narratoria_precompiled OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR NARRATORIA_SANITIZE)
    set(narratoria_precompiled ON)
endif()

# Files of a folder are compiled together, about 60 kB at a time, so their headers are parsed once. More
# would take longer after a change than it saves.
function(narratoria_join_files target)
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/.*\\.cpp$")
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
        string(MAKE_C_IDENTIFIER "${folder}" folder)
        math(EXPR part "0${${folder}_bytes} / 60000")
        set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${part}")
        file(SIZE "${source}" bytes)
        math(EXPR ${folder}_bytes "0${${folder}_bytes} + ${bytes}")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# narratoria_precompile(<target> <header>…): with what most files of C++ include.
function(narratoria_precompile target)
    if(narratoria_precompiled)
        narratoria_join_files(${target})
        target_precompile_headers(${target} PRIVATE
            <algorithm> <atomic> <cerrno> <chrono> <cstdint> <cstring> <functional> <map> <memory>
            <mutex> <optional> <string> <string_view> <unordered_map> <utility> <vector> ${ARGN})
        # clang writes the time into a precompiled header, and each would be another to ccache.
        target_compile_options(${target} PRIVATE
            "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
    endif()
endfunction()

set(narratoria_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(NARRATORIA_WERROR)
    list(APPEND narratoria_warnings -Werror)
endif()

add_library(narratoria_build INTERFACE)
target_compile_options(narratoria_build INTERFACE
    "$<$<COMPILE_LANGUAGE:C,CXX>:${narratoria_warnings}>")
# g++ 12 sees overlapping copies in `"text" + std::string` where there are none (GCC bug 105651).
target_compile_options(narratoria_build INTERFACE
    "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>")
# g++ 12 reports what it inlines from a precompiled header of its own library as if it were ours, and
# takes files that are compiled together for headers, whose classes must not use unnamed namespaces.
if(narratoria_precompiled)
    target_compile_options(narratoria_build INTERFACE
        "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds;-Wno-subobject-linkage>")
endif()
# What is shipped says nothing about the folder it was built in.
target_compile_options(narratoria_build INTERFACE
    "$<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>")
target_link_options(narratoria_build INTERFACE
    -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)

if(NARRATORIA_SANITIZE)
    # -O0 -g1: compiling takes most of the time, and a report needs no more than lines.
    # Not vptr: to look at an object it opens a pipe, and takes an object for broken where the tests
    # leave no descriptor for one.
    target_compile_options(narratoria_build INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${NARRATORIA_SANITIZE};-fno-sanitize=vptr;-fno-sanitize-recover=all;-fno-omit-frame-pointer;-g1;-O0>")
    target_link_options(narratoria_build INTERFACE -fsanitize=${NARRATORIA_SANITIZE})
endif()

if(NARRATORIA_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "NARRATORIA_FUZZ needs clang, and this is ${CMAKE_CXX_COMPILER_ID}: "
            "use `cmake --preset asan`, or set CMAKE_CXX_COMPILER to a clang++.")
    endif()
    # By a path that is the same in every clone, for the compiler cache.
    file(RELATIVE_PATH ignored "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/tests/fuzz/ignored.txt")
    target_compile_options(narratoria_build INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize-ignorelist=${ignored}>")
    # lld links a fuzz target of 95 MB in 2 s, the system's linker in 11.
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=lld narratoria_has_lld)
    if(narratoria_has_lld)
        target_link_options(narratoria_build INTERFACE -fuse-ld=lld)
    endif()
endif()

# narratoria_fuzzed(<target>): with the coverage that guides fuzz targets. For what they link only:
# elsewhere it takes a third of the compiler's time and nobody reads it.
function(narratoria_fuzzed target)
    if(NARRATORIA_FUZZ)
        target_compile_options(${target} PRIVATE
            "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=fuzzer-no-link>")
    endif()
endfunction()

if(NARRATORIA_LTO)
    include(CheckIPOSupported)
    check_ipo_supported(LANGUAGES C CXX)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# narratoria_sources(<variable> <folder> <pattern>…): the files below a folder, kept up to date when
# one is added or removed.
function(narratoria_sources variable folder)
    set(globs)
    foreach(pattern IN LISTS ARGN)
        list(APPEND globs "${folder}/${pattern}")
    endforeach()
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${globs})
    set(${variable} ${found} PARENT_SCOPE)
endfunction()
