#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# consumers.sh BUILD-FOLDER CC CXX: installs, moves what was installed to another place, and there
# builds and runs a project of its own, once with find_package and once with pkg-config.
set -eu
source_folder=$(cd "$(dirname "$0")" && pwd)
build=$1 cc=$2 cxx=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prompt="I light the torch and examine the door"

say() { printf '%s\n' "— $*"; }

say "install into an empty prefix, then move it"
cmake --install "$build" --prefix "$work/first" >"$work/install.log" ||
    { cat "$work/install.log" >&2; exit 1; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix
if grep -rlI --include='*.cmake' --include='*.pc' -e "$build" -e "$work/first" "$prefix"; then
    echo "these installed files name the build folder or the first prefix" >&2
    exit 1
fi
story=$prefix/share/narratoria/stories/torch

say "the installed command plays the installed story"
"$prefix/bin/narratoria" play --story "$story" "$prompt" </dev/null

say "find_package(Narratoria)"
cmake -G Ninja -S "$source_folder/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" >"$work/configure.log" ||
    { cat "$work/configure.log" >&2; exit 1; }
cmake --build "$work/build"
"$work/build/host_c" "$story" "$prompt"
"$work/build/host_cpp" "$story" "$prompt"
echo '{"requestId":"r","tool":"tool","operation":"run","input":{}}' | "$work/build/tool"

if [ -e "$work/build/host_static" ]; then
    say "a host with the static library needs no libnarratoria.so, and loads plugins beside itself"
    needed=$(readelf -dW "$work/build/host_static" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    case $needed in
        *narratoria*|*yaml*|*lz4*) echo "host_static needs: $needed" >&2; exit 1 ;;
        *libuv.so.1*) ;;
        *) echo "host_static does not need libuv: $needed" >&2; exit 1 ;;
    esac
    mkdir -p "$work/game/narratoria/plugins"
    cp "$work/build/host_static" "$work/game/game"
    cp "$(find "$prefix" -name event_log.so)" "$work/game/narratoria/plugins"
    cp -R "$story" "$work/game/story"
    printf '[plugins."narratoria.event_log"]\nfile = "%s"\n' "$work/game/log" >>"$work/game/story/story.toml"
    # Started by its name, argv[0] is not a path.
    (cd / && PATH=$work/game:$PATH game "$work/game/story" "$prompt")
    [ -s "$work/game/log" ] || { echo "event_log.so beside the host was not loaded" >&2; exit 1; }
    surplus=$(nm "$(find "$prefix" -name libnarratoria.a)" | awk 'NF == 3 && $2 ~ /[A-TV-Zuvw]/ { print $3 }' |
        LC_ALL=C sort -u | LC_ALL=C comm -3 - "$source_folder/../../abi/exports.txt")
    [ -z "$surplus" ] || { echo "libnarratoria.a and exports.txt differ: $surplus" >&2; exit 1; }
else
    say "NOT TESTED: the static library (NARRATORIA_STATIC is off)"
fi

say "narratoria plugin new, every kind in both languages"
"$source_folder/new_plugins.sh" "$prefix" "$cc" "$cxx"

say "pkg-config narratoria"
pc=$(find "$prefix" -name narratoria.pc)
export PKG_CONFIG_PATH=${pc%/*}
read -ra flags < <(pkg-config --cflags --libs narratoria)
library=$(pkg-config --variable=libdir narratoria)
[ "$(pkg-config --variable=pluginsdir narratoria)" = "$library/narratoria/plugins" ]
"$cc" -std=c11 -Wall -Wextra -Werror "$source_folder/consumer/host.c" -o "$work/host_c" "${flags[@]}"
"$cxx" -std=c++20 -Wall -Wextra -Werror "$source_folder/consumer/host.cpp" -o "$work/host_cpp" \
    "${flags[@]}"
LD_LIBRARY_PATH=$library "$work/host_c" "$story" "$prompt"
LD_LIBRARY_PATH=$library "$work/host_cpp" "$story" "$prompt"

say "the C and C++ programs of README.md with the installed story, and without a story"
stories=$(pkg-config --variable=storiesdir narratoria)
for language in c cpp; do
    awk -v fence="\`\`\`$language" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' \
        "$source_folder/../../README.md" >"$work/readme.$language"
done
"$cc" -std=c11 -Wall -Wextra -Werror "$work/readme.c" -o "$work/readme_c" "${flags[@]}"
"$cxx" -std=c++20 -Wall -Wextra -Werror "$work/readme.cpp" -o "$work/readme_cpp" "${flags[@]}"
for program in readme_c readme_cpp; do
    LD_LIBRARY_PATH=$library "$work/$program" "$stories/torch" 2>/dev/null | grep -q .
    status=0
    LD_LIBRARY_PATH=$library "$work/$program" "$work/nowhere" 2>"$work/readme.log" || status=$?
    [ $status -eq 1 ] || { echo "$program exits with $status without a story" >&2; exit 1; }
    grep -q nowhere "$work/readme.log"
done

say "a plugin in one file, built as docs/writing-a-plugin.md says"
page=$source_folder/../../docs/writing-a-plugin.md
sample() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' "$page"; }
sample cpp >"$work/oracle.cpp"
line=$(sample sh | sed -n '/^c++/,/oracle.so$/p')
[ -n "$line" ] || { echo "$page shows no line that builds oracle.so" >&2; exit 1; }
(cd "$work" && eval "${line/#c++/\"\$cxx\"}")
symbols=$(nm -D --defined-only "$work/oracle.so" | awk '{ print $3 }' | grep -v '^__')
[ "$symbols" = nar_plugin_entry ] || { echo "oracle.so lets out: $symbols" >&2; exit 1; }
"$prefix/bin/narratoria" plugin check "$work/oracle.so"

say "every link of the installed pages leads somewhere"
find "$prefix/share" -name '*.md' | sort >"$work/pages"
[ "$(wc -l <"$work/pages")" -ge 10 ] || { echo "pages are missing: $(cat "$work/pages")" >&2; exit 1; }
broken=0
while read -r page; do
    while read -r link; do
        [ -e "${page%/*}/${link%%#*}" ] && continue
        echo "$page: $link is not there" >&2
        broken=1
    done < <({ grep -o '](\([^)#: ][^): ]*\))' "$page" | sed 's/^](\(.*\))$/\1/'
        grep -o 'src="[^"]*"' "$page" | sed 's/^src="\(.*\)"$/\1/'; } || true)
done <"$work/pages"
[ $broken -eq 0 ]
ls "$prefix"/share/doc/*/docs/python.md "$prefix"/share/doc/*/examples/python/chat.py >/dev/null

say "the installed schemas and headers are there"
ls "$prefix"/share/narratoria/schemas/*.json "$prefix"/include/narratoria/engine.{h,hpp} >/dev/null
