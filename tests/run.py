#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs stages one after the other and sums up their results. stages/list.py has the list.

Started by ./test. A build that fails, a program that crashes, a suite without a report and a stage
that exceeds its minutes each count as one failure. Skipped tests are listed with their reasons.
"""

import argparse
import signal
import subprocess
import sys
import time
from dataclasses import replace

from stages.commands import JOBS, TREE, Deadline, TimeIsUp, adopt_orphans, kill_children, run
from stages.list import BUILDS, STAGES
from stages.report import Report

# The number of busy loops that run alongside the tests with --busy.
BUSY_LOOPS = 4
# CI is killed from outside after 90 minutes. A stage that would run longer fails by name before
# that.
CI_MINUTES = 80


def git(*arguments):
    status, text = run(["git", "-C", TREE, *arguments])
    if status != 0:
        sys.exit(f"git {' '.join(arguments)}: {text.strip()}")
    return text


def of_circles(*circles):
    return [stage for stage in STAGES if stage.circle in circles]


def of_ci():
    """The stages that CI runs: the first two circles and one stage of the third."""
    turns = of_circles("turn")
    turn = int(git("rev-list", "--count", "HEAD"))
    mine, following = (turns[(turn + each) % len(turns)] for each in (0, 1))
    print(f"In turn (commit {turn}): {mine.name}; after the next commit: {following.name}")
    return [*of_circles("test", "ci"), mine]


def of_changes(commit):
    """The stages that the changes since a commit concern, except those of --full alone."""
    changed = {*git("diff", "--name-only", commit, "--").splitlines(),
               *git("ls-files", "--others", "--exclude-standard").splitlines()}
    return [stage for stage in of_circles("test", "ci", "turn")
            if any(file.startswith(path) for file in changed for path in stage.paths)]


def named(names):
    unknown = set(names) - {stage.name for stage in STAGES}
    if unknown:
        sys.exit(f"there is no stage {', '.join(sorted(unknown))}; ./test --list shows all")
    return [stage for stage in STAGES if stage.name in names]


def needed_builds(stages):
    """The builds that these stages need, each with the targets that any of them needs."""
    for each in BUILDS:
        targets = {target for stage in stages if each.preset in stage.builds
                   for target in stage.targets}
        if targets:
            yield replace(each, targets=("all",) if "all" in targets else tuple(sorted(targets)))


def install(report, packages):
    """Installs what stages need in addition to Debian's base.

    Returns the lists of packages.sh that could be installed.
    """
    installed = set()
    for packages_list in dict.fromkeys(packages):
        status, text = run(["bash", "-c", f". cmake/packages.sh && install_missing {packages_list}"])
        if status == 0:
            installed.add(packages_list)
        else:
            report.add_failure(
                f"{packages_list} cannot be installed (stages that need it do not run)", text)
    return installed


def run_stages(report, stages, latest, loops):
    builds = list(needed_builds(stages))
    installed = install(report, [each.packages for each in (*builds, *stages)])
    built = {}
    for stage in stages:
        for each in builds:
            if (each.preset in stage.builds and each.preset not in built
                    and each.packages in installed):
                built[each.preset] = timed(report, f"build of {each.preset}", each, latest, loops)
        if stage.packages in installed and all(built.get(preset) for preset in stage.builds):
            timed(report, stage.name, stage, latest, loops)


def timed(report, name, part, latest, loops):
    """Runs a build or a stage within its minutes and until `latest` at most.

    Ends all processes that it started.
    """
    print(f"— {name}", flush=True)
    begin, cases = time.monotonic(), report.cases
    Deadline.start(part.minutes, latest)
    result = False
    try:
        result = part.run(report)
    except TimeIsUp as up:
        report.add_failure(f"{name}: exceeded its time (limit: {part.minutes} minutes)", str(up))
    kill_children(spared=loops)
    Deadline.at = float("inf")
    taken = time.monotonic() - begin
    report.rows.append((name, taken, report.cases - cases))
    print(f"  {name}: {taken:.0f} s", flush=True)
    return result


def listed():
    circles = {"test": "./test", "ci": ".ci/run", "turn": ".ci/run, in turn", "full": "./test --full"}
    for stage in STAGES:
        print(f"{stage.name:<18} {circles[stage.circle]:<17} {stage.minutes:>3} min  {stage.tests}")
    for each in BUILDS:
        needed = " ".join(stage.name for stage in STAGES if each.preset in stage.builds)
        print(f"build of {each.preset:<27} {each.minutes:>3} min  for {needed}")


def options():
    parser = argparse.ArgumentParser(
        prog="./test", description="Installs what is missing (Debian, Ubuntu; as root or with sudo), "
        "builds, and runs the tests. The last line is “N passed, N failed”, and the exit status is 0 "
        "only if none failed.", epilog="example: ./test --stage programs command")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--list", action="store_true", help="list the stages with their limits")
    which.add_argument("--stage", nargs="+", metavar="NAME", help="run these stages")
    which.add_argument("--changed", nargs="?", const="HEAD", metavar="COMMIT",
                       help="run the stages that the changes since a commit concern (default: HEAD, "
                       "uncommitted changes)")
    which.add_argument("--ci", action="store_true", help="run what .ci/run runs")
    which.add_argument("--full", action="store_true", help="run all stages")
    parser.add_argument("--busy", action="store_true", help=f"run {BUSY_LOOPS} busy loops alongside the "
                        "tests; no test may fail because the machine is busy")
    return parser.parse_args()


def selected(chosen):
    if chosen.stage:
        return named(chosen.stage)
    if chosen.changed:
        return of_changes(chosen.changed)
    if chosen.ci:
        return of_ci()
    return list(STAGES) if chosen.full else of_circles("test")


def main():
    sys.stdout.reconfigure(line_buffering=True)
    chosen = options()
    if chosen.list:
        listed()
        return 0

    # When a signal ends this program, it first ends the processes that it started.
    def end(number, _frame):
        raise KeyboardInterrupt(f"signal {number}")

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    adopt_orphans()
    stages = selected(chosen)
    report = Report()
    begin = time.monotonic()
    latest = begin + CI_MINUTES * 60 if chosen.ci else float("inf")
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
             for _ in range(BUSY_LOOPS if chosen.busy else 0)]
    if loops:
        print(f"{len(loops)} busy loops run alongside the tests, on {JOBS} cores", flush=True)
    try:
        run_stages(report, stages, latest, loops)
    except KeyboardInterrupt:
        report.add_failure("interrupted")
    finally:
        kill_children()
    report.print_summary(time.monotonic() - begin)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
