# SPDX-License-Identifier: Apache-2.0
"""Fixtures for tests of the command: a folder for each test and a way to run the command in it."""

import pytest

from harness import Command
from project_folders import Project


@pytest.fixture(autouse=True)
def data(tmp_path_factory, monkeypatch):
    """Replaces the user's data folder, where games are saved, by a temporary one."""
    folder = tmp_path_factory.mktemp("data")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def command(tmp_path):
    """Runs the command in a fresh folder; ends its processes after the test."""
    one = Command(tmp_path)
    yield one
    one.end()


@pytest.fixture
def project(command):
    """A Namel3ss project in that folder."""
    return Project(command)
