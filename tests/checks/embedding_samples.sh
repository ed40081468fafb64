#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# embedding_samples.sh CC CXX [BUILD]: compiles each C++ sample of docs/embedding.md with
# <narratoria/engine.hpp>, its own includes, and the objects of a host around it. Compiles the complete
# C program of the page (the frame loop) and, with a build of the library, plays the sample story with it.
set -u
cd "$(dirname "$0")/../.." || exit 2
cc=$1 cxx=$2 build=${3:-}
page=docs/embedding.md
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
awk -v to="$work/sample" '/^```cpp$/ { file = to (++count) ".cpp"; next } /^```/ { file = "" } file { print > file }' \
    "$page"
shopt -s nullglob
samples=("$work"/sample*.cpp)
[ ${#samples[@]} -gt 0 ] || { echo "$page has no C++ sample" >&2; exit 1; }
failed=0
for sample in "${samples[@]}"; do
    {
        grep '^#include' "$sample"
        cat <<'CONTEXT'
#include <narratoria/engine.hpp>

#include <string>

struct Game {
    bool ring(nar_str payload);
};
struct Worker {
    template <class Job>
    void enqueue(Job&& job) { job(); }
};
std::string think(const std::string& request);

inline void sample(narratoria::Engine& engine, narratoria::Session& session, Game& game, Worker& worker) {
    (void)engine, (void)session, (void)game, (void)worker;
    {
CONTEXT
        grep -v '^#include' "$sample"
        echo '    }'
        echo '}'
    } >"$work/whole.cpp"
    "$cxx" -std=c++20 -Wall -Wextra -Wno-unused -Werror -fsyntax-only -Iabi/include -Isdk/include \
        "$work/whole.cpp" 2>"$work/said" && continue
    echo "this sample of $page does not compile:" >&2
    cat "$sample" "$work/said" >&2
    failed=1
done

awk -v to="$work/program" '/^```c$/ { file = to (++count) ".c"; next } /^```/ { file = "" } file { print > file }' \
    "$page"
programs=$(grep -lw main "$work"/program*.c)
[ -n "$programs" ] || { echo "$page has no complete C program" >&2; exit 1; }
for program in $programs; do
    end=(-fsyntax-only)
    [ -z "$build" ] || end=(-o "$work/program" "-L$build/lib" "-Wl,-rpath,$build/lib" -lnarratoria)
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iabi/include "$program" "${end[@]}" ||
        { echo "this program of $page does not compile: $(head -n 1 "$program")" >&2; failed=1; continue; }
    [ -n "$build" ] || continue
    told=$("$work/program" examples/stories/torch 2>&1) || { echo "the program of $page fails: $told" >&2; failed=1; }
    case $told in
        *'"state_patch"'*"reach for the torch"*) ;;
        *) echo "the program of $page prints: $told" >&2; failed=1 ;;
    esac
done
exit $failed
