# SPDX-License-Identifier: Apache-2.0
"""narratoria doctor --slurm: what is missing for tools on a cluster."""

import json
import subprocess

from conftest import BUILD


def doctor(cluster, folder, **environment):
    ended = subprocess.run([BUILD / "bin/narratoria", "doctor", "--slurm", "--json"], capture_output=True, text=True,
                           cwd=folder, env={**cluster.environment, **environment})
    return ended.returncode, {check["name"]: check for check in json.loads(ended.stdout)["checks"]}


def test_cluster_is_fine(cluster, tmp_path):
    status, checks = doctor(cluster, tmp_path)
    assert status == 0 and all(check["ok"] for check in checks.values()), checks
    assert list(checks) == ["slurm_programs", "slurm_controller", "slurm_nodes", "slurm_job", "shared_folder"]
    assert list(tmp_path.iterdir()) == [], "it leaves no file"


def test_unreachable_controller_is_reported(cluster, tmp_path):
    configuration = tmp_path / "slurm.conf"
    configuration.write_text(cluster.configuration.read_text().replace("SlurmctldPort=", "SlurmctldPort=1#"))
    status, checks = doctor(cluster, tmp_path, SLURM_CONF=str(configuration))
    assert status == 1 and not checks["slurm_controller"]["ok"]
    assert "SLURM_CONF" in checks["slurm_controller"]["problem"]


def test_missing_configuration_is_named(cluster, tmp_path):
    status, checks = doctor(cluster, tmp_path, SLURM_CONF="/nowhere/slurm.conf")
    assert status == 1 and "SLURM_CONF names /nowhere/slurm.conf" in checks["slurm_programs"]["problem"]


def test_missing_programs_are_named(cluster, tmp_path):
    status, checks = doctor(cluster, tmp_path, PATH="/nowhere")
    assert status == 1 and "srun is not in PATH" in checks["slurm_programs"]["problem"]


def test_folder_that_is_not_shared_is_reported(cluster, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    srun = programs / "srun"
    srun.write_text("#!/bin/sh\necho n1\n")
    srun.chmod(0o755)
    status, checks = doctor(cluster, tmp_path, PATH=f"{programs}:{cluster.environment['PATH']}")
    assert status == 1 and "n1 cannot read a file in" in checks["shared_folder"]["problem"]
