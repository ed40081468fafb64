# SPDX-License-Identifier: Apache-2.0
# Toolchain for the preset aarch64: Debian's cross compiler (crossbuild-essential-arm64). The arm64
# libraries are in build/aarch64-sysroot, or in NARRATORIA_SYSROOT; docs/building.md says how to make it.
# Headers without a library (RapidJSON, toml++, CLI11) come from the build machine. Programs of the build
# run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH narratoria_folder)
set(NARRATORIA_SYSROOT "${narratoria_folder}/build/aarch64-sysroot" CACHE PATH
    "Where the arm64 packages are unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES NARRATORIA_SYSROOT)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu
    -E "LD_LIBRARY_PATH=${NARRATORIA_SYSROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_FIND_ROOT_PATH "${NARRATORIA_SYSROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${NARRATORIA_SYSROOT}")
set(ENV{PKG_CONFIG_LIBDIR}
    "${NARRATORIA_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${NARRATORIA_SYSROOT}/usr/share/pkgconfig")
