#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme_samples.sh CC CXX [BUILD]: checks that the samples of the README compile unchanged without
# warnings. With a build of the library it also runs them in a folder outside the repository, with
# the sample story and with a missing story.
set -u
cd "$(dirname "$0")/../.." || exit 2
cc=$1 cxx=$2 build=${3:-}
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sample() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' README.md; }
strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror "-I$root/abi/include" "-I$root/sdk/include")
if [ -n "$build" ]; then
    end=("-L$build/lib" "-Wl,-rpath,$build/lib" -lnarratoria)
else
    strict+=(-fsyntax-only)
    end=()
fi
for language in c cpp; do
    [ -n "$(sample $language)" ] || { echo "README.md has no $language sample" >&2; exit 1; }
    sample $language >"$work/sample.$language"
done
failed=0
complain() { echo "$*" >&2; failed=1; }
"$cc" -std=c11 "${strict[@]}" "$work/sample.c" -o "$work/c" "${end[@]}" ||
    complain "the C sample of README.md does not compile"
"$cxx" -std=c++20 "${strict[@]}" "$work/sample.cpp" -o "$work/cpp" "${end[@]}" ||
    complain "the C++ sample of README.md does not compile"
if [ -n "$build" ] && [ $failed -eq 0 ]; then
    mkdir "$work/elsewhere" && cd "$work/elsewhere" || exit 2
    for language in c cpp; do
        told=$("../$language" "$root/examples/stories/torch" 2>../log) ||
            complain "the $language sample of README.md fails: $(cat ../log)"
        case $told in *"reach for the torch"*) ;; *) complain "the $language sample prints: $told" ;; esac
        "../$language" nowhere >/dev/null 2>../log
        status=$?
        [ $status -eq 1 ] || complain "the $language sample exits with $status without a story"
        grep -q nowhere ../log || complain "the $language sample does not name the missing story"
    done
fi
exit $failed
