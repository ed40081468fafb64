#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the numbers of docs/performance.md, ours and those of the peers.

    tests/bench/run.py                    all rows, fifteen minutes; writes docs/performance.md
    tests/bench/run.py spawn pipeline     these rows; the others stay unchanged
    tests/bench/run.py --quick            all rows, smaller, in three minutes; only prints

Needs the preset "release", built with Google Benchmark (NARRATORIA_BENCH), ninja and make. The rows
of Python need the package built for the Python that runs this program. Two of them need a Python
with packages of PyPI: NARRATORIA_MCP_PYTHON and NARRATORIA_FRAMEWORKS_PYTHON name it, or an
environment is made in the build folder. Compared programs run in turn, after one round of each to
warm up. A ratio is the median of the ratios of the rounds, because other load on the machine
disturbs both programs of a round. The exit status is 1 if a row fails.
"""

import argparse
import datetime
import os
import shutil
import sys
import tempfile
from pathlib import Path

from rows.bench import TREE, Bench, Missing
from rows.list import MEASURES
from rows.performance_page import machine, write_page


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=" ".join(MEASURES))
    parser.add_argument("--quick", action="store_true", help="smaller, three minutes, prints only")
    parser.add_argument("--build", type=Path, default=TREE / "build/release", metavar="FOLDER")
    parser.add_argument("--keep", type=Path, metavar="FOLDER",
                        help="leave the generated plans and files there")
    options = parser.parse_args()
    for name in options.rows:
        if name not in MEASURES:
            parser.error(f"there is no row {name}; there are {' '.join(MEASURES)}")
    build = options.build.resolve()
    if not (build / "tests/bench/run_plan").exists():
        sys.exit(f"{build}/tests/bench has no programs; build the preset \"release\" with "
                 "-DNARRATORIA_BENCH=ON, or name its folder with --build")
    for tool in ("ninja", "make"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is missing, but some rows compare with it; install it")

    measured, failed = {}, []
    print(machine())
    with tempfile.TemporaryDirectory(prefix="narratoria-bench-") as folder:
        work = (options.keep or Path(folder)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        for name in options.rows or MEASURES:
            bench = Bench(build, work, options.quick)
            load = os.getloadavg()[0]
            try:
                rows = MEASURES[name](bench)
            except Missing as missing:
                print(f"{name:18} not measured: {missing}", flush=True)
                continue
            load = max(load, os.getloadavg()[0]) if name in ("state", "memory", "plan") else load
            when = f"{datetime.datetime.now():%Y-%m-%d %H:%M}, load {load:.1f}"
            for text in bench.commands:
                print(f"  $ {text}", flush=True)
            for row in rows:
                cells = row.cells(name, when)
                measured[row.key] = cells
                failed += [row.key] if "fail" in row.verdict else []
                print(f"{row.key:18} {row.value:>12}  {row.bar:>12}  {row.verdict.strip('*'):14}"
                      f" {row.ours} | {row.peer}  {row.note}", flush=True)
    if options.quick:
        print("(--quick: docs/performance.md stays as it is)")
    else:
        write_page(measured)
    if failed:
        print("below the bar: " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
