# SPDX-License-Identifier: Apache-2.0
"""What every test of the command gets: a folder of its own, and a way to run the command in it."""

import pytest

from harness import Command


@pytest.fixture
def command(tmp_path):
    """The command, run in a fresh folder; nothing of it is left running after the test."""
    one = Command(tmp_path)
    yield one
    one.end()
