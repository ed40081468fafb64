# SPDX-License-Identifier: Apache-2.0
"""Tools that the plugin narratoria.slurm runs as jobs of a cluster."""

import json
import subprocess
import sys
import threading

import pytest

import narratoria
from conftest import BUILD

DONE = """echo '{"version":"0","type":"done","ok":true}'\n"""


class Story:
    """A story with one tool, `tool`, which the prompt "go" runs on the cluster."""

    def __init__(self, folder, cluster):
        self.folder = folder
        self.cluster = cluster
        self.records = []

    def tool(self, script, profile="", settings=""):
        (self.folder / "tools").mkdir()
        tool = self.folder / "tools/tool"
        tool.write_text("#!/bin/sh\n" + script)
        tool.chmod(0o755)
        plan = {"tools": [{"toolId": "t", "toolPath": f"slurm:{profile}tools/tool",
                           "retryPolicy": {"maxRetries": 0}}]}
        (self.folder / "prompts.json").write_text(
            json.dumps({"prompts": [{"patterns": ["go"], "answers": [{"plan": plan}]}]}))
        (self.folder / "story.toml").write_text(
            f'title = "A test"\n[plugins."narratoria.slurm"]\n{settings}\n')

    def session(self):
        session = narratoria.Session(story=self.folder, plugins=[BUILD / "tests/plugins/slurm.so"],
                                     environment={"SLURM_CONF": str(self.cluster.configuration)})
        session.add_sink(lambda event: self.records.append(event))
        return session

    def play(self):
        with self.session() as session:
            return session.play("go")

    @property
    def failure(self):
        """Code and message of the tool's failure."""
        ended = [event.body for event in self.records if event.kind == "tool_ended"][-1]
        return ended["errorCode"], ended["error"]

    def messages(self):
        """Those of the log events."""
        return [event.body["message"] for event in self.records
                if event.kind == "tool_event" and event.body["type"] == "log"]


@pytest.fixture
def story(tmp_path, cluster):
    yield Story(tmp_path, cluster)
    cluster.wait_for("the end of all jobs", lambda: cluster.jobs() == [])


def test_request_reaches_the_node_and_its_events_come_back(story):
    story.tool("read request\necho \"$request\" > got\n"
               """echo '{"version":"0","type":"state_patch","patch":{"node":"'$SLURMD_NODENAME'"}}'\n""" + DONE)
    with story.session() as session:
        session.play("go")
        assert session.state["node"] in ("n1", "n2")


def test_waiting_job_says_why(story):
    story.tool(DONE, settings='options = ["--nodelist=n1"]')
    blocker = subprocess.Popen(["srun", "-w", "n1", "-N1", "-n1", "-c4", "sleep", "600"],
                               env=story.cluster.environment, stderr=subprocess.DEVNULL)
    story.cluster.wait_for("the blocker", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
    with story.session() as session:
        session.add_sink(lambda event: "pending" in str(event.body) and blocker.terminate(), ["tool_event"])
        session.play("go")
    blocker.wait()
    assert any("is pending: " in message for message in story.messages()), story.messages()


def test_too_much_memory_is_out_of_memory(story):
    story.tool(f"exec {sys.executable} -c 'x = bytearray(300 << 20); import time; time.sleep(60)'\n",
               "small:", 'profiles.small = ["--mem=30M"]')
    story.play()
    code, error = story.failure
    assert code == "OUT_OF_MEMORY" and "memory limit" in error


def test_unknown_partition_fails_with_the_words_of_slurm(story):
    story.tool(DONE, settings='options = ["--partition=nowhere"]')
    story.play()
    code, error = story.failure
    assert code == "ALLOCATION_FAILED" and "partition" in error


def test_unknown_profile_is_named(story):
    story.tool(DONE, "gpu:")
    story.play()
    code, error = story.failure
    assert code == "SPAWN_FAILED" and 'the setting "profiles" has no "gpu"' in error


def test_cancelled_tool_leaves_no_job(story):
    story.tool("touch here\nsleep 600\n")
    with story.session() as session:
        session.add_sink(lambda event: session.cancel(), ["attempt_started"])
        assert session.play("go").outcome == "cancelled"


def test_node_that_goes_down_fails_the_tool(story):
    story.tool("sleep 600\n", settings='options = ["--nodelist=n2"]')

    def down():
        story.cluster.wait_for("the job", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
        subprocess.run(["scontrol", "update", "nodename=n2", "state=down", "reason=test"], check=True,
                       env=story.cluster.environment)

    with story.session() as session:
        thread = threading.Thread(target=down)
        thread.start()
        session.play("go")
        thread.join()
    subprocess.run(["scontrol", "update", "nodename=n2", "state=resume"], check=True,
                   env=story.cluster.environment)
    assert story.failure[0] == "NODE_FAILED", story.failure
