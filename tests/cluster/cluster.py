# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on this machine: a controller and nodes, each a daemon with its own name and port.

All files are in one folder. The daemons end when the context manager exits.
"""

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

DEADLINE = 60
PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "sinfo", "squeue")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=50
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
ReturnToService=2
KillWait=2
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
MinJobAge=10
SlurmdTimeout=30
"""


def missing_programs():
    """The required Slurm programs that are not installed."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [program for program in PROGRAMS if shutil.which(program, path=search) is None]


def free_ports(count):
    """Ports below those that the kernel gives to outgoing connections: a restarted daemon needs its own."""
    sockets = []
    while len(sockets) < count:
        with contextlib.suppress(OSError):
            sockets.append(socket.create_server(("127.0.0.1", random.randrange(20_000, 32_000))))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Cluster:
    """Nodes with four cores and 1 GB each. The path of `folder` must be short enough for sockets."""

    def __init__(self, folder, nodes=("n1", "n2")):
        self.folder = Path(folder)
        self.nodes = nodes
        self.daemons = {}
        for name in ("state", "munge", *nodes):
            (self.folder / name).mkdir()
        self.folder.chmod(0o755)
        (self.folder / "munge").chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        controller_port, *node_ports = free_ports(1 + len(nodes))
        host = socket.gethostname()
        lines = [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=1000"
                 for name, port in zip(nodes, node_ports)]
        self.configuration = self.folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            host=host, controller_port=controller_port, folder=self.folder,
            user=pwd.getpwuid(os.geteuid()).pw_name) + "\n".join(lines)
            + "".join(f"\nPartitionName={name} Nodes={','.join(nodes)} Default={default} MaxTime=INFINITE"
                      f" PriorityTier={tier}\n" for name, default, tier in (("main", "YES", 1), ("urgent", "NO", 9))))
        self.environment = {**os.environ, "SLURM_CONF": str(self.configuration),
                            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}

    def __enter__(self):
        try:
            munge = self.folder / "munge"
            self.start("munged", "--foreground", "--force", f"--key-file={self.folder}/munge.key",
                       f"--socket={munge}/socket", f"--pid-file={munge}/pid", f"--log-file={munge}/log",
                       f"--seed-file={munge}/seed")
            self.wait_for("munged", (munge / "socket").exists)
            self.start("slurmctld", "-D")
            for name in self.nodes:
                self.start_node(name)
            self.wait_for("all nodes", lambda: self.states() == {name: "idle" for name in self.nodes})
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in reversed(list(self.daemons.values())):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons.values():
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def start(self, program, *arguments, name=None):
        with open(self.folder / f"{name or program}.out", "ab") as output:
            self.daemons[name or program] = subprocess.Popen(
                [program, *arguments], env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=output)

    def start_node(self, name):
        self.start("slurmd", "-D", "-N", name, name=name)

    def states(self):
        """The state of each node, as sinfo reports it."""
        ran = subprocess.run(["sinfo", "-h", "-N", "-o", "%N %T"], env=self.environment,
                             capture_output=True, text=True)
        return dict(line.split() for line in ran.stdout.splitlines())

    def jobs(self):
        """The jobs that are in the queue."""
        return subprocess.run(["squeue", "-h", "-o", "%i %j %T"], env=self.environment, check=True,
                              capture_output=True, text=True).stdout.splitlines()

    def wait_for(self, what, holds, deadline=DEADLINE):
        end = time.monotonic() + deadline
        while not holds():
            ended = [name for name, daemon in self.daemons.items() if daemon.poll() is not None]
            assert not ended, f"daemons have ended: {ended}; logs: {self.logs()}"
            assert time.monotonic() < end, f"{what} not ready in {deadline} s; logs: {self.logs()}"
            time.sleep(0.02)

    def logs(self):
        return {file.name: file.read_text(errors="replace")[-4000:]
                for file in sorted(self.folder.iterdir()) if file.suffix in (".out", ".log")}
