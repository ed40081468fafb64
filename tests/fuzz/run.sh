#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/run.sh SECONDS [NAME…]: runs the fuzz targets, each for so long, two at a time.
#
# Builds with the preset "fuzz" (clang 14, libFuzzer, address and undefined-behaviour sanitizers)
# unless NARRATORIA_FUZZ_BUILD names a build folder that has them. Findings, logs and the grown
# corpora lie in that folder's fuzz/; seeds are read, never written. Exit status 1 with a finding.
set -u
case ${1-} in
    ""|*[!0-9]*)
        echo "usage: tests/fuzz/run.sh SECONDS [NAME…]    (framing decoding plan merge …)" >&2
        exit 2
        ;;
esac
seconds=$1
shift
cd "$(dirname "$0")/../.." || exit 2
build=${NARRATORIA_FUZZ_BUILD-}
if [ -z "$build" ]; then
    build=$PWD/build/fuzz
    { cmake --preset fuzz && cmake --build --preset fuzz --target narratoria_fuzzers; } \
        >/dev/null || exit 2
fi
if [ $# -eq 0 ]; then
    for source in tests/fuzz/*_fuzzer.cpp; do
        name=$(basename "$source" _fuzzer.cpp)
        set -- "$@" "$name"
    done
fi
# The sanitizers of these compilers need less address randomness than new kernels give.
fixed=()
setarch "$(uname -m)" -R true 2>/dev/null && fixed=(setarch "$(uname -m)" -R)

# Nobody's machine is only for fuzzing: nice, so that what else runs comes first.
fuzz() {
    local name=$1 place=$build/fuzz/$1 dictionary=()
    mkdir -p "$place/corpus" "$place/findings"
    [ -f "tests/fuzz/$name.dict" ] && dictionary=("-dict=tests/fuzz/$name.dict")
    local status=0
    nice -n 19 "${fixed[@]}" "$build/tests/fuzz/${name}_fuzzer" "$place/corpus" \
        "tests/fuzz/seeds/$name" "${dictionary[@]}" "-max_total_time=$seconds" -timeout=10 \
        -rss_limit_mb=2048 -print_final_stats=1 "-artifact_prefix=$place/findings/" \
        >"$place/log" 2>&1 </dev/null || status=$?
    case $status in
        0) echo ok ;;
        130|137|143) echo "ended by a signal from outside: no result" ;;
        *) echo "FOUND SOMETHING: $place/log, $place/findings" ;;
    esac >"$place/status"
    local executions features
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$place/log")
    features=$(sed -n 's/.* cov: \([0-9]*\) ft: \([0-9]*\) .*/\1 edges, \2 features/p' "$place/log" |
        tail -n 1)
    printf '%-10s %6d s  %12s executions  %s  %s\n' "$name" "$seconds" "${executions:-?}" \
        "${features:-no coverage}" "$(cat "$place/status")"
}

for name in "$@"; do
    if [ ! -x "$build/tests/fuzz/${name}_fuzzer" ]; then
        echo "there is no fuzz target $name in $build/tests/fuzz" >&2
        exit 2
    fi
    rm -f "$build/fuzz/$name/status"
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
    fuzz "$name" &
done
wait
for name in "$@"; do
    [ "$(cat "$build/fuzz/$name/status" 2>/dev/null)" = ok ] || exit 1
done
