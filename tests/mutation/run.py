#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes runtime/ in small ways, one at a time, and lists the changes that no test notices.

    tests/mutation/run.py                        the named mutants and 200 others
    tests/mutation/run.py --count 20 --seed 7    fewer mutants, and different ones
    tests/mutation/run.py --only runtime/plan    mutants of one folder or file
    tests/mutation/run.py --list                 prints the mutants and runs none
    tests/mutation/run.py --minutes 30           starts no mutant after half an hour
    tests/mutation/run.py --sources              no mutants of headers; each of them takes minutes
    tests/mutation/run.py --write                also writes docs/mutations.md
    tests/mutation/run.py --add                  adds to the numbers and rows of docs/mutations.md
    tests/mutation/run.py --judge                runs none; recounts the reasons on the page
    tests/mutation/run.py --again --write        retries the mutants on docs/mutations.md after tests
                                                 were added; removes those that are noticed

Each mutant is compiled in a copy of the tree (build/mutation). The unit tests of its file run first,
then those of its folder. If they pass, the unit tests of the folders above it, the conformance
tests, and the tests with the shared library and its processes (sdk, fault, plugin, hostile) run. A
mutant survives if all pass. A test that hangs is ended and counts as a failure. A survivor shows a
gap in the tests, or it changes nothing that can be observed; docs/mutations.md has a column for the
reason, which later runs keep. A reason begins with one of REASONS, or with "tested:" if a test has
been added since; --judge then removes the row.

Ctrl-C and SIGTERM end the run and every process of it, restore the copy, and report what was tried.
"""

import argparse
import ctypes
import datetime
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
WORK = TREE / "build" / "mutation"
# The tests are built with the options of the tree, so that a compiler cache has them. The runtime
# is built with those of quick_build.cmake.
COPY, BUILD = WORK / "tree", WORK / "tree" / "build" / "release"
TABLE = TREE / "docs" / "mutations.md"
# {folder of runtime/: folders of tests/unit with tests that run it}
SUITES = {
    "base": ["base", "event", "state", "plan"],
    "event": ["event", "tool", "plan"],
    "state": ["state", "plan"],
    "asset": ["asset", "session"],
    "process": ["process", "tool"],
    "tool": ["tool", "plan"],
    "plan": ["plan", "session"],
    "plugin": ["plugin", "session"],
    "script": ["script", "session"],
    "engine": ["session", "api"],
    "session": ["session", "api"],
    "api": ["api"],
}
CONFORMANCE = "narratoria_conformance_tests"
# Slow, so only mutants that survive the other tests get here.
WIDER = ["narratoria_sdk_tests", "narratoria_fault_tests", "narratoria_plugin_tests",
         "narratoria_hostile_tests"]
UNIT = "narratoria_unit_tests"
# The number of processes that share the tests of a program. These tests mostly wait.
SHARDS = {"narratoria_plugin_tests": 4, "narratoria_hostile_tests": 4}
KINDS = "killed", "timeout", "survived", "no code"
# {beginning of a reason: what the page says about survivors with this reason}
REASONS = {
    "equivalent:": "change nothing that a test could observe",
    "noticed elsewhere:": "are noticed by tests that do not run here, which the reason names",
}
# The time limit of a run: SLOWER times its time without a mutant, and at least LEAST_SECONDS.
SLOWER, LEAST_SECONDS = 10, 20


@dataclass(frozen=True)
class Mutant:
    file: str      # relative to the tree
    line: int      # from 1
    operator: str
    before: str    # the line
    after: str

    @property
    def key(self):
        """Stays the same when lines move."""
        return self.file, self.operator, self.before.strip(), self.after.strip()


# Mutants from a review of the tests, always tried first: (file, what it does, text, replacement).
NAMED = [
    ("runtime/plan/schedule.cpp", "backoff grows by 4",
     "std::min(item.attempt - 1, 20u)", "std::min(2 * (item.attempt - 1), 20u)"),
    ("runtime/engine/engine.cpp", "affinity mask ignored",
     "if (sched_getaffinity(0, sizeof set, &set) == 0) {",
     "if (false && sched_getaffinity(0, sizeof set, &set) == 0) {"),
    ("runtime/session/turn.cpp", "prompt timestamp constant",
     '.string("timestamp", clock::to_iso8601(submitted_us_))',
     '.string("timestamp", clock::to_iso8601(0))'),
    ("runtime/session/turn.cpp", "parentPlanId stays the first plan's",
     "parent_plan_id_ = result_->plan_id;",
     "if (parent_plan_id_.empty()) parent_plan_id_ = result_->plan_id;"),
    ("runtime/engine/engine.hpp", "default time of an attempt times 10",
     "uint32_t try_ms = 30000;", "uint32_t try_ms = 300000;"),
    ("runtime/engine/engine.hpp", "default time of a plan times 10",
     "uint32_t plan_ms = 60000;", "uint32_t plan_ms = 600000;"),
    ("runtime/engine/engine.hpp", "default time of a narrator times 10",
     "uint32_t narrator_ms = 5000;", "uint32_t narrator_ms = 50000;"),
    ("runtime/engine/engine.hpp", "default time of a prompt times 10",
     "uint32_t prompt_ms = 300000;", "uint32_t prompt_ms = 3000000;"),
    ("runtime/tool/runner/stream_attempt.cpp", "status of a TERM handler counts",
     "if (outcome.exit_status > 0 && !our_death) {", "if (outcome.exit_status > 0) {"),
]

# (operator, pattern, replacement). The spaces around a binary operator distinguish it from template
# brackets, arrows and shifts.
OPERATORS = [
    ("== to !=", r" == ", " != "),
    ("!= to ==", r" != ", " == "),
    ("< to <=", r" < ", " <= "),
    ("<= to <", r" <= ", " < "),
    ("> to >=", r" > ", " >= "),
    (">= to >", r" >= ", " > "),
    ("&& to ||", r" && ", " || "),
    ("|| to &&", r" \|\| ", " && "),
    ("+ to -", r" \+ ", " - "),
    ("- to +", r" - ", " + "),
    ("++ to --", r"\+\+(?=\w)", "--"),
    ("min to max", r"std::min\b", "std::max"),
    ("max to min", r"std::max\b", "std::min"),
    ("true to false", r"\breturn true;", "return false;"),
    ("false to true", r"\breturn false;", "return true;"),
    ("constant + 1", r"(?<![\w.\"'<])(\d+)(?=[;),]| \* )", lambda found: str(int(found[1]) + 1)),
    ("condition negated", r"\b(if|while) \((.+)\) (\{|return|continue|break)",
     lambda found: f"{found[1]} (!({found[2]})) {found[3]}"),
    # A call or an assignment on one line that does not begin with the type of a declaration.
    ("statement dropped", r"^(\s+)(?!return|throw|break|continue|case|default|using|delete|else)"
     r"[\w.:>*()\[\]-]+(\(.*\)| [-+|&]?= .*|\+\+|--);$", r"\1;"),
]


def code_lines(text):
    """Yields (number, line) without comments, preprocessor lines and lines with a raw string."""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare or bare.startswith(("//", "#", "*", "/*", "static_assert", "template")):
            continue
        if 'R"' in line or "asm" in line:
            continue
        yield number, line


def outside_strings(line, position):
    """True if a position is code, and not in a string, a character literal or a comment."""
    quoted = None
    at = 0
    while at < position:
        if quoted is None and line[at] in "\"'" and not (line[at] == "'" and line[at - 1].isdigit()):
            quoted = line[at]
        elif quoted is not None and line[at] == "\\":
            at += 1
        elif line[at] == quoted:
            quoted = None
        elif quoted is None and line.startswith("//", at):
            return False
        at += 1
    return quoted is None


def generated(only):
    for path in sorted((TREE / "runtime").rglob("*.[ch]pp")):
        name = path.relative_to(TREE).as_posix()
        if only and not name.startswith(only):
            continue
        for number, line in code_lines(path.read_text(encoding="utf-8")):
            for operator, pattern, replacement in OPERATORS:
                for found in re.finditer(pattern, line):
                    if not outside_strings(line, found.start()):
                        continue
                    new = replacement(found) if callable(replacement) else found.expand(replacement)
                    after = line[:found.start()] + new + line[found.end():]
                    yield Mutant(name, number, operator, line, after)


def named(only):
    for file, operator, text, replacement in NAMED:
        if only and not file.startswith(only):
            continue
        lines = (TREE / file).read_text(encoding="utf-8").splitlines()
        found = [(number, line) for number, line in enumerate(lines, 1) if text in line]
        if len(found) != 1:
            sys.exit(f"{file}: the mutant \"{operator}\" needs one line with: {text}")
        number, line = found[0]
        yield Mutant(file, number, operator, line, line.replace(text, replacement))


# ---------------------------------------------------------------- running

def become_subreaper():
    """Makes orphans of tests children of this process, so that end_leftovers() finds them."""
    PR_SET_CHILD_SUBREAPER = 36
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("this system has no subreapers (prctl); leftover processes could not be ended")


def end_leftovers():
    while True:
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        if not children:
            return
        for child in children:
            os.kill(int(child), signal.SIGKILL)
            try:
                os.waitpid(int(child), 0)
            except ChildProcessError:
                pass


def start(program, suites, shard=0, shards=1):
    environment = {**os.environ, "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)}
    return subprocess.Popen([str(BUILD / "tests" / program), filter_of(suites), "--gtest_brief=1",
                             "--gtest_fail_fast"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment,
                            stdin=subprocess.DEVNULL, cwd=BUILD, start_new_session=True)


def run(stage, seconds):
    """Runs the programs of a stage in parallel; returns "passed", "failed" or "timeout".

    Ends all their processes before it returns.
    """
    end = time.monotonic() + seconds
    processes = [start(program, suites, shard, SHARDS.get(program, 1)) for program, suites in stage
                 for shard in range(SHARDS.get(program, 1))]
    try:
        while time.monotonic() < end:
            ends = [process.poll() for process in processes]
            if any(ends):
                return "failed"
            if None not in ends:
                return "passed"
            time.sleep(0.05)
        return "timeout"
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        end_leftovers()


def build(*targets):
    done = subprocess.run(["cmake", "--build", str(BUILD), "--target", *targets],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0, done.stdout


def suites_in(files):
    names = set()
    for file in files:
        names.update(re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+)", file.read_text(), re.M))
    return frozenset(names)


def filter_of(suites):
    """The filter for these suites; for all tests if there are none."""
    names = [f"{name}.*:*/{name}.*" for name in sorted(suites)]
    return "--gtest_filter=" + (":".join(names) or "*")


def stages_of(file):
    """The stages of a file, as (run, timed) pairs of programs with their suites.

    `run` is what the stage runs; the time of `timed` without a mutant sets the limit. No suite runs
    twice.
    """
    own = Path(file).relative_to("runtime").with_suffix("")
    unit = COPY / "tests/unit"
    first, *above = [suites_in((unit / folder).rglob("*_test.cpp")) for folder in SUITES[own.parts[0]]]
    its = suites_in([unit / f"{own}_test.cpp"] if (unit / f"{own}_test.cpp").exists() else [])
    others = frozenset().union(*above) - first
    whole = ((UNIT, first),)
    wider = tuple((program, frozenset()) for program in [CONFORMANCE, *WIDER])
    last = (*([(UNIT, others)] if others else []), *wider)
    stages = [(((UNIT, its),), whole), (((UNIT, first - its),), whole)]
    return [stage for stage in stages if stage[0][0][1]] + [(last, wider)]


def synchronize():
    """Copies the files that git tracks or would add.

    Unchanged files keep their times, so that only changes are rebuilt.
    """
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=TREE, check=True, capture_output=True, text=True).stdout
    names = {name for name in listed.split("\0") if name and (TREE / name).is_file()}
    for file in COPY.rglob("*"):
        name = file.relative_to(COPY).as_posix()
        if file.is_file() and name not in names and not name.startswith("build/"):
            file.unlink()
    for name in names:
        source, target = TREE / name, COPY / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            # The copy gets a new time, because an object of a mutant may be newer than the tree's
            # file.
            shutil.copy(source, target)


class Runner:
    def __init__(self):
        self.limits = {}

    def prepare(self):
        COPY.mkdir(parents=True, exist_ok=True)
        synchronize()
        if not (BUILD / "build.ninja").exists():
            subprocess.run(["cmake", "--preset", "release", "-DNARRATORIA_PYTHON=OFF",
                            f"-DCMAKE_PROJECT_INCLUDE={COPY}/tests/mutation/quick_build.cmake"],
                           cwd=COPY, check=True, stdout=subprocess.DEVNULL)
        fine, said = build(UNIT, CONFORMANCE, *WIDER)
        if not fine:
            sys.exit(f"the tree does not build without a mutant:\n{said[-3000:]}")

    def limit_of(self, stage):
        if stage not in self.limits:
            begin = time.monotonic()
            if run(stage, 3600) != "passed":
                sys.exit("without a mutant some of these tests fail: " +
                         ", ".join(f"{program} {filter_of(suites)}" for program, suites in stage))
            self.limits[stage] = max(LEAST_SECONDS, SLOWER * (time.monotonic() - begin))
        return self.limits[stage]

    def try_one(self, mutant):
        """Returns "killed", "timeout", "survived", or "no code" if the mutant does not compile."""
        stages = stages_of(mutant.file)
        limits = [self.limit_of(whole) for _, whole in stages]
        target = COPY / mutant.file
        original = target.read_bytes()
        lines = original.decode().splitlines(keepends=True)
        if lines[mutant.line - 1].rstrip("\n") != mutant.before:
            sys.exit(f"{target} differs from the tree; remove {WORK}")
        lines[mutant.line - 1] = mutant.after + "\n"
        try:
            target.write_text("".join(lines), encoding="utf-8")
            built = set()
            for (stage, _), limit in zip(stages, limits):
                programs = {program for program, _ in stage}
                if not programs <= built and not build(*programs)[0]:
                    return "no code"
                built |= programs
                outcome = run(stage, limit)
                if outcome != "passed":
                    return "timeout" if outcome == "timeout" else "killed"
            return "survived"
        finally:
            target.write_bytes(original)


# ---------------------------------------------------------------- the table

HEAD = """# Mutations

[`tests/mutation/run.py`](../tests/mutation/run.py) changes one place of the C++ code in `runtime/` at a time and runs the unit
tests that cover it, then the conformance tests and those of `tests/sdk`, `tests/fault`, `tests/plugin` and `tests/hostile`. Other
tests (`tests/cli`, `tests/python`, the sanitizers) do not run. The program writes this page and keeps the reasons.

{totals}

{verdict}
{last}"""

TOTALS = "{tried} changes compiled. Tests noticed {noticed} of them ({by_time} by a time limit)."

SURVIVORS = """
No test that runs here noticed these changes:

| place | change | line | becomes | reason |
|---|---|---|---|---|
"""


def cell(text):
    return "`" + text.strip().replace("|", "\\|").replace("`", "'") + "`"


def reasons_kept():
    """The reasons on the page: {(file, operator, line, becomes) as in its cells: reason}."""
    kept = {}
    if not TABLE.exists():
        return kept
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        cells = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[0].startswith("["):
            place = re.match(r"\[`([^`]+):\d+`\]", cells[0])
            kept[(place[1], cells[1], cells[2], cells[3])] = cells[4]
    return kept


def entry_of(mutant):
    return mutant.file, mutant.operator.replace("|", "\\|"), cell(mutant.before), cell(mutant.after)


def counts_of(outcomes):
    """Returns (tried, noticed by a time limit)."""
    seen = list(outcomes.values())
    return len(seen) - seen.count("no code"), seen.count("timeout")


def counts_kept():
    pattern = re.escape(TOTALS).replace(r"\{", "{").replace(r"\}", "}")
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>\\d+)", pattern)
    found = re.search(pattern, TABLE.read_text(encoding="utf-8"))
    return int(found["tried"]), int(found["by_time"])


def last_kept():
    found = re.search(r"^The last run: .*$", TABLE.read_text(encoding="utf-8"), re.M)
    return found[0] + "\n" if found else ""


def rows_kept():
    """The rows of the page, as ((file, line), row), in order."""
    rows = []
    for line in TABLE.read_text(encoding="utf-8").splitlines(keepends=True):
        place = re.match(r"\| \[`([^`]+):(\d+)`\]", line)
        if place:
            rows.append(((place[1], int(place[2])), line))
    return rows


def verdict_of(tried, reasons):
    """The sentences that count the changes that still lack a test."""
    numbers = {begin: sum(reason.startswith(begin) for reason in reasons) for begin in REASONS}
    left = len(reasons) - sum(numbers.values())
    observable = tried - numbers["equivalent:"]
    parts = [f"{number} {REASONS[begin]}" for begin, number in numbers.items() if number]
    return (f"Of the {len(reasons)} others, " + "; ".join(parts) + f". **Left without a test: {left}, which is "
            f"{100 * left / max(observable, 1):.1f} % of the {observable} that can be observed.**")


def write_page(counts, last, rows):
    """Writes the page without the rows for which a test has been added."""
    reason_of = lambda row: re.split(r"(?<!\\)\|", row)[5].strip()
    lines = [row for _, row in sorted(rows) if not reason_of(row).startswith("tested:")]
    tried, by_time = counts
    totals = TOTALS.format(tried=tried, noticed=tried - len(lines), by_time=by_time)
    TABLE.write_text(HEAD.format(totals=totals, verdict=verdict_of(tried, [reason_of(row) for row in lines]),
                                 last=last) + (SURVIVORS + "".join(lines) if lines else ""), encoding="utf-8")


def write_table(survivors, counts, last, rows=()):
    kept = reasons_kept()
    new = []
    for mutant in survivors:
        entry = entry_of(mutant)
        row = (f"| [`{mutant.file}:{mutant.line}`](../{mutant.file}) | {entry[1]} | {entry[2]} | {entry[3]} | "
               f"{kept.get(entry, '')} |\n")
        new.append(((mutant.file, mutant.line), row))
    write_page(counts, last, [*rows, *new])


def try_all(mutants, minutes, outcomes):
    """Adds to `outcomes` after each mutant, so that an interrupted run has a result."""
    runner = Runner()
    runner.prepare()
    end = time.monotonic() + 60 * minutes if minutes is not None else float("inf")
    for position, mutant in enumerate(mutants, 1):
        if time.monotonic() > end:
            break
        outcome = outcomes[mutant] = runner.try_one(mutant)
        print(f"[{position}/{len(mutants)}] {outcome}: {mutant.file}:{mutant.line}: {mutant.operator}",
              flush=True)
        if outcome == "survived":
            print(f"-{mutant.before}\n+{mutant.after}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="generated mutants (default 200)")
    parser.add_argument("--seed", type=int, default=1, help="selects different ones (default 1)")
    parser.add_argument("--minutes", type=float, help="start no mutant after this time")
    parser.add_argument("--only", default="", help="a folder or file, such as runtime/plan")
    parser.add_argument("--without-named", action="store_true", help="only generated mutants")
    parser.add_argument("--again", action="store_true", help="retry those that docs/mutations.md lists")
    parser.add_argument("--list", action="store_true", help="print the mutants and run none")
    parser.add_argument("--write", action="store_true", help="write docs/mutations.md")
    parser.add_argument("--sources", action="store_true", help="no mutants of headers")
    parser.add_argument("--add", action="store_true", help="add to docs/mutations.md")
    parser.add_argument("--judge", action="store_true", help="recount the reasons of docs/mutations.md")
    options = parser.parse_args()
    if options.judge:
        write_page(counts_kept(), last_kept(), rows_kept())
        return

    every = [mutant for mutant in generated(options.only)
             if mutant.file.endswith(".cpp") or not options.sources]
    chosen = random.Random(options.seed).sample(every, min(options.count, len(every)))
    mutants = ([] if options.without_named else list(named(options.only))) + chosen
    if options.again:
        listed = reasons_kept()
        mutants = list({entry_of(mutant): mutant for mutant in [*named(options.only), *every]
                        if entry_of(mutant) in listed}.values())
    if options.list:
        for mutant in mutants:
            print(f"{mutant.file}:{mutant.line}: {mutant.operator}\n-{mutant.before}\n+{mutant.after}")
        print(f"{len(mutants)} mutants, chosen from {len(every)}")
        return
    become_subreaper()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    outcomes = {}
    try:
        try_all(mutants, options.minutes, outcomes)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    finally:
        end_leftovers()
    counts = {kind: list(outcomes.values()).count(kind) for kind in KINDS}
    command = shlex.join(["tests/mutation/run.py", *sys.argv[1:]])
    possible = len(every) + len(list(named(options.only)))
    tried = len(outcomes) - counts["no code"]
    summary = (f"On {datetime.date.today()}, `{command}` tried {len(outcomes)} of the {possible} changes "
               f"that it can make; {counts['no code']} of them did not compile. Of the other {tried}, "
               f"tests noticed {counts['killed'] + counts['timeout']} ({counts['timeout']} by their time "
               f"limit) and did not notice {counts['survived']}.")
    survivors = [mutant for mutant, outcome in outcomes.items() if outcome == "survived"]
    if options.again:
        summary = (f"After tests were added, `{command}` tried {tried} of the {len(listed)} unnoticed ones "
                   f"again; tests noticed {tried - counts['survived']} of them then.")
    print(summary)
    last = f"The last run: `{command}` on {datetime.date.today()}.\n"
    counts = counts_of(outcomes)
    if options.add and outcomes:
        counts = tuple(before + now for before, now in zip(counts_kept(), counts))
        write_table(survivors, counts, last, rows_kept())
    elif options.write and outcomes:
        if options.again:
            left = [mutant for mutant in mutants if mutant not in outcomes]
            tried, by_time = counts_kept()
            write_table(survivors + left, (tried, by_time + counts[1]), last)
        else:
            write_table(survivors, counts, last)


if __name__ == "__main__":
    main()
