#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# layout.sh COMPILER: the layout of the public structs matches layout.c in C and in C++.
set -eu
cd "$(dirname "$0")/../.."
warnings=(-Wall -Wextra -Wpedantic -Werror)
"$1" -std=c11 -fsyntax-only "${warnings[@]}" -Iabi/include tests/abi/layout.c
"$1" -x c++ -std=c++17 -fsyntax-only "${warnings[@]}" -Iabi/include tests/abi/layout.c
