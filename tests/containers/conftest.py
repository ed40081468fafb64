# SPDX-License-Identifier: Apache-2.0
"""A container runtime that works here, and an image that it runs. Without one the tests are skipped,
with what is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "cli"))

from harness import Command  # noqa: E402

IMAGE = "localhost/narratoria-test"

# Where podman is asked to be modest, it also runs where limits cannot be raised.
MODEST = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
"""


class Runtime:
    def __init__(self, program, environment):
        self.program = program
        self.environment = environment

    def __call__(self, *arguments, **options):
        return subprocess.run([self.program, *arguments], env={**os.environ, **self.environment},
                              capture_output=True, text=True, timeout=300, **options)

    def names(self):
        """The containers of any host, running or not."""
        listed = self("ps", "-a", "--filter", "name=^narratoria-", "--format", "{{.Names}}")
        return listed.stdout.split()


def works(one):
    """Why it runs no container here, or an empty text. Makes the image."""
    made = subprocess.run([FOLDER / "image.sh", one.program, IMAGE], env={**os.environ, **one.environment},
                          capture_output=True, text=True, timeout=300)
    if made.returncode == 0:
        made = one("run", "--rm", IMAGE, "python", "-c", "print('ran')")
    if made.returncode == 0 and "ran" in made.stdout:
        return ""
    return f"{one.program}: {(made.stderr or made.stdout).strip()[-300:]}"


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
