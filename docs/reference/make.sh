#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make.sh [FOLDER]: writes the API reference to FOLDER/html (build/reference). A warning is a failure.
cd "$(dirname "$0")/../.." || exit 2
export REFERENCE_FOLDER=${1:-build/reference}
mkdir -p "$REFERENCE_FOLDER" && doxygen docs/reference/Doxyfile && echo "$REFERENCE_FOLDER/html/index.html"
