#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# other_platforms.sh CC: on an unsupported platform, each public header and the configuration say so
# in one sentence.
set -u
cd "$(dirname "$0")/../.." || exit 2
cc=$1
sentence="Narratoria runs on Linux x86-64 and Linux aarch64"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0

for header in abi/include/narratoria/*.h; do
    # A list of macros, which any platform may use.
    [ "${header##*/}" = limits.h ] && continue
    for missing in -U__linux__ "-U__x86_64__ -U__aarch64__"; do
        # shellcheck disable=SC2086
        if "$cc" -std=c11 $missing -Iabi/include -fsyntax-only -x c "$header" 2>"$work/said"; then
            echo "$header compiles with $missing" >&2
            failed=1
        elif ! grep -q "error.*$sentence" "$work/said"; then
            echo "$header with $missing says nothing of platforms:" >&2
            head -n 5 "$work/said" >&2
            failed=1
        fi
    done
done

printf '%s\n' 'set(CMAKE_SYSTEM_NAME Linux)' 'set(CMAKE_SYSTEM_PROCESSOR riscv64)' >"$work/riscv64.cmake"
if cmake -G Ninja -S . -B "$work/build" -DCMAKE_TOOLCHAIN_FILE="$work/riscv64.cmake" >"$work/said" 2>&1; then
    echo "CMake configures for riscv64" >&2
    failed=1
elif ! tr -s '\n ' ' ' <"$work/said" | grep -q "$sentence"; then
    echo "CMake says nothing of platforms:" >&2
    cat "$work/said" >&2
    failed=1
fi
exit $failed
