#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# freeze.sh: makes the copy of the public headers anew. Only until 1.0 is released; then never again.
set -eu
cd "$(dirname "$0")"
rm -rf include
cp -r ../../../abi/include include
# Frozen as they were, spaces included.
printf 'DisableFormat: true\nSortIncludes: Never\n' >include/.clang-format
