# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzz targets over their seeds and beyond them."""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor

from .commands import JOBS, TREE, run
from .suites import SANITIZERS, fixed_addresses

FINDINGS = TREE / "build/fuzz-findings"


def targets():
    return sorted((TREE / "tests/fuzz").glob("*_fuzzer.cpp"))


def run_targets(report, what, run_target):
    """Runs `run_target` for each target, one target per core at a time."""
    prefix = fixed_addresses()
    with ThreadPoolExecutor(JOBS) as pool:
        for target, (status, text) in zip(targets(),
                                          pool.map(lambda each: run_target(each, prefix),
                                                   targets())):
            report.add_result(f"{what}: {target.stem}", status, text)


def options(target):
    """The options of a target: its folder of findings, its limits, and its dictionary if any."""
    name = target.stem.removesuffix("_fuzzer")
    (FINDINGS / name).mkdir(parents=True, exist_ok=True)
    dictionary = target.with_name(f"{name}.dict")
    return [f"-artifact_prefix={FINDINGS / name}/", "-timeout=10", "-rss_limit_mb=2048",
            *([f"-dict={dictionary}"] if dictionary.exists() else [])]


def program(target):
    return TREE / "build/asan/tests/fuzz" / target.stem


def folder_of_seeds(target):
    return TREE / "build/asan/tests/fuzz/seeds" / target.stem.removesuffix("_fuzzer")


def seeds(report):
    def run_target(target, prefix):
        return run([*prefix, program(target), *options(target), "-runs=0", folder_of_seeds(target)],
                   SANITIZERS)

    run_targets(report, "seeds", run_target)


def fuzz(report):
    """Runs each target for NARRATORIA_FUZZ_SECONDS (default 30)."""
    seconds = int(os.environ.get("NARRATORIA_FUZZ_SECONDS", "30"))

    def run_target(target, prefix):
        with tempfile.TemporaryDirectory() as corpus:
            return run([*prefix, program(target), *options(target), f"-max_total_time={seconds}",
                        "-print_final_stats=1", corpus, folder_of_seeds(target)], SANITIZERS)

    run_targets(report, "fuzz (findings are in build/fuzz-findings)", run_target)
