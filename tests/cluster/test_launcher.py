# SPDX-License-Identifier: Apache-2.0
"""Tools of a story that run on a cluster, by the plugin narratoria.launcher."""

import re
import shutil

import pytest

import narratoria
from conftest import BUILD

TORCH = BUILD / "share/narratoria/stories/torch"


@pytest.fixture
def story(tmp_path):
    """The sample story with tools that run on the cluster."""
    folder = tmp_path / "torch"
    shutil.copytree(TORCH, folder)
    prompts = folder / "prompts.json"
    prompts.write_text(prompts.read_text().replace('"toolPath": "', '"toolPath": "launcher:'))
    with open(folder / "story.toml", "a") as file:
        file.write('\n[plugins."narratoria.launcher"]\ncommand = ["srun", "--quiet", "-N1", "-n1"]\n')
    return folder


def played(story, environment, *prompts):
    """Plays the prompts; returns the records without times, ids and the prefix "launcher:"."""
    records = []
    with narratoria.Session(story=story, environment=environment) as session:
        session.add_sink(lambda event: records.append((event.kind, event.tool_id, repr(event.body))))
        for prompt in prompts:
            turn = session.play(prompt)
            assert turn.outcome == "completed", (prompt, session, records)
    text = repr(records).replace("launcher:", "")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|torch-\w+(?=\.png)", "ID", text)
    return re.sub(r"(executionTime|timestamp|time|Ms)('|\")?: ?[^,}]*", r"\1: 0", text)


def test_story_has_the_same_records_on_a_cluster_and_locally(cluster, story):
    prompts = ["I light the torch and examine the door", "I open the door"]
    environment = {"SLURM_CONF": str(cluster.configuration)}
    assert played(story, environment, *prompts) == played(TORCH, {}, *prompts)
    assert cluster.jobs() == []
