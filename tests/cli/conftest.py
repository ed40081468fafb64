# SPDX-License-Identifier: Apache-2.0
"""What every test of the command gets: a folder of its own, and a way to run the command in it."""

import pytest

from harness import Command


@pytest.fixture(autouse=True)
def data(tmp_path_factory, monkeypatch):
    """The folder of the user's data, where games are kept: never the real one."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def command(tmp_path):
    """The command, run in a fresh folder; nothing of it is left running after the test."""
    one = Command(tmp_path)
    yield one
    one.end()
