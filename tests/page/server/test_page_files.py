# SPDX-License-Identifier: Apache-2.0
"""GET / and /app/NAME: the page's files, which are inside the library (plugins/web/README.md)."""

import re

import pytest

from serving import SOURCE

DIST = SOURCE / "plugins/web/page/dist"
APP = sorted(file for file in (DIST / "app").rglob("*") if file.is_file())
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".woff2": "font/woff2", ".png": "image/png"}

pytestmark = pytest.mark.skipif(not (DIST / "index.html").exists(), reason="the page was not built")


def test_the_page_is_there(serve):
    page = serve()
    answer = page.get("/")
    assert answer.status == 200
    assert answer.body == (DIST / "index.html").read_bytes()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    head = page.ask("HEAD", "/")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(answer.body))


def test_every_file_of_it_is_there_with_its_type(serve):
    page = serve()
    for file in APP:
        answer = page.get(f"/{file.relative_to(DIST).as_posix()}")
        assert answer.status == 200
        assert answer.body == file.read_bytes()
        if file.suffix in TYPES:
            assert answer.headers["Content-Type"] == TYPES[file.suffix]


def test_a_file_with_a_hash_in_its_name_is_kept_for_ever_and_another_is_asked_for_again(serve):
    page = serve()
    for file in APP:
        path = f"/{file.relative_to(DIST).as_posix()}"
        answer = page.get(path)
        has_hash = re.search(r"-(?=[\w-]*[A-Z0-9])[\w-]{8}\.[a-z0-9]+$", file.name)
        assert answer.headers["Cache-Control"] == (
            "public, max-age=31536000, immutable" if has_hash else "no-cache")
        again = page.get(path, If_None_Match=answer.headers["ETag"])
        assert (again.status, again.body) == (304, b"")
        assert page.get(path, If_None_Match='"other"').body == answer.body


def test_the_page_itself_is_never_kept(serve):
    page = serve()
    assert page.get("/").headers["Cache-Control"] == "no-store"


def test_nothing_in_it_comes_from_the_internet():
    for file in [DIST / "index.html", *APP]:
        if file.suffix in (".html", ".css"):
            assert not re.search(rb"(src|href|url\()\s*[=(]?\s*[\"']?(https?:)?//", file.read_bytes())
