# SPDX-License-Identifier: Apache-2.0
"""Tools that the plugin narratoria.slurm runs as jobs of a cluster."""

import asyncio
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import narratoria
import narratoria.aio

DONE = """echo '{"version":"0","type":"done","ok":true}'\n"""
FIRST_SLEEPS = "mkdir %(folder)s/first 2>/dev/null && sleep 600\n" + DONE


class Story:
    """A story with one tool, "tool", which the prompt "go" runs on the cluster."""

    def __init__(self, folder, cluster):
        self.folder = folder
        self.cluster = cluster
        self.records = []

    def tool(self, script, profile="", settings="", count=1, retries=0, timeout_ms=0):
        (self.folder / "tools").mkdir()
        tool = self.folder / "tools/tool"
        tool.write_text("#!/bin/sh\n" + script)
        tool.chmod(0o755)
        plan = {"parallel": True,
                "tools": [{"toolId": "t" if count == 1 else f"t{i}", "toolPath": f"slurm:{profile}tools/tool",
                           "async": True, "retryPolicy": {"maxRetries": retries}, "timeoutMs": timeout_ms}
                          for i in range(count)]}
        (self.folder / "prompts.json").write_text(
            json.dumps({"prompts": [{"patterns": ["go"], "answers": [{"plan": plan}]}]}))
        (self.folder / "story.toml").write_text(
            f'title = "A test"\n[times]\nprompt_ms = 0\nplan_ms = 0\n'
            f'[plugins."narratoria.slurm"]\n{settings}\n')

    def session(self, **options):
        session = narratoria.Session(story=self.folder, **options)
        session.add_sink(lambda event: self.records.append(event))
        return session

    def play(self):
        with self.session() as session:
            return session.play("go")

    def host(self):
        """Another process that plays the story."""
        return subprocess.Popen([sys.executable, "-c", "import narratoria, sys\n"
                                 "narratoria.Session(story=sys.argv[1],\n"
                                 "    environment={'SLURM_CONF': sys.argv[2]}).play('go')",
                                 self.folder, self.cluster.configuration],
                                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})

    def programs(self, **scripts):
        """An environment whose PATH begins with these programs."""
        folder = self.folder / "bin"
        folder.mkdir()
        for name, script in scripts.items():
            (folder / name).write_text("#!/bin/sh\n" + script)
            (folder / name).chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    @property
    def retries(self):
        """The number of retries of the tool."""
        return [event.body for event in self.records if event.kind == "tool_ended"][-1]["retryCount"]

    @property
    def failure(self):
        """The code and message of the last failure of a tool."""
        failed = [event.body for event in self.records if event.kind == "tool_ended" and "errorCode" in event.body]
        return (failed[-1]["errorCode"], failed[-1]["error"]) if failed else None

    def messages(self):
        """The messages of the log events."""
        return [event.body["message"] for event in self.records
                if event.kind == "tool_event" and event.body["type"] == "log"]


@pytest.fixture
def story(tmp_path, cluster):
    story = Story(tmp_path, cluster)
    yield story
    # pytest shows this if the test failed.
    print(*story.records, *cluster.logs().items(), sep="\n")
    cluster.wait_for("the end of all jobs", lambda: cluster.jobs() == [])


def test_attempt_says_where_it_ran_and_for_how_long(story):
    story.tool("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done\n" + DONE)
    attempt = story.play().result.tool_results[0].attempts[0]
    assert attempt.details["node"] in ("n1", "n2") and attempt.details["step"].endswith(".0")
    assert attempt.resources["userMicroseconds"] > 10_000, attempt.resources


def test_attempt_says_how_much_memory_the_tool_used(story):
    story.tool(f"{sys.executable} -c 'bytearray(100 << 20)'\nprintf 'no line end' >&2\n" + DONE)
    attempt = story.play().result.tool_results[0].attempts[0]
    assert 100 << 20 < 1024 * attempt.resources["maximumResidentKiB"] < 150 << 20, attempt.resources


@pytest.mark.parametrize("settings", ["", "shared = false"])
def test_node_that_does_not_see_the_output_folder_is_named_once(story, settings):
    story.tool(DONE, settings='allocation = ["--ntasks=1"]\n' + settings, count=2)
    environment = story.programs(srun='export NARRATORIA_OUTPUT_DIR=/nowhere\nexec /usr/bin/srun "$@"\n')
    with story.session(environment=environment) as session:
        assert session.play("go").generations == 1, story.failure
    named = [message for message in story.messages() if "does not see the output folder" in message]
    assert len(named) == (0 if settings else 1) and all("TMPDIR" in message for message in named), story.messages()


def test_node_gets_the_request_and_returns_events(story):
    story.tool("read -r request\n"
               """echo '{"version":"0","type":"state_patch","patch":{"node":"'$SLURMD_NODENAME'"}}'\n"""
               """echo '{"version":"0","type":"state_patch","patch":{"got":'"$request"'}}'\n""" + DONE)
    with story.session() as session:
        session.play("go")
        assert session.state["node"] in ("n1", "n2")
        assert session.state["got"]["tool"] == "tool"


def test_job_gets_the_resources_and_limits_of_the_manifest(story):
    story.tool("used=$(scontrol show job $SLURM_JOB_ID | tr -d '\\n\\t\\042\\047')\n"
               """echo '{"version":"0","type":"state_patch","patch":{"job":"'$used'"}}'\n"""
               """echo '{"version":"0","type":"state_patch","patch":{"files":'$(ulimit -n)',"kb":'$(ulimit -v)'}}'\n"""
               """shell=$PPID; [ "$(cat /proc/$PPID/comm)" != time ] || shell=$(cut -d " " -f 4 /proc/$PPID/stat)\n"""
               """outer=$(grep "open files" /proc/$shell/limits | tr -s " " | cut -d " " -f 4)\n"""
               """echo '{"version":"0","type":"state_patch","patch":{"outer":'$outer'}}'\n"""
               + DONE, settings='options = ["--time=3", "--mem-bind=none"]')
    (story.folder / "tools/tool.tool.json").write_text(json.dumps({
        "resources": {"cpus": 3, "memory_bytes": 70 << 20, "partition": "urgent", "time_seconds": 61, "gpus": 0},
        "limits": {"open_files": 50, "memory_bytes": 1 << 30}}))
    with story.session() as session:
        session.play("go")
        job, files, kilobytes, outer = (session.state[name] for name in ("job", "files", "kb", "outer"))
    assert "NumCPUs=3" in job and "MinMemoryNode=70M" in job and "Partition=urgent" in job, job
    assert "TimeLimit=00:03:00" in job, f"the settings win: {job}"
    assert (files, kilobytes) == (50, 1 << 20)
    assert outer > 50, "the limits are not those of the shell that runs the tool"


@pytest.mark.parametrize("allocation", ["", 'allocation = ["--ntasks=4"]\n'])
def test_memory_of_the_settings_replaces_that_of_the_manifest(story, allocation):
    story.tool(DONE, settings=allocation + 'options = ["--mem-per-cpu=40"]')
    (story.folder / "tools/tool.tool.json").write_text('{"resources": {"memory_bytes": 999000000000}}')
    assert story.play().generations == 1, story.failure


def test_step_gets_the_resources_of_the_manifest(story):
    story.tool("used=$(scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | tr -d '\\n\\t\\042\\047')\n"
               """echo '{"version":"0","type":"state_patch","patch":{"step":"'$used'"}}'\n""" + DONE,
               settings='allocation = ["--ntasks=4"]')
    (story.folder / "tools/tool.tool.json").write_text(json.dumps({
        "resources": {"cpus": 2, "memory_bytes": 70 << 20, "partition": "nowhere", "time_seconds": 61}}))
    with story.session() as session:
        session.play("go")
        step = session.state["step"]
    assert "CPUs=2" in step and "mem=70M" in step and "TimeLimit=00:02:00" in step, step


def test_pending_job_logs_its_reason(story):
    story.tool(DONE, settings='options = ["--nodelist=n1"]')
    blocker = subprocess.Popen(["srun", "-w", "n1", "-N1", "-n1", "-c4", "sleep", "600"],
                               env=story.cluster.environment, stderr=subprocess.DEVNULL)
    story.cluster.wait_for("the blocker", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
    with story.session() as session:
        session.add_sink(lambda event: "pending" in str(event.body) and blocker.terminate(), ["tool_event"])
        session.play("go")
    blocker.wait()
    assert any("is pending: " in message for message in story.messages()), story.messages()


def test_pending_job_logs_the_number_of_jobs_before_it(story):
    story.tool(DONE, settings='options = ["--nodelist=n1"]')

    def submit(count, *options):
        return [subprocess.run(["sbatch", "--parsable", "--output=/dev/null", "--nodelist=n1", *options, "--wrap=sleep 600"],
                               env=story.cluster.environment, check=True, capture_output=True, text=True).stdout.strip()
                for _ in range(count)]

    jobs = submit(1, "--cpus-per-task=4")
    story.cluster.wait_for("the blocker", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
    jobs += submit(3, "--cpus-per-task=4", "--nice=-1000")
    others = submit(2, "--hold") + submit(2, "--nice=1000")

    def cancel(*which):
        subprocess.run(["scancel", "--quiet", *which], env=story.cluster.environment)

    def watch(event):
        if "pending" in str(event.body) and "progress" in str(event.body):
            cancel(jobs[1]) if "3 jobs" in str(event.body) else cancel(*jobs, *others)

    with story.session() as session:
        session.add_sink(watch, ["tool_event"])
        assert session.play("go").generations == 1, story.failure
    logs = [event.body for event in story.records if event.kind == "tool_event" and "fields" in event.body]
    assert list(dict.fromkeys(log["message"].split("; ")[-1] for log in logs)) == [
        "3 jobs are before it", "2 jobs are before it"], story.messages()
    assert logs[0]["fields"]["progress"] == 0 and 0.3 < logs[-1]["fields"]["progress"] < 0.4, logs


def test_timeout_is_paused_in_the_queue(story):
    story.tool(DONE, settings='options = ["--nodelist=n1"]', timeout_ms=2000)
    blocker = subprocess.Popen(["srun", "-w", "n1", "-N1", "-n1", "-c4", "sleep", "6"],
                               env=story.cluster.environment, stderr=subprocess.DEVNULL)
    story.cluster.wait_for("the blocker", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
    assert story.play().generations == 1, story.failure
    blocker.wait()


@pytest.mark.parametrize("allocation", ["", 'allocation = ["--nodes=1"]\n'])
def test_timeout_of_the_tool_ends_its_step(story, allocation):
    story.tool(f"sleep 600 & echo $! > {story.folder}/process\nwait\n", settings=allocation, timeout_ms=1000)
    story.play()
    assert story.failure[0] == "TIMEOUT", story.failure
    command = Path("/proc", (story.folder / "process").read_text().strip(), "cmdline")
    # Nothing may reap the process; then it has no command line.
    story.cluster.wait_for("the end of the tool", lambda: not command.exists() or not command.read_bytes())


def test_time_limit_of_the_job_is_a_timeout(story):
    story.tool("sleep 600\n", settings='options = ["--time=1"]')
    story.play()
    assert story.failure[0] == "TIMEOUT", story.failure


def test_preempted_job_is_retried_and_says_so(story):
    story.tool(FIRST_SLEEPS % {"folder": story.folder}, settings='options = ["--nodelist=n1", "--cpus-per-task=4"]', retries=1)

    def urgent():
        story.cluster.wait_for("the tool", (story.folder / "first").exists)
        subprocess.run(["srun", "-p", "urgent", "-w", "n1", "-N1", "-n1", "-c4", "true"], check=True,
                       env=story.cluster.environment, stderr=subprocess.DEVNULL)

    thread = threading.Thread(target=urgent)
    thread.start()
    attempts = story.play().result.tool_results[0].attempts
    thread.join()
    assert [attempt.code for attempt in attempts] == ["PREEMPTED", None], attempts
    assert "PREEMPT" in attempts[0].error, "Slurm's message"
    assert attempts[0].details["step"] != attempts[1].details["step"], "another job"


def test_cancelled_pending_job_leaves_the_queue(story):
    story.tool(DONE, settings='options = ["--nodelist=n1"]')
    blocker = subprocess.Popen(["srun", "-w", "n1", "-N1", "-n1", "-c4", "sleep", "600"],
                               env=story.cluster.environment, stderr=subprocess.DEVNULL)
    story.cluster.wait_for("the blocker", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
    with story.session() as session:
        session.add_sink(lambda event: "pending" in str(event.body) and session.cancel(), ["tool_event"])
        assert session.play("go").outcome == "cancelled"
    story.cluster.wait_for("the end of the job", lambda: len(story.cluster.jobs()) == 1, deadline=20)
    blocker.terminate()
    blocker.wait()


def test_exceeded_memory_limit_is_out_of_memory(story):
    story.tool(f"exec {sys.executable} -c 'x = bytearray(300 << 20); import time; time.sleep(60)'\n",
               "small:", 'profiles.small = ["--mem=30M"]')
    story.play()
    code, error = story.failure
    assert code == "OUT_OF_MEMORY" and "memory limit" in error


@pytest.mark.parametrize("option, said", [
    ("--partition=nowhere", "invalid partition"), ("--bogus", "unrecognized option"), ("--time=abc", "Invalid --time"),
    ("--mem=100G", "Memory specification"), ("--gpus=1", "gres"), ("--constraint=none", "Invalid feature"),
    ("--nodelist=n9", "Invalid node name"), ("--exclude=n1,n2", "configuration is not available")])
def test_wrong_option_of_a_job_fails_once_with_the_message_of_slurm(story, option, said):
    story.tool(DONE, settings=f'options = ["{option}"]', retries=2)
    story.play()
    code, error = story.failure
    assert code == "ALLOCATION_FAILED" and said in error, error
    assert story.retries == 0, error


@pytest.mark.parametrize("option, reason", [
    ("--cpus-per-task=64", "PartitionConfig"), ("--nodes=5", "Partition"),
    ("--nodes=2 --ntasks=9", "PartitionConfig")])
def test_job_that_no_node_can_run_fails_once(story, option, reason):
    story.tool(DONE, settings=f"options = {json.dumps(option.split())}", retries=2)
    story.play()
    code, error = story.failure
    assert code == "ALLOCATION_FAILED" and f"can never run: {reason}" in error, error
    assert story.retries == 0


def test_job_waits_for_a_drained_node(story):
    def update(state):
        subprocess.run(["scontrol", "update", "nodename=n1", f"state={state}", "reason=test"], check=True,
                       env=story.cluster.environment)

    story.tool(DONE, settings='options = ["--nodes=2", "--ntasks=2"]')
    update("drain")
    with story.session() as session:
        session.add_sink(lambda event: "pending" in str(event.body) and update("resume"), ["tool_event"])
        assert session.play("go").generations == 1, story.failure
    story.cluster.wait_for("the node", lambda: story.cluster.states()["n1"] == "idle")


def test_job_waits_while_its_partition_has_too_few_nodes(story):
    """Slurm also gives this reason while nodes are down."""
    story.tool(DONE, retries=0)
    environment = story.programs(squeue='for each; do case $each in\n'
                                 '--jobs=*) rm "$0"; echo "${each#--jobs=} PENDING PartitionNodeLimit";;\nesac; done\n')
    with story.session(environment=environment) as session:
        assert session.play("go").generations == 1, story.failure
    assert any("is pending: PartitionNodeLimit" in message for message in story.messages()), story.messages()


@pytest.mark.parametrize("option, said", [
    ("--cpus-per-task=3", "More processors requested"), ("--mem=900", "Memory required by task"),
    ("--nodelist=n9", "configuration is not available"), ("--gpus=1", "gres"), ("--bogus", "unrecognized option")])
def test_step_that_does_not_fit_into_the_allocation_fails_once(story, option, said):
    story.tool(DONE, settings='allocation = ["--nodes=1", "--ntasks=2"]\n'
                              f'options = ["{option}"]', retries=2)
    story.play()
    code, error = story.failure
    assert code == "ALLOCATION_FAILED" and said in error, error
    assert story.retries == 0, error


def test_step_that_waits_for_its_turn_logs_the_reason(story):
    story.tool(f"until [ $SLURM_STEP_ID = 1 ] || [ -e {story.folder}/go ]; do sleep 0.05; done\n" + DONE, count=2,
               settings='allocation = ["--nodes=1", "--ntasks=2"]\noptions = ["--cpus-per-task=2"]')
    with story.session() as session:
        session.add_sink(lambda event: "pending" in str(event.body) and (story.folder / "go").touch(), ["tool_event"])
        assert session.play("go").generations == 1, story.failure
    assert any(message.startswith("a step of job") and "is pending: " in message for message in story.messages())


@pytest.mark.parametrize("answer", [
    "Unable to contact slurm controller (connect failure)", "Socket timed out on send/recv operation",
    "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"])
def test_refusal_that_may_pass_is_retried(story, answer):
    story.tool(DONE, retries=1)
    environment = story.programs(
        sbatch=f"rm $0\necho \"sbatch: error: Batch job submission failed: {answer}\" >&2\nexit 1\n")
    with story.session(environment=environment) as session:
        assert session.play("go").generations == 1, "the second attempt succeeded"
    assert story.retries == 1


def test_error_of_srun_is_the_reason_after_its_warnings(story):
    story.tool(DONE, retries=2)
    environment = story.programs(srun="echo 'srun: warning: Ignoring --bogus' >&2\n"
                                 "echo 'srun: error: Invalid generic resource (gres) specification' >&2\nexit 1\n")
    with story.session(environment=environment) as session:
        session.play("go")
    assert story.failure == ("ALLOCATION_FAILED", "srun: error: Invalid generic resource (gres) specification")
    assert story.retries == 0


@pytest.mark.parametrize("settings", ["", "shared = false"])
def test_program_that_the_node_lacks_is_named(story, settings):
    story.tool(DONE, settings=settings, retries=2)
    (story.folder / "prompts.json").write_text((story.folder / "prompts.json").read_text().replace(
        "slurm:tools/tool", "slurm:/nowhere/tool"))
    story.play()
    code, error = story.failure
    assert code == "SPAWN_FAILED" and "cannot run /nowhere/tool" in error and "share" in error
    assert story.retries == 0


def test_unknown_profile_is_named(story):
    story.tool(DONE, "gpu:")
    story.play()
    code, error = story.failure
    assert code == "SPAWN_FAILED" and 'the setting "profiles" has no "gpu"' in error


def test_tools_share_an_allocation(story):
    story.tool("""echo '{"version":"0","type":"state_patch","patch":{"'$SLURM_STEP_ID'":"'$SLURM_JOB_ID'"}}'\n""" + DONE,
               settings='allocation = ["--nodes=2", "--ntasks=8"]\noptions = ["--mem-per-cpu=50"]', count=12)
    with story.session() as session:
        assert session.play("go").generations == 1, story.failure
        assert len(session.state) == 12 and len(set(session.state.values())) == 1, session.state
        story.cluster.wait_for("one job", lambda: len(story.cluster.jobs()) == 1)
        session.play("go")
        assert len(set(session.state.values())) == 1, "the allocation is still held"


def test_tools_take_turns(story):
    story.tool("""echo '{"version":"0","type":"state_patch","patch":{"'$SLURM_STEP_ID'":1}}'\n""" + DONE,
               settings='allocation = ["--nodes=2", "--ntasks=8"]\noptions = ["--mem-per-cpu=50"]\nat_once = 8',
               count=150)
    with story.session() as session:
        assert session.play("go").generations == 1, story.failure
        assert len(session.state) == 150


def test_events_arrive_while_the_tool_runs(story):
    go = story.folder / "go"
    story.tool("""echo '{"version":"0","type":"log","level":"info","message":"waits"}'\n"""
               f"while [ ! -e {go} ]; do sleep 0.05; done\n" + DONE, timeout_ms=60_000)
    with story.session() as session:
        session.add_sink(lambda event: go.touch() if "waits" in event.to_json() else None)
        assert session.play("go").generations == 1


def test_hundred_megabytes_of_events_arrive(story):
    event = json.dumps({"version": "0", "type": "log", "level": "info", "message": "x" * 950})
    story.tool(f"yes '{event}' | head -n 100000\n" + DONE)
    with story.session() as session:
        turn = session.play("go")
    assert turn.generations == 1 and turn.result.tool_results[0].attempts[0].events.count == 100_001


def test_idle_allocation_is_released(story):
    story.tool(DONE, settings='allocation = ["--nodes=1"]\nidle = 1')

    async def play():
        async with narratoria.aio.Session(story=story.folder, environment={
                "SLURM_CONF": str(story.cluster.configuration)}) as session:
            await session.play("go")
            assert len(story.cluster.jobs()) == 1
            async with asyncio.timeout(60):
                while story.cluster.jobs():
                    await asyncio.sleep(0.05)

    asyncio.run(play())


def test_lost_allocation_is_replaced(story):
    story.tool(DONE, settings='allocation = ["--nodes=1"]', retries=3)
    with story.session() as session:
        session.play("go")
        job = story.cluster.jobs()[0].split()[0]
        subprocess.run(["scancel", job], env=story.cluster.environment, check=True)
        story.cluster.wait_for("its end", lambda: story.cluster.jobs() == [])
        assert session.play("go").generations == 1, story.failure


def test_killed_host_leaves_no_job(story):
    story.tool("sleep 600\n", settings="lease = 3")
    host = story.host()
    story.cluster.wait_for("the job", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
    host.send_signal(signal.SIGKILL)
    host.wait()


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "alive"])
def test_next_session_removes_the_pending_job_of_a_killed_host_only(story, is_killed):
    story.tool(DONE, settings='lease = 3\noptions = ["--nodelist=n1"]\nprofiles.free = ["--nodelist=n2"]')
    blocker = subprocess.Popen(["srun", "-w", "n1", "-N1", "-n1", "-c4", "sleep", "600"],
                               env=story.cluster.environment, stderr=subprocess.DEVNULL)
    story.cluster.wait_for("the blocker", lambda: any("RUNNING" in job for job in story.cluster.jobs()))
    host = story.host()
    story.cluster.wait_for("the job", lambda: any("PENDING" in job for job in story.cluster.jobs()))
    pending = [job for job in story.cluster.jobs() if "PENDING" in job]
    of_other_machine = subprocess.run(
        ["sbatch", "--parsable", "--hold", "--job-name=narratoria-t-0123456789abcdef-999999999-1", "--wrap=true"],
        env=story.cluster.environment, check=True, capture_output=True, text=True).stdout.strip()
    try:
        if is_killed:
            host.kill()
            host.wait()
        prompts = story.folder / "prompts.json"
        prompts.write_text(prompts.read_text().replace("slurm:tools", "slurm:free:tools"))
        with story.session() as session:
            assert session.play("go").generations == 1, story.failure
            if is_killed:
                story.cluster.wait_for("its end", lambda: not set(pending) & set(story.cluster.jobs()))
        left = {job.split()[0] for job in story.cluster.jobs() if "PENDING" in job}
        assert left == {of_other_machine, *(job.split()[0] for job in pending if not is_killed)}
    finally:
        subprocess.run(["scancel", of_other_machine], env=story.cluster.environment, check=True)
        host.kill()
        host.wait()
        blocker.terminate()
        blocker.wait()


def test_lease_is_renewed(story):
    story.tool("sleep 8 || exit 1\n" + DONE, settings="lease = 3")
    assert story.play().generations == 1, story.failure


@pytest.mark.parametrize("allocation", ["", 'allocation = ["--nodes=1"]\n'])
def test_tool_whose_lease_runs_out_is_retried_and_says_so(story, allocation):
    story.tool(FIRST_SLEEPS % {"folder": story.folder}, settings=allocation + "lease = 3", retries=1)
    with story.session(environment=story.programs(scancel="exit 0\n")) as session:
        attempts = session.play("go").result.tool_results[0].attempts
    assert [attempt.code for attempt in attempts] == ["ALLOCATION_LOST", None], attempts
    assert "lease" in attempts[0].error


def test_job_whose_script_begins_late_is_kept(story):
    """As on a busy node: the lease is renewed before the script can know."""
    story.tool("sleep 4\n" + DONE, settings='allocation = ["--nodes=1"]\nlease = 3')
    environment = story.programs(sbatch=f"sed '1a sleep 2' | exec {shutil.which('sbatch')} \"$@\"\n")
    with story.session(environment=environment) as session:
        assert session.play("go").generations == 1, story.failure


def test_cancelled_tool_leaves_no_job(story):
    story.tool("sleep 600\n")
    with story.session() as session:
        session.add_sink(lambda event: session.cancel(), ["attempt_started"])
        assert session.play("go").outcome == "cancelled"


def test_tool_of_a_failed_node_is_retried_and_says_so(story):
    story.tool(FIRST_SLEEPS % {"folder": story.folder}, settings='options = ["--nodelist=n2"]', retries=1)

    def down():
        story.cluster.wait_for("the tool", (story.folder / "first").exists)
        subprocess.run(["scontrol", "update", "nodename=n2", "state=down", "reason=test"], check=True,
                       env=story.cluster.environment)

    with story.session() as session:
        thread = threading.Thread(target=down)
        thread.start()
        attempts = session.play("go").result.tool_results[0].attempts
        thread.join()
    # The node's daemon registers again, which makes the node available.
    story.cluster.wait_for("the node", lambda: story.cluster.states()["n2"] == "idle")
    assert [attempt.code for attempt in attempts] == ["NODE_FAILED", None], attempts
    assert "NODE FAILURE" in attempts[0].error.upper(), "Slurm's message"


ASSET = """echo '{"version":"0","type":"asset","assetId":"a","kind":"image","mediaType":"image/png","path":"'%s'"}'\n"""


@pytest.mark.parametrize("allocation", ["", 'allocation = ["--nodes=1"]\n'])
def test_files_come_back_from_a_node_without_a_shared_folder(story, allocation):
    story.tool("""echo '{"version":"0","type":"state_patch","patch":{"folder":"'$NARRATORIA_OUTPUT_DIR'/"}}'\n"""
               'mkdir "$NARRATORIA_OUTPUT_DIR/in"; seq 20000 > "$NARRATORIA_OUTPUT_DIR/in/a picture.png"\n'
               + ASSET % '"$NARRATORIA_OUTPUT_DIR"/in/a\\ picture.png'
               + 'head -c 300000 /dev/urandom > "$NARRATORIA_OUTPUT_DIR/noise"\n'
               """echo '{"version":"0","type":"state_patch","patch":{"sum":"'$(sha256sum < "$NARRATORIA_OUTPUT_DIR/noise")'"}}'\n"""
               + "sleep 3\n" + DONE, settings=allocation + "shared = false")
    with story.session() as session:
        assert session.play("go").generations == 1, story.failure
        asset = [event.body for event in story.records if event.kind == "tool_event" and event.body["type"] == "asset"][0]
        assert open(asset["path"]).read().split()[-1] == "20000"
        assert asset["path"].endswith("/in/a picture.png") and session.assets, story.records
        folder = session.state["folder"]
        with open(folder + "noise", "rb") as noise:
            assert session.state["sum"].split()[0] == hashlib.sha256(noise.read()).hexdigest()
    assert asset["path"].startswith(folder), "all paths are of this machine"


def test_folder_of_the_node_is_removed(story, tmp_path):
    story.tool("echo $NARRATORIA_OUTPUT_DIR > " + str(tmp_path / "name") + "\n" + DONE, settings="shared = false")
    story.play()
    assert not os.path.exists((tmp_path / "name").read_text().strip())


def test_too_many_bytes_of_files_fail_the_tool_once(story):
    story.tool('head -c 300000 /dev/zero > "$NARRATORIA_OUTPUT_DIR/big"\n' + DONE,
               settings="shared = false\nfile_bytes = 200000", retries=2)
    story.play()
    code, error = story.failure
    assert code == "FILES_TOO_LARGE" and "file_bytes" in error
    assert story.retries == 0


@pytest.mark.parametrize("path", [
    '"$(cd "$NARRATORIA_OUTPUT_DIR"; pwd -P)"/a', "$(echo $NARRATORIA_OUTPUT_DIR/a | sed 's,/,\\\\/,g')"])
def test_paths_of_the_node_are_found_in_other_forms(story, tmp_path, path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    story.tool("echo 1 > $NARRATORIA_OUTPUT_DIR/a\n" + ASSET % path + DONE, settings="shared = false")
    with story.session(environment={"PATH": os.environ["PATH"], "TMPDIR": f"{tmp_path}/link"}) as session:
        assert session.play("go").generations == 1, story.failure
        assert session.assets, story.records
    path = [event.body["path"] for event in story.records
            if event.kind == "tool_event" and event.body["type"] == "asset"][0]
    assert not path.startswith(str(tmp_path)), "it is of this machine"
    assert list((tmp_path / "there").iterdir()) == []


def test_node_without_its_temporary_folder_uses_another(story):
    story.tool("echo 1 > $NARRATORIA_OUTPUT_DIR/a\nmktemp > $NARRATORIA_OUTPUT_DIR/b\n"
               'rm "$(cat $NARRATORIA_OUTPUT_DIR/b)" || exit 1\n' + DONE, settings="shared = false")
    with story.session(environment={"PATH": os.environ["PATH"], "TMPDIR": "/proc"}) as session:
        assert session.play("go").generations == 1, story.failure


def test_node_without_any_temporary_folder_is_named(story):
    story.tool(DONE, settings="shared = false")
    with story.session(environment=story.programs(mktemp="exit 1\n")) as session:
        session.play("go")
    code, error = story.failure
    assert code == "SPAWN_FAILED" and "the node n" in error and "TMPDIR" in error, error


def test_files_with_long_names_come_back(story):
    story.tool('mkdir -p "$NARRATORIA_OUTPUT_DIR/%s"\necho 1 > "$NARRATORIA_OUTPUT_DIR/%s/%s"\n'
               % ("f" * 200, "f" * 200, "n" * 120)
               + ASSET % ('"$NARRATORIA_OUTPUT_DIR"/' + "f" * 200 + "/" + "n" * 120) + DONE, settings="shared = false")
    with story.session() as session:
        assert session.play("go").generations == 1, story.failure
        assert session.assets, story.records


def test_file_that_tar_cannot_read_fails_the_tool(story):
    story.tool(DONE, settings="shared = false")
    environment = story.programs(tar='/bin/tar "$@"\necho "tar: ./a: Cannot open: Permission denied" >&2\nexit 2\n')
    with story.session(environment=environment) as session:
        session.play("go")
    code, error = story.failure
    assert code == "FILES_LOST" and error.endswith("tar: ./a: Cannot open: Permission denied"), error


def test_tools_do_not_replace_files_of_others(story):
    story.tool('echo $SLURM_JOB_ID > "$NARRATORIA_OUTPUT_DIR/name"\n' + ASSET % '"$NARRATORIA_OUTPUT_DIR"/name' + DONE,
               settings="shared = false", count=2)
    with story.session() as session:
        assert session.play("go").generations == 1, story.failure
        paths = {event.body["path"] for event in story.records
                 if event.kind == "tool_event" and event.body["type"] == "asset"}
        assert len({open(path).read() for path in paths}) == 2, paths


@pytest.mark.parametrize("make, said", [
    ("ln -s /etc/passwd $NARRATORIA_OUTPUT_DIR/link", "neither a file nor a folder"),
    ("mkfifo $NARRATORIA_OUTPUT_DIR/pipe", "neither a file nor a folder"),
    ("cd /; echo; echo narratoria-files; echo no tar", "cannot be brought back"),
    ("mkdir /tmp/x$$; cd /tmp/x$$; echo; echo narratoria-files; tar -cPf - --format=ustar ../x$$ | cat; rmdir ../x$$",
     "outside the folder")])
def test_unusual_files_are_refused(story, make, said):
    story.tool(make + "\n" + DONE, settings="shared = false")
    story.play()
    code, error = story.failure
    assert code == "FILES_LOST" and said in error, error


def test_files_do_not_go_through_a_link(story, tmp_path):
    """A tool of this machine may leave links in the output folder."""
    story.tool('echo new > "$NARRATORIA_OUTPUT_DIR/name"\n' + DONE, settings="shared = false")
    here = story.folder / "tools/here"
    (tmp_path / "target").mkdir()
    here.write_text('#!/bin/sh\nfor job in $(seq 2000); do echo "$NARRATORIA_OUTPUT_DIR/$job.0"; done |\n'
                    f"xargs -n 1 ln -s {tmp_path}/target\n" + DONE)
    here.chmod(0o755)
    prompts = json.loads((story.folder / "prompts.json").read_text())
    plan = prompts["prompts"][0]["answers"][0]["plan"]
    plan["tools"].insert(0, {"toolId": "here", "toolPath": "tools/here"})
    plan["tools"][1]["dependencies"] = ["here"]
    (story.folder / "prompts.json").write_text(json.dumps(prompts))
    story.play()
    assert story.failure[0] == "FILES_LOST", story.failure
    assert list((tmp_path / "target").iterdir()) == []
