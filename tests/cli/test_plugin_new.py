# SPDX-License-Identifier: Apache-2.0
"""narratoria plugin new: the files that it writes and the arguments that it refuses.

tests/install/new_plugins.sh shows that the written plugins build and pass.
"""

import os
import resource

import pytest

from harness import tree

KINDS = ["ui-handler", "asset-renderer", "narrator", "tool-runner", "tool", "event-sink"]
FILES = ["CMakeLists.txt", "README.md", ".gitignore", "test/host.h", "test/plugin_test.c"]


def new(command, name="paper-rain", kind="ui-handler", *more):
    return command("plugin", "new", name, "--kind", kind, *more)


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize("kind", KINDS)
def test_plugin_new_writes_a_complete_folder(command, kind, language):
    ran = new(command, "paper-rain", kind, "--lang", language).exits(0)
    assert ran.err == ""
    assert "cmake --build build && ctest --test-dir build" in ran.out
    folder = command.folder / "paper-rain"
    assert tree(folder) == sorted([*FILES, f"paper-rain.{language}"])
    for file in tree(folder):
        text = (folder / file).read_text()
        assert text.endswith("\n") and len(text) > 5, file
        for word in ("@NAME@", "@ID@", "@CLASS@", "@TITLE@"):
            assert word not in text, file
    assert "org.example.paper-rain" in (folder / f"paper-rain.{language}").read_text()
    readme = (folder / "README.md").read_text()
    assert "Paper rain" in readme
    selects = '```toml\n[plugins."org.example.paper-rain"]\n\n[narrator]\nname = "org.example.paper-rain"\n```' in readme
    assert selects == (kind == "narrator")


def test_default_language_is_cpp(command):
    assert new(command).status == 0
    assert (command.folder / "paper-rain" / "paper-rain.cpp").exists()


@pytest.mark.parametrize(
    "name",
    ["", "Rain", "2rain", "-rain", "_rain", "rain.cpp", "rain fall", "rain/fall", "../rain", "/rain",
     ".", "régen", "rain\n", "r" * 65, 'rain"', "rain;fall", "$rain"],
    ids=repr,
)
def test_invalid_name_is_refused_with_the_allowed_characters(command, name):
    # After "--", because one of the names begins with a dash.
    ran = command("plugin", "new", "--kind", "tool", "--", name).exits(2, "a-z 0-9 - _", out="")
    assert ran.err.count("\n") == 1
    assert os.listdir(command.folder) == []


def test_longest_name_is_accepted(command):
    assert new(command, "r" * 64).status == 0


@pytest.mark.parametrize("name", ["test", "all", "install", "clean"])
def test_name_that_cmake_reserves_is_refused(command, name):
    new(command, name).exits(2, f"{name}-plugin")
    assert os.listdir(command.folder) == []


def test_existing_folder_is_refused_and_left_unchanged(command):
    (command.folder / "paper-rain").mkdir()
    command.file("paper-rain/mine", "precious")
    new(command).exits(2, "paper-rain", "exists", out="")
    assert tree(command.folder) == ["paper-rain/mine"]


@pytest.mark.parametrize("make", [
    lambda path: path.write_text("precious"),
    lambda path: path.symlink_to("nowhere"),
], ids=["a file", "a link to nothing"])
def test_existing_file_or_link_is_left_unchanged(command, make):
    make(command.folder / "paper-rain")
    new(command).exits(2, "paper-rain")
    assert os.listdir(command.folder) == ["paper-rain"]
    assert os.listdir(command.folder.parent).count("nowhere") == 0


@pytest.mark.parametrize("kind", ["", "ui_handler", "UI-HANDLER", "plugin"])
def test_unknown_kind_is_refused_with_the_known_ones(command, kind):
    ran = new(command, "paper-rain", kind).exits(2, out="")
    for known in KINDS:
        assert known in ran.err
    assert os.listdir(command.folder) == []


def test_unknown_language_is_refused_with_the_known_ones(command):
    new(command, "paper-rain", "tool", "--lang", "cobol").exits(2, '"cobol"', "c, cpp")
    assert os.listdir(command.folder) == []


@pytest.mark.parametrize("arguments", [["plugin", "new"], ["plugin", "new", "paper-rain"],
                                       ["plugin", "new", "--kind", "tool"]], ids=" ".join)
def test_missing_argument_points_to_the_help(command, arguments):
    command(*arguments).exits(2, "narratoria plugin new --help")
    assert os.listdir(command.folder) == []


def test_unwritable_folder_is_refused(command):
    closed = command.folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    if os.access(closed, os.W_OK):
        pytest.skip("this user may write everywhere")
    command("plugin", "new", "paper-rain", "--kind", "tool", cwd=closed).exits(2, "Permission denied")


def test_write_error_leaves_no_files(command):
    ran = command("plugin", "new", "paper-rain", "--kind", "tool", limit=(resource.RLIMIT_FSIZE, 2000))
    ran.exits(1, "cannot write paper-rain/", "File too large")
    assert os.listdir(command.folder) == []
