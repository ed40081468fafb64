#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# abi_gate.sh [--headers FOLDER] [--baseline FOLDER] [--acknowledged FOLDER] [LIBRARY]: checks that
# probe.c and layout.c list every public struct and function. With a baseline, which the first release
# sets, it also compares the headers and the library's symbols with it, and fails on an incompatible
# change that no file in abi/acknowledged/ explains.
# abi_gate.sh --refresh [--headers FOLDER] [--baseline FOLDER] [LIBRARY]: writes the baseline.
set -u
tree=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
headers=$tree/abi/include baseline=$tree/abi/baseline acknowledged=$tree/abi/acknowledged
library='' refresh=0
while [ $# -gt 0 ]; do
    case $1 in
        --headers) headers=$2 && shift ;;
        --baseline) baseline=$2 && shift ;;
        --acknowledged) acknowledged=$2 && shift ;;
        --refresh) refresh=1 ;;
        -*) echo "abi_gate.sh does not know $1" >&2 && exit 2 ;;
        *) library=$1 ;;
    esac
    shift
done
for program in abidw abidiff; do
    command -v "$program" >/dev/null || {
        echo "$program is not here (Debian: apt-get install abigail-tools)" >&2
        exit 2
    }
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# The same bytes, independent of the build folder.
mkdir "$work/tree" && cp -r "$headers" "$work/tree/include" && cp "$tree/tests/abi/probe.c" "$work/tree" || exit 2
(cd "$work/tree" && "${CC:-gcc}" -std=c11 -g -O0 -fPIC -shared -fvisibility=hidden \
    -fdebug-prefix-map="$work/tree"=. -Iinclude probe.c -o ../probe.so) || {
    echo "tests/abi/probe.c does not compile with these headers: what it names is gone" >&2
    exit 1
}
describe() {
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash "$@"
}

failed=0
# Structs and functions missing from the probe or from layout.c would not be watched.
for name in $(sed -n 's/^\(typedef \)\{0,1\}struct \(nar_[a-z_]*\) {.*/\2/p' "$headers"/narratoria/*.h); do
    for file in "STRUCT $tree/tests/abi/probe.c" "SIZE $tree/tests/abi/layout.c"; do
        grep -q "^${file%% *}($name[,)]" "${file#* }" || {
            echo "$name is not in ${file##*/}: add ${file%% *}($name…)" >&2
            failed=1
        }
    done
done
while read -r name; do
    grep -q "^FUNCTION($name)" "$tree/tests/abi/probe.c" || {
        echo "$name is not in probe.c: add FUNCTION($name)" >&2
        failed=1
    }
done <"$tree/abi/exports.txt"

if [ -n "$library" ]; then
    # Without debug information, so that the library of every preset gives the same result.
    objcopy --strip-debug "$library" "$work/library.so" || exit 2
fi

if [ "$refresh" = 1 ]; then
    [ "$failed" = 0 ] || exit 1
    describe "$work/probe.so" >"$baseline/interface.xml" || exit 2
    [ -z "$library" ] || describe "$work/library.so" >"$baseline/library.xml" || exit 2
    echo "$baseline describes these headers now"
    exit 0
fi
if [ ! -e "$baseline/interface.xml" ]; then
    if [ -n "$(git -C "$tree" tag --list 'v[0-9]*' 2>/dev/null)" ]; then
        echo "there is a release, and no baseline: run abi_gate.sh --refresh LIBRARY at its tag" >&2
        exit 1
    fi
    echo "no release has set a baseline: nothing to compare with"
    exit $failed
fi

# Prints the name of each struct or function with an incompatible change, and the change.
incompatible() {
    awk '
        function told(what) { print (name == "" ? "?" : name) "\t" what }
        /^(Leaf changes|Changed leaf types|Removed\/Changed\/Added [a-z]+|Functions changes|Variables changes) summary/ { next }
        /^(Function|Variable) symbols changes summary/ { next }
        /^[ \t]*$/ { growing = 0; adding = 0; next }
        # "[0-9]+ Added …:" is a change that a minor version may make.
        /^[0-9]+ Added / { adding = 1; section = ""; next }
        /^[0-9]+ Removed / { section = "removed"; adding = 0; next }
        /^[ \t]*\[A\]/ { next }
        /^[ \t]*\[D\]/ || section == "removed" && match($0, /nar_[a-z_]+/) {
            match($0, /nar_[a-z_]+/); name = substr($0, RSTART, RLENGTH)
            told("is gone"); next
        }
        /^[0-9]+ .*(changes|changed|change)( |:|$)/ && !/data member/ { section = ""; next }
        /^[ \t]*\047(struct|union|enum|typedef|class) nar_[a-z_]+\047.* changed:/ || /^[ \t]*\[C\]/ {
            if (match($0, /probe_nar_[a-z_]+/)) name = substr($0, RSTART + 6, RLENGTH - 6)
            else if (match($0, /nar_[a-z_]+/)) name = substr($0, RSTART, RLENGTH)
            size = 0; growing = 0
            next
        }
        /type size hasn.t changed/ { next }
        /type size changed from [0-9]+ to [0-9]+ \(in bits\)/ {
            match($0, /from [0-9]+/); size = substr($0, RSTART + 5, RLENGTH - 5) + 0
            match($0, /to [0-9]+/); larger = substr($0, RSTART + 3, RLENGTH - 3) + 0
            if (larger < size) told("has become smaller")
            if (name == "nar_str") told("has another size, and arrays of it are in plugins")
            next
        }
        /data member insertions?:/ { growing = 1; next }
        growing && /at offset [0-9]+ \(in bits\)/ {
            match($0, /at offset [0-9]+/); offset = substr($0, RSTART + 10, RLENGTH - 10) + 0
            if (size == 0 || offset < size) told("has a new field that is not at its end: " $0)
            next
        }
        /impacted interface/ { next }
        { gsub(/^[ \t]+/, ""); told($0) }
    ' "$1"
}

compare() {  # BASELINE OBJECT
    abidiff --leaf-changes-only --harmless --redundant --no-show-locs "$1" "$2" >"$work/report"
    # Exit statuses 1 and 2 are errors of the comparison itself.
    [ $(($? & 3)) = 0 ] || { cat "$work/report" >&2; echo "abidiff failed" >&2; exit 2; }
    local name what
    while IFS=$'\t' read -r name what; do
        if [ -s "$acknowledged/$name.txt" ]; then
            echo "acknowledged in abi/acknowledged/$name.txt: $name: $what"
            continue
        fi
        [ "$failed" = 1 ] || echo "an incompatible change of the contract:" >&2
        echo "  $name: $what" >&2
        failed=1
        hint=1
    done < <(incompatible "$work/report")
}
hint=0
if [ "$(uname -m)" = x86_64 ]; then
    compare "$baseline/interface.xml" "$work/probe.so"
    [ -z "$library" ] || [ ! -e "$baseline/library.xml" ] || compare "$baseline/library.xml" "$work/library.so"
fi
[ "$hint" = 0 ] || echo "Who built against it would break: add at the end of a struct, or a new struct, \
function or extension id. If it must be: abi/acknowledged/NAME.txt with the reason." >&2
exit $failed
