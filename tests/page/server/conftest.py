# SPDX-License-Identifier: Apache-2.0
"""What every test of the page gets: a story of its own, served."""

import pytest

from serving import Command, Page, has_page


@pytest.fixture
def serve(tmp_path):
    """serve(prompts, tools) is a page of a story with these; serve(story=FOLDER) of that one."""
    if not has_page():
        pytest.skip("built without libmicrohttpd: there is no page")
    pages = []

    def start(prompts=None, tools=(), story=None, arguments=(), env=None, toml='title = "A test"\n'):
        command = Command(tmp_path)
        pages.append(Page(tmp_path, story or command.story(prompts or {}, tools, toml=toml),
                          *arguments, env=env))
        return pages[-1]

    yield start
    for page in pages:
        page.end()
