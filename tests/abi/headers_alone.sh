#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers_alone.sh COMPILER STANDARD: compiles each public header alone, warnings as errors. The C
# headers in every language; the C++ headers as C++20, and tool.hpp as C++17 too, because a tool's
# author may be bound to an older compiler than the SDK is.
set -u
cd "$(dirname "$0")/../.." || exit 2
compiler=$1 standard=$2
case $standard in
    c++*) language=c++ ;;
    *) language=c ;;
esac
headers=(abi/include/narratoria/*.h)
case $standard in
    c++20) headers+=(sdk/include/narratoria/*.hpp) ;;
    c++17) headers+=(sdk/include/narratoria/tool.hpp) ;;
esac
failed=0
for header in "${headers[@]}"; do
    [ -e "$header" ] || continue
    # Twice: a header without a guard is caught too.
    name=narratoria/${header##*/}
    if ! printf '#include "%s"\n#include "%s"\nint nothing(void);\n' "$name" "$name" |
        "$compiler" -x "$language" -std="$standard" -fsyntax-only \
            -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
            -Iabi/include -Isdk/include -; then
        echo "$header does not compile alone as $standard" >&2
        failed=1
    fi
done
exit $failed
