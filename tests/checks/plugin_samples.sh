#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plugin_samples.sh CC CXX: checks that the plugins of docs/writing-a-plugin.md compile unchanged
# without warnings and do what the page says, and that narratoria/plugin.hpp refuses wrong plugins
# at compile time with a helpful message.
set -u
cd "$(dirname "$0")/../.." || exit 2
cc=$1 cxx=$2
page=docs/writing-a-plugin.md
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
sample() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' "$page"; }
strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iabi/include -Isdk/include)
library=(-shared -fPIC -fvisibility=hidden -Wl,-z,defs -Wl,--version-script=cmake/nar_plugin.map)
cpp=(-std=c++20 "${strict[@]}")
for language in c cpp; do
    sample $language >"$work/sample.$language"
    [ -s "$work/sample.$language" ] || { echo "$page has no $language sample" >&2; exit 1; }
done

failed=0
complain() {
    echo "$1" >&2
    failed=1
}
"$cc" -std=c11 "${strict[@]}" "${library[@]}" "$work/sample.c" -o "$work/rain.so" ||
    complain "the C plugin of $page does not compile"
"$cxx" "${cpp[@]}" "${library[@]}" "$work/sample.cpp" -o "$work/oracle.so" ||
    complain "the C++ plugin of $page does not compile"
"$cxx" "${cpp[@]}" -Itests tests/checks/plugin_samples.cpp -o "$work/exercise" -ldl -pthread ||
    complain "tests/checks/plugin_samples.cpp does not compile"
[ $failed -eq 0 ] || exit 1
"$work/exercise" "$work/rain.so" "$work/oracle.so" || complain "the plugins of $page do not do what it says"

# refused SAID LINE…: checks that this plugin does not compile, and that the compiler says SAID.
refused() {
    local said=$1
    shift
    {
        printf '%s\n' '#include <narratoria/plugin.hpp>' 'namespace plugin = narratoria::plugin;' \
            'struct Sink : plugin::EventSink { void event(const plugin::Event&) override {} };'
        printf '%s\n' "$@"
    } >"$work/wrong.cpp"
    if "$cxx" "${cpp[@]}" -fsyntax-only "$work/wrong.cpp" 2>"$work/said"; then
        complain "this compiles, but must be refused: $*"
    elif ! grep -qF "$said" "$work/said"; then
        complain "this is refused, but not with “$said”: $*"
        head -n 5 "$work/said" >&2
    fi
}
sink=narratoria.event_sink/1
refused "does not derive from" "NARRATORIA_PLUGIN(Sink, \"a\", \"A\", \"1\", \"$sink\", \"narratoria.tool/1\");"
refused "does not derive from" 'NARRATORIA_PLUGIN(Sink, "a", "A", "1", "narratoria.event_sink/2");'
refused "lists no extension" 'NARRATORIA_PLUGIN(Sink, "a", "A", "1");'
refused "names an extension twice" "NARRATORIA_PLUGIN(Sink, \"a\", \"A\", \"1\", \"$sink\", \"$sink\");"
refused "does not name" \
    'struct Both : Sink, plugin::Narrator { void generate(std::string_view, plugin::Reply) override {} };' \
    "NARRATORIA_PLUGIN(Both, \"a\", \"A\", \"1\", \"$sink\");"
refused "a plugin's id has at most 128" "NARRATORIA_PLUGIN(Sink, \"Rain\", \"A\", \"1\", \"$sink\");"
refused "a plugin's name and version" "NARRATORIA_PLUGIN(Sink, \"a\", \"A \\\"B\\\"\", \"1\", \"$sink\");"
refused "a plugin's name and version" "NARRATORIA_PLUGIN(Sink, \"a\", \"A\", \"\", \"$sink\");"
refused "must have a public constructor" \
    'struct Needy : Sink { explicit Needy(int) {} };' \
    "NARRATORIA_PLUGIN(Needy, \"a\", \"A\", \"1\", \"$sink\");"
refused "kSchemes" \
    'struct Runner : plugin::ToolRunner { void start(const plugin::InvocationRequest&, plugin::Invocation) override {} };' \
    'NARRATORIA_PLUGIN(Runner, "a", "A", "1", "narratoria.tool_runner/1");'
exit $failed
