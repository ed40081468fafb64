# SPDX-License-Identifier: Apache-2.0
"""Starting tools and reading their output."""

from .bench import median
from .row import Row


def spawn(bench):
    count = 300 if bench.quick else 2000
    plan = bench.plan(f"independent-{count}.json", bench.program("log_done"), count)
    rules = "".join(f"build t{i}: tool\n" for i in range(count))
    ninja = bench.file(f"build-{count}.ninja",
                       f"rule tool\n  command = {bench.program('log_done')}\n{rules}")
    targets = " ".join(f"t{i}" for i in range(count))
    makefile = bench.file(f"Makefile-{count}",
                          f"all: {targets}\n.PHONY: all {targets}\n{targets}:\n"
                          f"\t@{bench.program('log_done')}\n")
    results = bench.in_turn(
        lambda: bench.document(bench.program("run_plan"), plan, "--jobs", "2")["seconds"],
        lambda: bench.number(bench.program("spawn_loop"), count, "2", bench.program("log_done")),
        lambda: bench.document(bench.program("run_plan"), plan, "--jobs", "2",
                               "--resident-mb", "1024")["seconds"],
        lambda: bench.seconds("ninja", "-f", ninja, "-j2"),
        lambda: bench.seconds("make", "-s", "-f", makefile, "-j2"))
    rate = [f"{count / median(column):.0f} tools/s" for column in zip(*results)]
    ratio = lambda peer, ours: median(row[peer] / row[ours] for row in results)
    return [
        Row("spawn", f"{count:,} independent tools, 2 at a time, against a bare "
            "`posix_spawn` and pipe loop", ratio(1, 0), "×", rate[0], rate[1],
            least=0.90),
        Row("spawn-1gb", "the same with 1 GB resident in the host", ratio(1, 2), "×", rate[2],
            rate[1], least=0.80),
        Row("spawn-ninja", "the same against ninja -j2", ratio(3, 0), "×", rate[0], rate[3]),
        Row("spawn-make", "the same against make -j2", ratio(4, 0), "×", rate[0], rate[4]),
    ]


def chain(bench):
    count = 200 if bench.quick else 1000
    rows = []
    for program in ("log_done", "log_done_nolibc"):
        if not bench.program(program).exists():
            print(f"  {program} is not built on this processor; its row is left out")
            continue
        plan = bench.plan(f"chain-{program}-{count}.json", bench.program(program), count, chain=True)
        results = bench.in_turn(
            lambda: bench.document(bench.program("run_plan"), plan, "--jobs", "2")["seconds"],
            lambda: bench.number(bench.program("spawn_loop"), count, "1", bench.program(program)))
        each = [f"{median(column) / count * 1e6:.0f} µs" for column in zip(*results)]
        if program == "log_done":
            rows.append(Row("chain", f"a chain of {count:,} tools against a sequential loop",
                            median(peer / ours for ours, peer in results), "×", each[0], each[1],
                            least=0.85))
        else:
            rows.append(Row("chain-nolibc",
                            "the same with a tool without libc: added time per tool",
                            median((ours - peer) / count * 1e6 for ours, peer in results), "µs",
                            each[0], each[1], most=80))
    return rows


def sandbox(bench):
    """A chain of a small C tool with and without guarantees, measured in the same run."""
    count = 200 if bench.quick else 1000
    plan = bench.plan(f"chain-log_done-{count}.json", bench.program("log_done"), count, chain=True)
    guarantees = ("none", "all", "no_network", "no_filesystem_write", "no_filesystem_read",
                  "no_subprocess")
    options = [[] if each == "none" else ["--sandbox", each] for each in guarantees]
    results = bench.in_turn(*[
        lambda option=option: bench.document(bench.program("run_plan"), plan, "--jobs", "2",
                                             *option)["seconds"] / count * 1e3
        for option in options])
    column = list(zip(*results))
    more = [median(row[i] - row[0] for row in results) for i in range(len(guarantees))]
    singles = ", ".join(f"`{name}` {value:.2f} ms"
                        for name, value in zip(guarantees[2:], more[2:]))
    return [Row("sandbox", f"a chain of {count:,} tools in C with all guarantees against the same "
                "without: added time per tool", more[1], "ms", f"{median(column[1]):.2f} ms",
                f"{median(column[0]):.2f} ms", most=0.6, note=f"one guarantee: {singles}")]


def many(bench):
    ticks = 60 if bench.quick else 120
    runs = [bench.document(bench.program("many_tools"), bench.program("every_100_ms"), "1000", ticks)
            for _ in range(1 if bench.quick else 3)]
    worst = max(run["latestMs"] for run in runs)
    note = (f"{sum(run['judged'] for run in runs):,} events, 99.9 % within "
            f"{max(run['p999Ms'] for run in runs):.1f} ms; while all were started, "
            f"{median(run['startSeconds'] for run in runs):.1f} s, within "
            f"{max(run['latestWhileStartingMs'] for run in runs):.0f} ms")
    return [
        Row("many",
            "1,000 tools at once that each print an event every 100 ms: the maximum latency",
            worst, "ms", most=50, note=note),
        Row("many-memory", "the same: the host's memory per tool",
            median(run["bytesPerTool"] for run in runs) / 1024, "KiB", most=64),
    ]


def million(bench):
    tool = bench.program("million_logs")
    plan = bench.plan("million.json", tool, 1)
    result = bench.work / "million-result.json"
    runs = [bench.document(bench.program("run_plan"), plan, "--result", result)
            for _ in range(2 if bench.quick else bench.rounds)]
    result.unlink()
    if any(run["toolEvents"] != 1000001 for run in runs):
        raise RuntimeError(f"events are missing: {runs}")
    return [Row("million", "one million log events from one tool: the host's memory over its start",
                max(run["grownBytes"] for run in runs) / 1e6, "MB", most=32,
                note=f"{1 / median(run['seconds'] for run in runs):.2f} M events/s, result written")]


def command(bench):
    count = 30 if bench.quick else 100
    plan = bench.plan("one.json", bench.program("log_done"), 1)
    timer = bench.program("command_time")
    results = bench.in_turn(
        lambda: bench.number(timer, count, bench.build / "bin/narratoria", "run", plan, "--quiet"),
        lambda: bench.number(timer, count, bench.program("log_done")))
    each = [f"{median(column) * 1e3:.2f} ms" for column in zip(*results)]
    return [Row("command", "`narratoria run` of a one-tool plan, start to exit, over the tool itself",
                median((ours - peer) * 1e3 for ours, peer in results), "ms", each[0], each[1],
                most=12)]
