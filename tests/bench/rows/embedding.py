# SPDX-License-Identifier: Apache-2.0
"""A host with its own loop."""

from .bench import TREE, median
from .row import Row


def embedding(bench):
    """Engines and sessions that do nothing."""
    story = TREE / "examples/stories/torch"
    runs = []
    for number in range(bench.rounds):
        folder = bench.work / f"embedding-{number}"
        folder.mkdir(exist_ok=True)
        runs.append(bench.document(bench.program("embedding"), story, folder,
                                   100_000 if bench.quick else 1_000_000))
    one = runs[0]

    def row(key, what, name, note):
        return Row(key, f"{what}: memory", median(run[name]["kib"] for run in runs), "KiB",
                   note=f"created in {median(run[name]['us'] for run in runs):.0f} µs; {note}")

    return [
        row("engine", "an engine", "engine",
            f"{one['engine']['descriptors']:.0f} descriptors and no thread; {one['descriptors_after_a_tool']} "
            "more descriptors after its first tool"),
        row("session", "a session without a story", "session", "no descriptor"),
        row("session-story", "a session with the story torch", "story_session",
            "no descriptor; with a store, "
            f"{one['store_session']['descriptors']:.0f} descriptors a session and "
            f"{one['threads_of_a_store']} thread in the process, and "
            f"{median(run['store_session']['us'] for run in runs) / 1e3:.1f} ms for a new one"),
        Row("frame-idle", "`nar_engine_run_for` with a budget of 0 and nothing to do",
            median(run["frame_ns"] for run in runs), "ns",
            note=f"with 2,000 sessions {median(run['frame_2000_sessions_ns'] for run in runs):.0f} ns"),
        Row("turn", "a turn of a story that reads three values of the state, sets two and applies a rule, with "
            "a state of 16 MiB against one of 16 KiB",
            median(run["turn_16_mib_us"] / run["turn_us"] for run in runs), "×",
            f"{median(run['turn_16_mib_us'] for run in runs):.0f} µs",
            f"{median(run['turn_us'] for run in runs):.0f} µs", most=1.5),
    ]


def frame(bench):
    return [frame_row(bench, "frame", ""), frame_row(bench, "frame-store", ", in a session with a store",
                                                     "500", bench.work / "frames.db")]


def frame_row(bench, name, where, *options):
    for file in bench.work.glob("frames.db*"):
        file.unlink()
    run = bench.document(bench.program("frame_loop"), bench.program("long_lines"), "16",
                         "5" if bench.quick else "20", *options)
    note = (f"preempted calls excluded, {run['preempted']} of "
            f"{run['frames']}; 99.9 % within {run['undisturbedP999Us'] / 1e3:.2f} ms; "
            f"all calls: wall {run['wallLongestUs'] / 1e3:.2f} ms, 99.9 % "
            f"{run['wallP999Us'] / 1e3:.2f} ms; processor time {run['processorLongestUs'] / 1e3:.2f} ms, "
            f"99.9 % {run['processorP999Us'] / 1e3:.2f} ms, median "
            f"{run['processorMedianUs'] / 1e3:.2f} ms; while the tools were started "
            f"{run['startingLongestUs'] / 1e3:.2f} ms")
    if run["preempted"] == run["frames"]:
        # No call was undisturbed, so only the processor time can be judged.
        longest, note = run["processorLongestUs"], "by processor time; " + note
    else:
        longest = run["undisturbedLongestUs"]
    return Row(name, f"a frame loop at 60 Hz, 16 tools writing lines of up to 64 KiB{where}: the longest "
               "time inside a run call with a budget of 500 µs", longest / 1e3, "ms", most=1.0, note=note)
