#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers_alone.sh COMPILER STANDARD: compiles each public header alone, with warnings as errors.
# The C headers in every language; the C++ headers as C++20, with and without exceptions and RTTI,
# and tool.hpp as C++17 as well, because tool authors may have an older compiler. As C++17, the
# other C++ headers give only their error about the required standard.
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
for header in abi/include/narratoria/*.h; do
    [ "${header##*/}" = narratoria.h ] ||
        grep -q "\"narratoria/${header##*/}\"" abi/include/narratoria/narratoria.h ||
        { echo "narratoria.h does not include ${header##*/}" >&2; failed=1; }
done
for header in "${headers[@]}"; do
    [ -e "$header" ] || continue
    # Included twice, to detect a missing include guard.
    name=narratoria/${header##*/}
    if ! printf '#include "%s"\n#include "%s"\nint nothing(void);\n' "$name" "$name" |
        "$compiler" -x "$language" -std="$standard" -fsyntax-only \
            -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
            -Iabi/include -Isdk/include -; then
        echo "$header does not compile alone as $standard" >&2
        failed=1
    fi
done
if [ "$standard" = c++20 ]; then
    # tool.hpp reports failures by exceptions.
    if ! printf '#include "%s"\n' $(cd sdk/include && ls narratoria/*.hpp | grep -v /tool.hpp) |
        "$compiler" -x c++ -std=c++20 -fno-exceptions -fno-rtti -fsyntax-only \
            -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror \
            -Iabi/include -Isdk/include -; then
        echo "the C++ headers do not compile with -fno-exceptions -fno-rtti" >&2
        failed=1
    fi
elif [ "$standard" = c++17 ]; then
    for header in sdk/include/narratoria/*.hpp; do
        name=narratoria/${header##*/}
        [ "$name" = narratoria/tool.hpp ] && continue
        # Ignores the #error, and the missing file that ends the compilation.
        messages=$(printf '#include "%s"\n' "$name" |
            "$compiler" -x c++ -std=c++17 -fsyntax-only -Iabi/include -Isdk/include - 2>&1 |
            grep -E 'error:')
        if [ "$(grep -c . <<<"$messages")" != 2 ] || [[ $messages != *"headers need C++20"* ]]; then
            echo "$header as C++17 does not just say that it needs C++20: $messages" >&2
            failed=1
        fi
    done
fi
exit $failed
