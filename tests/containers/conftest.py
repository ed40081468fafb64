# SPDX-License-Identifier: Apache-2.0
"""Finds a container runtime that works here. Without one, the tests are skipped with the reason."""

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

from container_runtime import IMAGE, MODEST, Runtime, works  # noqa: E402
from harness import Command  # noqa: E402


@pytest.fixture(scope="session")
def runtime(tmp_path_factory):
    settings = tmp_path_factory.mktemp("containers") / "containers.conf"
    settings.write_text(MODEST)
    reasons = []
    for name in ("docker", "podman"):
        program = shutil.which(name)
        if program is None:
            reasons.append(f"{name} is not installed")
            continue
        one = Runtime(program, {"CONTAINERS_CONF": str(settings)} if name == "podman" else {})
        reason = works(one)
        if not reason:
            yield one
            one("rmi", "-f", IMAGE)
            return
        reasons.append(reason)
    pytest.skip("no container runs here (Debian: apt-get install podman runc): " + "; ".join(reasons))


@pytest.fixture
def command(tmp_path):
    one = Command(tmp_path)
    yield one
    one.end()
