# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings run, and everything public has one."""

import doctest
import importlib
import inspect
import io
import sys

import pytest

# DocumentError of _document is public, and is tested, as a name of documents.
MODULES = ["_function", "_html", "documents", "events", "tool"]
# The example of their class shows them.
WITHOUT_EXAMPLE = {"from_dict", "kind", "record_kind", "to_dict"}


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    module = importlib.import_module("narratoria." + name)
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0


def documented(module):
    for name in module.__all__:
        value = getattr(module, name)
        yield name, value
        if inspect.isclass(value):
            for inner, member in vars(value).items():
                if not inner.startswith("_") and (
                    inspect.isfunction(member) or isinstance(member, property)
                ):
                    yield f"{name}.{inner}", member


@pytest.mark.parametrize("name", ["documents", "events", "tool"])
def test_everything_public_is_documented(name):
    module = importlib.import_module("narratoria." + name)
    for path, value in documented(module):
        documentation = inspect.getdoc(value) or ""
        assert documentation, path
        last = path.rpartition(".")[2]
        assert ">>>" in documentation or last in WITHOUT_EXAMPLE, path
