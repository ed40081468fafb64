#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""json_loads.py FILE: times json.loads of each line of a file that is read beforehand. Prints the
seconds as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    lines = Path(sys.argv[1]).read_bytes().splitlines()
    patches = 0
    begin = time.perf_counter()
    for line in lines:
        if json.loads(line)["type"] == "state_patch":
            patches += 1
    seconds = time.perf_counter() - begin
    if patches != len(lines):
        raise SystemExit(f"{patches} of {len(lines)} lines are patches")
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
