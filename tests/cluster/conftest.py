# SPDX-License-Identifier: Apache-2.0
"""Starts a Slurm cluster of two nodes, which are daemons on this machine."""

import os
import sys
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(os.environ.get("NARRATORIA_SOURCE_DIR", Path(__file__).parents[2]))
BUILD = Path(os.environ.get("NARRATORIA_BUILD_DIR", SOURCE / "build" / "release"))
sys.path[:0] = [str(BUILD / "python"), str(Path(__file__).parent)]

from cluster import Cluster, missing_programs  # noqa: E402


@pytest.fixture(scope="session")
def cluster():
    missing = missing_programs()
    if missing:
        pytest.skip(f"{', '.join(missing)} of Slurm is missing (Debian: apt-get install slurm-wlm munge)")
    with tempfile.TemporaryDirectory(prefix="cluster-") as folder, Cluster(folder) as started:
        # As for a player; sessions of the tests do not pass it to their tools.
        os.environ["SLURM_CONF"] = str(started.configuration)
        yield started
