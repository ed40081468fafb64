#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gate_test.sh: after a release, the gate accepts only compatible changes. The baseline is that of
# the current headers. Each case is a copy of the headers with one changed line.
set -u
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0
none=$work/none && mkdir "$none" "$work/baseline"
tests/abi/abi_gate.sh --refresh --baseline "$work/baseline" || exit 2

# The gate's exit status for the headers in $work/now: 0 accepts.
gate() {
    tests/abi/abi_gate.sh --headers "$work/now" --baseline "${2:-$work/baseline}" \
        --acknowledged "${1:-$none}" >"$work/said" 2>&1
}

# change NAME FILE SED-SCRIPT
change() {
    rm -rf "$work/now" && cp -r abi/include "$work/now" || exit 2
    sed -i "$3" "$work/now/narratoria/$2" || exit 2
    if cmp -s "abi/include/narratoria/$2" "$work/now/narratoria/$2"; then
        echo "the case \"$1\" changes nothing in $2: correct gate_test.sh" >&2
        failed=1
    fi
}
passes() {
    change "$@"
    gate || { echo "the gate refuses \"$1\":" >&2 && cat "$work/said" >&2 && failed=1; }
}
fails() {  # like change(), and the NAME that the gate must report
    change "$1" "$2" "$3"
    if gate; then
        echo "the gate lets \"$1\" through" >&2
        failed=1
    elif ! grep -q "  $4: " "$work/said"; then
        echo "the gate does not name $4 for \"$1\":" >&2 && cat "$work/said" >&2
        failed=1
    fi
}

passes "a comment" ui_handler.h 's|/\* Valid until handle returns. \*/|/* Lives on. */|'
passes "a field at the end" ui_handler.h 's/^} nar_ui_event;/    nar_str later;\n&/'
passes "a function at the end of a host extension" host_session.h \
    's/^} nar_host_prompt;/    nar_status (*later)(const nar_host *host);\n&/'
passes "a larger minor" base.h 's/\(NAR_ABI_MINOR\) 0u/\1 1u/'

fails "two fields of one type change places" ui_handler.h \
    '/^    nar_str plan_id;/d; s/^    nar_str tool_id;/&\n    nar_str plan_id;/' nar_ui_event
fails "two fields of different types change places" event.h \
    '/^    uint64_t seq;/d; s/^    nar_str session_id;.*/&\n    uint64_t seq;/' nar_event
fails "a field in the middle" asset_renderer.h 's/^    nar_str asset_id;/    nar_str later;\n&/' nar_asset
fails "a field that is gone" invocation.h '/^    nar_str root;/d' nar_invocation
fails "a wider field" event.h 's/^    uint32_t attempt; /    uint64_t attempt; /' nar_event
fails "another sign" ui_handler.h 's/^    int32_t priority;/    uint32_t priority;/' nar_ui_handler_extension
fails "another name" tool.h 's/^    nar_str description;/    nar_str about;/' nar_tool
fails "a parameter more in a plugin's function" tool_runner.h \
    's/(\*cancel)(void \*instance, uint64_t token)/(*cancel)(void *instance, uint64_t token, int why)/' \
    nar_tool_runner_extension
fails "a parameter more in a function of the library" validate.h \
    's/NAR_API nar_status nar_validate(uint32_t document,/& uint32_t more,/' nar_validate
fails "more in a struct without size" base.h 's/^} nar_str;/    uint64_t more;\n&/' nar_str
fails "a field in the padding at the end" invocation.h \
    '/^    uint64_t environment_count;/,/^}/s/^    uint32_t reserved;/    uint16_t first;\n&/' nar_invocation

change "a break that is owned up to" invocation.h '/^    nar_str root;/d'
mkdir "$work/owned" && echo "nobody read it" >"$work/owned/nar_invocation.txt"
gate "$work/owned" || { echo "an acknowledged break is refused:" >&2 && cat "$work/said" >&2 && failed=1; }
: >"$work/owned/nar_invocation.txt"
! gate "$work/owned" || { echo "an acknowledgement without a reason counts" >&2 && failed=1; }

# Before a release there is no baseline.
change "a break before a release" invocation.h '/^    nar_str root;/d'
if [ -z "$(git tag --list 'v[0-9]*' 2>/dev/null)" ]; then
    gate "$none" "$none" || { echo "a change before a release is refused:" >&2 && cat "$work/said" >&2 && failed=1; }
fi

# An unlisted struct, with a baseline and without.
change "an unknown struct" tool.h 's/^typedef struct nar_tool {/typedef struct nar_later { uint32_t size; } nar_later;\n&/'
sed -i 's/^typedef struct nar_later {.*/typedef struct nar_later {\n    uint32_t size;\n} nar_later;/' "$work/now/narratoria/tool.h"
for baseline in "$work/baseline" "$none"; do
    ! gate "$none" "$baseline" || { echo "a struct that is not in probe.c is not noticed" >&2 && failed=1; }
done

exit $failed
