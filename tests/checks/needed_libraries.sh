#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# needed_libraries.sh LIBRARY: checks that the library needs only libuv and the C and C++ runtime
# libraries. Also checks for immediate binding, text relocations and an executable stack.
set -u
library=$1
dynamic=$(readelf -dW "$library") || exit 2
failed=0
while read -r needed; do
    case $needed in
        libuv.so.*|libstdc++.so.*|libc++.so.*|libc++abi.so.*|libgcc_s.so.*) ;;
        libm.so.*|libc.so.*|ld-linux*.so.*) ;;
        *)
            echo "$library needs $needed; allowed are libuv, libstdc++, libgcc_s, libm, libc, ld-linux" >&2
            failed=1
            ;;
    esac
done < <(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
grep -q 'libuv.so' <<<"$dynamic" || { echo "$library does not need libuv; check that it is the right file" >&2; failed=1; }
grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' <<<"$dynamic" ||
    { echo "$library is not linked with -z now" >&2; failed=1; }
! grep -q 'TEXTREL' <<<"$dynamic" || { echo "$library has text relocations" >&2; failed=1; }
readelf -lW "$library" | grep -qE 'GNU_STACK.* RW ' ||
    { echo "$library asks for an executable stack" >&2; failed=1; }
exit $failed
