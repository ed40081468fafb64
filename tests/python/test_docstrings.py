# SPDX-License-Identifier: Apache-2.0
"""Docstrings: every public name has one with an example, and every example gives its output."""

from __future__ import annotations

import doctest
import importlib
import inspect
import io
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SOURCE
from public_names import public_names

import narratoria

MODULES = sorted(
    f"narratoria.{module.name}"
    for module in pkgutil.iter_modules(narratoria.__path__)
    if module.name != "_core"
)
HOW = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples_of(thing: Any, name: str, names: dict[str, Any]) -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    return finder.find(thing, name, extraglobs=names) if thing is not None else []


def run_examples(tests: list[doctest.DocTest]) -> int:
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=HOW, verbose=False)
    for test in tests:
        runner.run(test, out=said.append, clear_globs=True)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    return runner.tries


@pytest.fixture(autouse=True)
def streams_as_they_are(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Some examples replace sys.stdin; for all others it is empty."""
    before, sys.stdin = sys.stdin, io.StringIO("")
    yield
    sys.stdin = before


@pytest.mark.parametrize("name", ["narratoria", *MODULES])
def test_examples_of_module_run(name: str) -> None:
    module = importlib.import_module(name)
    names = {public: getattr(module, public) for public in getattr(module, "__all__", ())}
    run_examples(examples_of(module, name, names))


def test_examples_of_compiled_event_run() -> None:
    # doctest does not find examples in compiled code, so each docstring is parsed here.
    parser = doctest.DocTestParser()
    tests = [
        parser.get_doctest(thing.__doc__, {}, name, "event.cpp", None)
        for name, thing in [("Event", narratoria.Event), *vars(narratoria.Event).items()]
        if not name.startswith("__") and thing.__doc__
    ]
    assert run_examples(tests) >= 7


@pytest.mark.parametrize("page", ["README.md", "bindings/python/README.md", "docs/python.md"])
def test_examples_of_page_run(page: str) -> None:
    """Runs the fenced blocks with prompts. They share their names."""
    text = Path(SOURCE, page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:python|pycon)\n(>>> .*?)^```", text, re.MULTILINE | re.DOTALL)
    run_examples([doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)])


def test_package_readme_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = Path(SOURCE, "bindings/python/README.md").read_text(encoding="utf-8")
    [code] = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == "You reach for the torch on the wall.\n"


def test_every_public_name_has_a_docstring() -> None:
    names = dict(public_names())
    assert len(names) > 120
    bare = [name for name, thing in names.items() if not (thing.__doc__ or "").strip()]
    # Python gives a dataclass without a docstring its signature as docstring.
    bare += [
        name
        for name, thing in names.items()
        if isinstance(thing, type) and (thing.__doc__ or "").startswith(f"{thing.__name__}(")
    ]
    assert bare == []


def test_every_public_class_and_function_has_an_example() -> None:
    def is_described(thing: Any) -> bool:
        # A property needs no example; classes, functions and methods do.
        return not isinstance(thing, property) and not inspect.isgetsetdescriptor(thing)

    without = [
        name
        for name, thing in public_names()
        if is_described(thing) and ">>>" not in (thing.__doc__ or "")
    ]
    assert without == []


def test_dir_lists_names_and_unknown_name_raises() -> None:
    assert set(narratoria.__all__) <= set(dir(narratoria))
    assert narratoria.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        narratoria.Nonsense
