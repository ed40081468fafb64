# SPDX-License-Identifier: Apache-2.0
"""A container runtime, docker or podman, and an image for it."""

import os
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
# Each pytest worker has its own image, which distinguishes its containers from those of other
# workers.
IMAGE = f"localhost/narratoria-test-{os.getpid()}"

# With these settings podman also runs where it cannot raise limits.
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
        """The containers of this worker, running or not."""
        listed = self("ps", "-a", "--filter", f"ancestor={IMAGE}", "--format", "{{.Names}}")
        return listed.stdout.split()


def make_image(one, name, tools=FOLDER / "tools"):
    return subprocess.run([FOLDER / "image.sh", one.program, name, tools], env={**os.environ, **one.environment},
                          capture_output=True, text=True, timeout=300)


def works(one):
    """Makes the image and runs it; returns why that fails, or an empty text."""
    made = make_image(one, IMAGE)
    if made.returncode == 0:
        made = one("run", "--rm", IMAGE, "python", "-c", "print('ran')")
    if made.returncode == 0 and "ran" in made.stdout:
        return ""
    return f"{one.program}: {(made.stderr or made.stdout).strip()[-300:]}"
