#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# new_plugins.sh PREFIX CC CXX: writes a plugin of every kind in both languages with the installed
# command, and builds and tests each against what is installed, as an author does, without a warning.
# Each lets out one symbol, needs no library of Narratoria, keeps to every rule that the validator
# knows, and is loaded by the installed command.
set -u
prefix=$1 cc=$2 cxx=$3
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
# The longest name that is allowed, because texts of a fixed size hold it.
longest=a$(printf '%063d' 0)
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
failed=0

try() {
    local name=$1 kind=$2 language=$3
    "$prefix/bin/narratoria" plugin new "$name" --kind "$kind" --lang "$language" >/dev/null &&
        cmake -G Ninja -S "$name" -B "$name/build" -DCMAKE_PREFIX_PATH="$prefix" \
            -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
            -DCMAKE_C_FLAGS="$strict" -DCMAKE_CXX_FLAGS="$strict" &&
        cmake --build "$name/build" &&
        ctest --test-dir "$name/build" --output-on-failure --no-tests=error || return 1
    local library=$name/build/$name.so symbols needed told
    # Symbols of sanitizers and profilers begin with two underscores.
    symbols=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v '^__')
    [ "$symbols" = nar_plugin_entry ] || { echo "$library lets out: $symbols"; return 1; }
    needed=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*narratoria.*\)\]/\1/p')
    [ -z "$needed" ] || { echo "$library needs $needed"; return 1; }
    "$prefix/bin/narratoria" plugin check "$library" || return 1
    mkdir -p story/plugins && rm -f story/plugins/*.so && cp "$library" story/plugins/ &&
        printf 'title = "New"\n' >story/story.toml &&
        printf '{"prompts":[{"patterns":["go"],"answers":[{"narrative":"Gone."}]}]}\n' \
            >story/prompts.json &&
        "$prefix/bin/narratoria" plugin list --story story --explain | grep -q "$name.so .*: loads" &&
        told=$("$prefix/bin/narratoria" play --story story go) || return 1
    # Shown as it stands, and nothing is said of a plugin that was left out or misbehaved.
    case $told in
        *"left out"*|*disabled*|*held*) echo "$told"; return 1 ;;
        *Gone.*) ;;
        *) echo "$told"; return 1 ;;
    esac
    ! grep -rn '@[A-Z_]*@' --include='*' --exclude-dir=build "$name" || return 1
}

for kind in ui-handler asset-renderer narrator tool-runner tool event-sink; do
    for language in c cpp; do
        name=$kind-in-$language
        [ "$kind/$language" != tool/c ] || name=$longest
        if try "$name" "$kind" "$language" >"$work/log" 2>&1; then
            echo "$kind, $language"
        else
            echo "the new $kind in $language does not build and pass:" >&2
            cat "$work/log" >&2
            failed=1
        fi
    done
done
exit $failed
