# SPDX-License-Identifier: Apache-2.0
"""Hosts, tools and parts of the cluster end at random moments: nothing may be left on it.

NARRATORIA_CHAOS_ROUNDS sets the number of rounds.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROUNDS = int(os.environ.get("NARRATORIA_CHAOS_ROUNDS", "20"))
MARK = "narratoria-chaos-tool"
HOST = """
import narratoria, signal, sys
session = narratoria.Session(story=sys.argv[1], environment={"SLURM_CONF": sys.argv[2]})
signal.signal(signal.SIGTERM, lambda *_: session.cancel())
print("ready", flush=True)
print(session.play("go").outcome)
session.close()
"""


def processes(holds):
    """The ids of the processes for whose command line and environment `holds` is true."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if holds(command, environment):
            found.append(int(folder.name))
    return found


def kill_one(chance, candidates):
    if candidates:
        try:
            os.kill(chance.choice(candidates), signal.SIGKILL)
        except ProcessLookupError:
            pass


def step_daemons(cluster):
    return processes(lambda command, environment: command.startswith("slurmstepd")
                     and str(cluster.folder) in environment)


def act(what, chance, host, cluster):
    node = chance.choice(cluster.nodes)
    if what == "cancel":
        host.terminate()
    elif what == "kill the host":
        host.kill()
    elif what == "kill a step":
        kill_one(chance, step_daemons(cluster))
    elif what == "kill a node":
        cluster.daemons[node].kill()
        cluster.daemons[node].wait()
        cluster.start_node(node)
    elif what == "drain a node":
        for state in ("drain", "resume"):
            subprocess.run(["scontrol", "update", f"nodename={node}", f"state={state}", "reason=test"],
                           env=cluster.environment, capture_output=True)


@pytest.mark.parametrize("allocation", ['allocation = ["--nodes=2", "--ntasks=8"]', ""], ids=["steps", "jobs"])
def test_nothing_is_left_after_chaos(cluster, tmp_path, allocation):
    (tmp_path / "tools").mkdir()
    tool = tmp_path / "tools" / MARK
    tool.write_text("#!/bin/sh\nread -r request\nsleep 0.$(($$ % 8 + 1))\n"
                    """echo '{"version":"0","type":"log","level":"info","message":"here"}'\n"""
                    "sleep 0.$(($$ % 5 + 1))\n"
                    """echo '{"version":"0","type":"done","ok":true}'\n""")
    tool.chmod(0o755)
    plan = {"parallel": True, "tools": [{"toolId": f"t{i}", "toolPath": f"slurm:tools/{MARK}", "async": True}
                                        for i in range(6)]}
    (tmp_path / "prompts.json").write_text(json.dumps({"prompts": [{"patterns": ["go"], "answers": [{"plan": plan}]}]}))
    (tmp_path / "story.toml").write_text(
        f'title = "Chaos"\n[plugins."narratoria.slurm"]\nlease = 3\noptions = ["--mem-per-cpu=50"]\n{allocation}\n')
    seed = int(os.environ.get("NARRATORIA_CHAOS_SEED", time.time_ns() % 1_000_000))
    chance = random.Random(seed)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for number in range(ROUNDS // 2):
        what = "nothing" if number == 0 else chance.choice(
            ["cancel", "kill the host", "kill a step", "kill a node", "drain a node", "nothing"])
        where = f"round {number} of seed {seed}: {what}"
        host = subprocess.Popen([sys.executable, "-c", HOST, tmp_path, cluster.configuration],
                                env=environment, stdout=subprocess.PIPE, text=True)
        assert host.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 2))
        act(what, chance, host, cluster)
        outcome, _ = host.communicate(timeout=60)
        assert what != "nothing" or outcome == "completed\n", where
        cluster.wait_for(f"an empty queue after {where}", lambda: cluster.jobs() == [], deadline=30)
        cluster.wait_for(f"the end of all processes after {where}", lambda: not processes(
            lambda command, given: MARK in command or command.startswith(("srun ", "sbatch ", "scancel "))
            and str(cluster.folder) in given), deadline=30)
        cluster.wait_for(f"the nodes after {where}",
                         lambda: all(state in ("idle", "idle*") for state in cluster.states().values()))
