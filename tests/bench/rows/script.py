# SPDX-License-Identifier: Apache-2.0
"""Nuwa Script."""

from .bench import median
from .row import Row

# Not a package of npm or PyPI, so it is not measured again here.
PEER_OF_SCRIPTS = "peer: the TypeScript interpreter of Nuwa Script, on a machine of this kind"


def script(bench):
    program = bench.program("script")
    rates = {what: [] for what in ("loop", "call", "parse", "compile")}
    session = {what: [] for what in ("none", "sink", "ordinary")}
    for _ in range(bench.rounds):
        for what, found in rates.items():
            found.append(bench.number(program, what) / 1e6)
        for what, found in session.items():
            found.append(bench.number(bench.program("script_calls"), what) / 1e6)
    waiting = bench.number(program, "waiting", 1000 if bench.quick else 10000)
    return [
        Row("script-loop", "Nuwa Script: 200,000 rounds of a nested FOR with four arithmetic "
            "operations and a LET", median(rates["loop"]), "M/s", peer="1.0 M/s", least=40,
            note=PEER_OF_SCRIPTS),
        Row("script-machine-call",
            "100,000 CALLs of a function by the interpreter alone, without a session",
            median(rates["call"]), "M/s"),
        Row("script-call", "100,000 CALLs of a synchronous tool of the host, with a schema, by "
            "nar_session_run_script", median(session["none"]), "M/s", peer="0.97 M/s", least=2,
            note=PEER_OF_SCRIPTS),
        Row("script-call-sink", "the same with a sink, which gets every record",
            median(session["sink"]), "M/s"),
        Row("script-call-ordinary", "the same with a tool that does not promise to end before it returns",
            median(session["ordinary"]), "M/s", least=1),
        Row("script-call-memory", "the same: memory for each CALL, until 8 MiB; then a file",
            bench.number(bench.program("script_calls"), "ordinary", "memory"), "bytes", most=100),
        Row("script-parse", "10 MB of script into the syntax tree", median(rates["parse"]), "MB/s",
            peer="2.2 MB/s", least=100, note=PEER_OF_SCRIPTS),
        Row("script-compile", "the same into a program", median(rates["compile"]), "MB/s"),
        Row("script-waiting", "10,000 scripts of ten lines that wait in a CALL: each, with its "
            "program", waiting / 1024, "KiB", most=8),
    ]
