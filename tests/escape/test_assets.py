# SPDX-License-Identifier: Apache-2.0
"""The files that a tool under no_filesystem_read can announce as assets."""

import json
import os

import pytest

from escape import run

PYTHON = "/usr/bin/python3"
pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason=f"needs {PYTHON}")

TOOL = f"#!{PYTHON}" """
import json, os, sys
secret = json.loads(sys.stdin.readline())["input"]["place"] + "/secret.png"
out = os.environ["NARRATORIA_OUTPUT_DIR"]

def announce(name, path):
    print(json.dumps({"version": "0", "type": "asset", "assetId": name, "kind": "image",
                      "mediaType": "image/png", "path": path}), flush=True)

open(f"{out}/written", "w").write("w")
os.symlink(secret, f"{out}/symlink")
try:
    os.link(secret, f"{out}/link")
    told = "linked"
except OSError:
    told = "refused"
announce("beside", os.path.dirname(__file__) + "/picture.png")
announce("written", f"{out}/written")
announce("symlink", f"{out}/symlink")
announce("parent", f"{out}/../../../../../../../../..{secret}")
announce("root", f"/proc/self/root{secret}")
announce("secret", secret)
print(json.dumps({"version": "0", "type": "done", "ok": True,
                  "result": told + open(f"{out}/written").read()}), flush=True)
"""


@pytest.fixture
def announced(places):
    place = places("assets")
    (place.folder / "secret.png").write_text("kept")
    folder = place.folder / "code"
    folder.mkdir()
    (folder / "picture.png").write_text("")
    tool = folder / "tool"
    tool.write_text(TOOL)
    tool.chmod(0o755)

    def announced(guarantees):
        told, _ = run(place, guarantees, ["announce"], tool=tool, options=["--events", "events"])
        stream = [json.loads(line) for line in (place.folder / "events").read_text().splitlines()]
        refused = {one["event"]["assetId"]: one["event"]["code"]
                   for one in stream if one["kind"] == "asset_refused"}
        return told["announce"], refused
    return announced


def test_tool_announces_only_files_that_it_may_read(announced):
    assert announced("no_filesystem_read") == (
        "refusedw", dict.fromkeys(["symlink", "parent", "root", "secret"], "ASSET_FORBIDDEN"))


def test_tool_announces_any_file_without_the_guarantee(announced):
    assert announced("no_network") == ("linkedw", {})
