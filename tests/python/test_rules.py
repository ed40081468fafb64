# SPDX-License-Identifier: Apache-2.0
"""The package applies the same rules as the runtime: tests/conformance/cases."""

import io
import json
from pathlib import Path

import pytest

from narratoria import Session
from narratoria.tool import InvalidInput, read_request

CASES = Path(__file__).resolve().parents[1] / "conformance" / "cases"


def cases(name):
    return json.loads((CASES / f"{name}.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", cases("utf8"), ids=lambda case: case["what"])
def test_tool_accepts_same_utf8_as_runtime(case):
    text = bytes.fromhex(case["hex"])
    source = io.BytesIO(b'{"tool": "' + text + b'"}')
    if case["valid"] < len(text):
        with pytest.raises(InvalidInput, match="not UTF-8"):
            read_request(source)
    elif b"\0" in text:
        with pytest.raises(InvalidInput, match="not JSON"):
            read_request(source)
    else:
        assert read_request(source).tool == text.decode()


@pytest.mark.parametrize("case", cases("merge-patch"), ids=lambda case: json.dumps(case["patch"]))
def test_patch_follows_merge_table(case):
    with Session(state=case["state"]) as session:
        session.state.patch(case["patch"])
        assert session.state.to_dict() == case["result"]
