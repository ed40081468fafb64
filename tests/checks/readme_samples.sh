#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# readme_samples.sh CC CXX: what the README shows compiles as it stands, without a warning.
set -u
cd "$(dirname "$0")/../.." || exit 2
cc=$1 cxx=$2
sample() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```/ { on = 0 } on' README.md; }
strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only -Iabi/include -Isdk/include)
for language in c cpp; do
    [ -n "$(sample $language)" ] || { echo "README.md shows no $language" >&2; exit 1; }
done
failed=0
sample c | "$cc" -x c -std=c11 "${strict[@]}" - || failed=1
sample cpp | "$cxx" -x c++ -std=c++20 "${strict[@]}" - || failed=1
[ $failed -eq 0 ] || echo "a sample of README.md does not compile" >&2
exit $failed
