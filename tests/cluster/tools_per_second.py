#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools_per_second.py [COUNT]: the rate of short tools in one plan on a cluster of two nodes that are
daemons of this machine, against a shell that calls srun COUNT times in the same kind of allocation, and
against the same plan on this machine. Prints JSON."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import conftest  # noqa: E402,F401
from cluster import Cluster  # noqa: E402

import narratoria  # noqa: E402

ALLOCATION = ["--nodes=2", "--ntasks=8"]
DONE = """#!/bin/sh\necho '{"version":"0","type":"done","ok":true}'\n"""


def play(folder, cluster, path, count, at_once):
    plan = {"parallel": True, "tools": [{"toolId": f"t{i}", "toolPath": path, "async": True} for i in range(count)]}
    (folder / "prompts.json").write_text(json.dumps({"prompts": [{"patterns": ["go"], "answers": [{"plan": plan}]}]}))
    (folder / "story.toml").write_text(
        'title = "Rate"\n[times]\nprompt_ms = 0\nplan_ms = 0\n[plugins."narratoria.slurm"]\n'
        f'allocation = {json.dumps(ALLOCATION)}\noptions = ["--mem-per-cpu=50"]\nat_once = {at_once}\n')
    with narratoria.Session(story=folder, environment={"SLURM_CONF": str(cluster.configuration)}) as session:
        begin = time.perf_counter()
        turn = session.play("go")
        seconds = time.perf_counter() - begin
    assert turn.generations == 1 and turn.outcome == "completed", turn
    return count / seconds


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory(prefix="cluster-") as of_cluster, Cluster(of_cluster) as cluster, \
            tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "tools").mkdir()
        tool = folder / "tools/tool"
        tool.write_text(DONE)
        tool.chmod(0o755)
        loop = f"for i in $(seq {count}); do srun --exact -N1 -n1 --mem-per-cpu=50 {tool} </dev/null >/dev/null; done"
        begin = time.perf_counter()
        subprocess.run(["salloc", "--quiet", *ALLOCATION, "sh", "-c", loop], env=cluster.environment, check=True,
                       stderr=subprocess.DEVNULL)
        rates = {"srun in a loop": count / (time.perf_counter() - begin)}
        for at_once in (1, 8, 16, 50):
            rates[f"one plan, at_once = {at_once}"] = play(folder, cluster, "slurm:tools/tool", count, at_once)
        rates["one plan, on this machine"] = play(folder, cluster, "tools/tool", count, 1)
        print(json.dumps({name: round(rate, 1) for name, rate in rates.items()}, indent=1))


if __name__ == "__main__":
    main()
