#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# exported_symbols.sh LIBRARY LIST: checks that the library exports exactly the symbols of the list.
set -u
library=$1 list=$2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
# The version node (NARRATORIA_1) is an absolute symbol and not a function.
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    LC_ALL=C sort -u >"$work/found" || exit 2
LC_ALL=C sort -u "$list" >"$work/listed"
if ! cmp -s "$list" "$work/listed"; then
    echo "$list is not sorted (LC_ALL=C sort -u) or names a symbol twice" >&2
    exit 1
fi
missing=$(comm -13 "$work/found" "$work/listed")
surplus=$(comm -23 "$work/found" "$work/listed")
[ -z "$missing" ] || printf '%s\n' "$list names what the library does not export" \
    "(define the function, or add NAR_API to it):" "$missing" >&2
[ -z "$surplus" ] || printf '%s\n' "the library exports what $list does not name" \
    "(add it there if it is meant to be public):" "$surplus" >&2
[ -z "$missing$surplus" ]
