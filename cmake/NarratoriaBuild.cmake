# SPDX-License-Identifier: Apache-2.0
# The compile options of the project: an interface target, narratoria_build, that its targets link
# and that is never installed. Targets without these options (the supervisor, the bad tools of the
# tests) do not link it, so CMAKE_CXX_FLAGS is not used.

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
# Relative RPATHs: programs find the library after the build folder is moved or mounted elsewhere.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

# A clean clone in a different folder gets cache hits: ccache treats paths below the clone as
# relative, and hashes the sources of a precompiled header.
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

# Precompiled headers and unity builds: standard headers are parsed once for a program, and several
# files are compiled together. The preset dev uses neither, so that it detects missing includes.
set(narratoria_precompiled OFF)
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR NARRATORIA_SANITIZE)
    set(narratoria_precompiled ON)
endif()

# Compile the files of a folder together, about 60 kB at a time, so that their headers are parsed
# once. With larger groups, a rebuild after a change would take longer than the full build saves.
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

# narratoria_precompile(<target> <header>…): precompiles the headers that most C++ files include.
function(narratoria_precompile target)
    if(narratoria_precompiled)
        narratoria_join_files(${target})
        target_precompile_headers(${target} PRIVATE
            <algorithm> <atomic> <cerrno> <chrono> <cstdint> <cstring> <functional> <map> <memory>
            <mutex> <optional> <string> <string_view> <unordered_map> <utility> <vector> ${ARGN})
        # clang writes a timestamp into a precompiled header, which would defeat ccache.
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
# g++ 12 wrongly warns of overlapping copies in `"text" + std::string` (GCC bug 105651).
target_compile_options(narratoria_build INTERFACE
    "$<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>")
# g++ 12 warns about code that it inlines from a precompiled standard header, and treats the files
# of a unity build as headers, in which classes must not use unnamed namespaces.
if(narratoria_precompiled)
    target_compile_options(narratoria_build INTERFACE
        "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds;-Wno-subobject-linkage>")
endif()
# Shipped binaries must not contain the path of the build folder.
target_compile_options(narratoria_build INTERFACE
    "$<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>")
target_link_options(narratoria_build INTERFACE
    -Wl,--as-needed -Wl,-z,relro -Wl,-z,now)

if(NARRATORIA_SANITIZE)
    # -O0 -g1: compiling takes most of the time, and reports need only line numbers.
    # Without vptr: that check opens a pipe to read an object, and reports a fault when the tests
    # leave no free descriptor.
    target_compile_options(narratoria_build INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${NARRATORIA_SANITIZE};-fno-sanitize=vptr;-fno-sanitize-recover=all;-fno-omit-frame-pointer;-g1;-O0>")
    target_link_options(narratoria_build INTERFACE -fsanitize=${NARRATORIA_SANITIZE})
endif()

if(NARRATORIA_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "NARRATORIA_FUZZ needs clang, not ${CMAKE_CXX_COMPILER_ID}; "
            "use `cmake --preset asan`, or set CMAKE_CXX_COMPILER to a clang++.")
    endif()
    # A relative path is the same in every clone, for the compiler cache.
    file(RELATIVE_PATH ignored "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/tests/fuzz/ignored.txt")
    target_compile_options(narratoria_build INTERFACE
        "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize-ignorelist=${ignored}>")
    # lld links a fuzz target of 95 MB in 2 s, the system's linker in 11 s.
    include(CheckLinkerFlag)
    check_linker_flag(CXX -fuse-ld=lld narratoria_has_lld)
    if(narratoria_has_lld)
        target_link_options(narratoria_build INTERFACE -fuse-ld=lld)
    endif()
endif()

# narratoria_fuzzed(<target>): adds the coverage instrumentation that guides fuzz targets. Only for
# libraries that fuzz targets link: it takes a third of the compile time.
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
