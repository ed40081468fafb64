# SPDX-License-Identifier: Apache-2.0
"""The story that docs/narrators.md makes is valid and names the server."""

import re
import subprocess
import tomllib

from harness import SOURCE

PAGE = (SOURCE / "docs" / "narrators.md").read_text(encoding="utf-8")


def test_the_story_on_the_page_is_valid_and_names_the_server(command, tmp_path):
    commands = re.search(r"## 2\. .*?```sh\n(.*?)```", PAGE, re.DOTALL).group(1)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    subprocess.run(["sh", "-ec", commands], cwd=tmp_path, check=True)
    command("validate", "story", "--plugins", tmp_path / "model-torch").exits(0)
    written = tomllib.loads((tmp_path / "model-torch" / "story.toml").read_text())
    assert written["times"]["narrator_ms"] == 120000
    assert written["plugins"]["narratoria.narrator_llm"]["server"] == "llama.cpp"
