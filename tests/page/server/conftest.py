# SPDX-License-Identifier: Apache-2.0
"""The fixture of all tests of the page: a served story."""

import pytest

from serving import Command, Page, assets_of, done, has_page, picture, plan, said


@pytest.fixture
def serve(tmp_path):
    """serve(prompts, tools) serves a new story; serve(story=FOLDER) serves the given one."""
    if not has_page():
        pytest.skip("built without libmicrohttpd, so there is no page")
    pages = []

    def start(prompts=None, tools=(), story=None, arguments=(), env=None, toml='title = "A test"\n'):
        command = Command(tmp_path)
        pages.append(Page(tmp_path, story or command.story(prompts or {}, tools, toml=toml),
                          *arguments, env=env))
        return pages[-1]

    yield start
    for page in pages:
        page.end()


@pytest.fixture
def announced(serve):
    """announced(path) serves a story whose tool announces that path; returns the page and the number of
    the event."""
    def make(path, media_type="image/png"):
        page = serve({"go": [plan("make")]}, {"make": said(picture(path, media_type), done())})
        [seq] = assets_of(page.play())
        return page, seq

    return make


@pytest.fixture
def page(serve):
    """The page of a story with nothing in it."""
    return serve()
