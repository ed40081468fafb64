# SPDX-License-Identifier: Apache-2.0
"""Values round-trip unchanged; the merge is that of RFC 7396."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import one

import narratoria
from narratoria import _core

TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)


def is_same(one_value: Any, other: Any) -> bool:
    """Compares values and types: True is not 1, and 1 is not 1.0."""
    if type(one_value) is not type(other):
        return False
    if isinstance(one_value, dict):
        return list(one_value) == list(other) and all(
            is_same(each, other[name]) for name, each in one_value.items()
        )
    if isinstance(one_value, list):
        return len(one_value) == len(other) and all(map(is_same, one_value, other))
    if isinstance(one_value, float):
        return one_value == other and math.copysign(1, one_value) == math.copysign(1, other)
    return bool(one_value == other)


@given(VALUES)
def test_values_round_trip_through_text(value: Any) -> None:
    assert is_same(_core.from_json(_core.to_json(value)), value)


@given(VALUES)
def test_text_is_valid_json(value: Any) -> None:
    assert is_same(json.loads(_core.to_json(value)), value)


@given(VALUES, st.booleans())
def test_json_of_other_writers_is_read(value: Any, is_ascii: bool) -> None:
    assert is_same(_core.from_json(json.dumps(value, ensure_ascii=is_ascii, indent=1)), value)


@given(st.text(max_size=40))
def test_same_text_is_refused_as_by_json_module(text: str) -> None:
    def whole(digits: str) -> int | float:
        # An integer of more than 64 bits becomes the nearest float.
        number = int(digits)
        return number if -(2**63) <= number < 2**64 else float(digits)

    try:
        expected = json.loads(text, parse_int=whole)
        text.encode()
    except (ValueError, RecursionError):
        with pytest.raises(ValueError):
            _core.from_json(text)
    else:
        if not any(word in text for word in ("NaN", "Infinity")):
            assert _core.from_json(text) == expected


@settings(max_examples=50)
@given(VALUES)
def test_values_round_trip_through_tool(value: Any) -> None:
    with narratoria.Session() as session:

        @session.tool
        def echo(value: Any) -> Any:
            return value

        assert is_same(session.execute(one("echo", {"value": value}))["t"].result, value)


def merged(target: Any, patch: Any) -> Any:
    """The algorithm of RFC 7396, as in its text."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        else:
            out[name] = merged(out.get(name), value)
    return out


@settings(max_examples=100)
@given(OBJECTS, st.lists(OBJECTS, max_size=4))
def test_merge_equals_rfc_7396(start: dict[str, Any], patches: list[dict[str, Any]]) -> None:
    expected: Any = start
    with narratoria.Session(state=start) as session:
        for patch in patches:
            session.state.patch(patch)
            expected = merged(expected, patch)
        assert session.state.to_dict() == expected
        for name, value in expected.items():
            assert is_same(session.state[name], value)


def test_too_deep_value_is_refused() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    assert _core.from_json(_core.to_json(deep)) == deep
    with pytest.raises(ValueError, match="deep"):
        _core.from_json("[" * 100_000)


def test_subclasses_are_written_as_base_type() -> None:
    class Word(str):
        pass

    class Colour(enum.IntEnum):
        RED = 1

    assert _core.to_json([Word("a"), Colour.RED, (1, 2)]) == '["a",1,[1,2]]'
