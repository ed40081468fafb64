# SPDX-License-Identifier: Apache-2.0
"""GET / and /app/NAME: the page's files, embedded in the library (plugins/web/README.md)."""

import base64
import hashlib
import re

import pytest

from serving import SOURCE

DIST = SOURCE / "plugins/web/page/dist"
APP = sorted(file for file in (DIST / "app").rglob("*") if file.is_file())
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".woff2": "font/woff2", ".png": "image/png"}

pytestmark = pytest.mark.skipif(not (DIST / "index.html").exists(), reason="the page was not built")


def test_page_is_served(page):
    answer = page.get("/").has(200)
    assert answer.body == (DIST / "index.html").read_bytes()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    head = page.ask("HEAD", "/")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == str(len(answer.body))


def test_every_page_file_is_served_with_its_type(page):
    for file in APP:
        answer = page.get(f"/{file.relative_to(DIST).as_posix()}").has(200)
        assert answer.body == file.read_bytes()
        if file.suffix in TYPES:
            assert answer.headers["Content-Type"] == TYPES[file.suffix]


def test_only_files_with_a_hash_in_the_name_are_immutable(page):
    for file in APP:
        path = f"/{file.relative_to(DIST).as_posix()}"
        answer = page.get(path)
        has_hash = re.search(r"-(?=[\w-]*[A-Z0-9])[\w-]{8}\.[a-z0-9]+$", file.name)
        assert answer.headers["Cache-Control"] == (
            "public, max-age=31536000, immutable" if has_hash else "no-cache")
        again = page.get(path, If_None_Match=answer.headers["ETag"])
        assert (again.status, again.body) == (304, b"")
        assert page.get(path, If_None_Match='"other"').body == answer.body


def test_scripts_and_style_sheets_have_integrity_hashes():
    html = (DIST / "index.html").read_text()
    tags = re.findall(r"<script[^>]*>|<link rel=\"stylesheet\"[^>]*>", html)
    assert len(tags) >= 2
    for tag in tags:
        name = re.search(r'(?:src|href)="/([^"]+)"', tag)[1]
        hashed = base64.b64encode(hashlib.sha384((DIST / name).read_bytes()).digest()).decode()
        assert f'integrity="sha384-{hashed}"' in tag and "crossorigin" in tag


def test_entrance_allows_only_its_inline_script_and_style():
    html = (DIST / "enter.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)[1]
    assert policy.startswith("default-src 'none'; ")
    for name in ("script", "style"):
        [content] = re.findall(rf"<{name}>(.*?)</{name}>", html, re.DOTALL)
        hashed = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{hashed}'" in policy
    assert not re.search(r'src="|href="(?!data:,)', html)


def test_browser_without_the_cookie_gets_the_entrance(page):
    answer = page.get("/", cookie=None, Accept="text/html,*/*;q=0.8")
    assert (answer.status, answer.body) == (200, (DIST / "enter.html").read_bytes())
    assert answer.headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    for cookie in (None, ""):
        assert page.get("/enter.html", cookie=cookie).status == (404 if cookie == "" else 403)


def test_page_itself_is_not_cached(page):
    assert page.get("/").headers["Cache-Control"] == "no-store"


def test_page_loads_nothing_from_the_internet():
    for file in [DIST / "index.html", *APP]:
        if file.suffix in (".html", ".css"):
            assert not re.search(rb"(src|href|url\()\s*[=(]?\s*[\"']?(https?:)?//", file.read_bytes())
