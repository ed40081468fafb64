# SPDX-License-Identifier: Apache-2.0
"""GET /api/assets/SEQ: the files of tools (plugins/web/README.md)."""

import os

import pytest

from serving import assets_of, done, event, is_asset, patch, picture, plan, said

CONTENT = bytes(range(256)) * 400


@pytest.fixture
def asset(announced, tmp_path):
    """asset(media type, content) returns the page, the number of the event, and the file."""

    def make(media_type="image/png", content=CONTENT, name="picture.png"):
        file = tmp_path / name
        file.write_bytes(content)
        return *announced(file, media_type), file

    return make


def test_an_asset_is_the_file_of_its_event(asset):
    page, seq, _ = asset()
    answer = page.get(f"/api/assets/{seq}").has(200)
    assert answer.body == CONTENT
    assert answer.headers["Content-Type"] == "image/png"
    assert answer.headers["Content-Length"] == str(len(CONTENT))
    assert answer.headers["Accept-Ranges"] == "bytes"
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_game_that_continues_lists_the_assets_of_its_turns(serve, tmp_path):
    """On one line, whatever white space a tool used, and without those of an earlier attempt."""
    (tmp_path / "a.png").write_bytes(b"a")
    asset = picture(tmp_path / "a.png")[:-1] + ',"metadata":{"alt":\r"x"}}'
    draws = said(asset, done(), before=f"[ -e {tmp_path}/again ] || {{ touch {tmp_path}/again; cat; exit 1; }} <<'E'\n{asset}\nE")
    twice = plan("draw")
    twice["plan"]["tools"][0]["retryPolicy"]["maxRetries"] = 1
    game = {"prompts": {"go": [twice]}, "tools": {"draw": draws}, "arguments": ("--store", str(tmp_path / "saves.db"))}
    page = serve(**game)
    [_, seq] = assets_of(page.play())
    page.end()
    page = serve(**game)
    [asset] = page.stream().begin().session["turns"][0]["assets"]
    assert (asset["seq"], asset["metadata"]) == (seq, {"alt": "x"})
    page.get(f"/api/assets/{seq}").has(200)
    # A move from a turn that it is not at is refused before the first record, too.
    page.post("/api/undo", b'{"turn": 9}', Content_Type="application/json").has(409, "OTHER_TURN")


def test_head_has_the_same_headers_without_a_body(asset):
    page, seq, _ = asset()
    whole, head = page.get(f"/api/assets/{seq}"), page.ask("HEAD", f"/api/assets/{seq}")
    assert head.status == 200 and head.body == b""
    for name in ("Content-Type", "Content-Length", "ETag", "Content-Security-Policy"):
        assert head.headers[name] == whole.headers[name]


@pytest.mark.parametrize("asked, first, last", [
    ("bytes=0-3", 0, 3), ("bytes=100-", 100, 102399), ("bytes=-7", 102393, 102399),
    ("bytes=102399-102399", 102399, 102399), ("bytes=5-999999999", 5, 102399),
    ("bytes=-999999999", 0, 102399), ("bytes=0-99999999999999999999999", 0, 102399),
])
def test_single_range_returns_that_part(asset, asked, first, last):
    page, seq, _ = asset()
    answer = page.get(f"/api/assets/{seq}", Range=asked).has(206)
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/{len(CONTENT)}"
    assert answer.headers["Content-Length"] == str(last - first + 1)
    assert answer.body == CONTENT[first:last + 1]


@pytest.mark.parametrize("asked", ["bytes=102400-", "bytes=999999-9999999", "bytes=-0"])
def test_range_after_the_end_is_not_satisfiable(asset, asked):
    page, seq, _ = asset()
    answer = page.get(f"/api/assets/{seq}", Range=asked).has(416)
    assert answer.headers["Content-Range"] == f"bytes */{len(CONTENT)}"


@pytest.mark.parametrize("asked", ["bytes=0-1,5-6", "bytes=", "bytes=-", "bytes=5-1", "lines=0-1",
                                   "bytes=a-b", "bytes=1-2x", "bytes 0-1", "bytes=+1-2"])
def test_multiple_or_invalid_ranges_are_ignored(asset, asked):
    page, seq, _ = asset()
    answer = page.get(f"/api/assets/{seq}", Range=asked)
    assert (answer.status, answer.body) == (200, CONTENT)


def test_if_range_mismatch_returns_the_whole_file(asset):
    page, seq, _ = asset()
    tag = page.get(f"/api/assets/{seq}").headers["ETag"]
    assert page.get(f"/api/assets/{seq}", Range="bytes=0-3", If_Range=tag).status == 206
    answer = page.get(f"/api/assets/{seq}", Range="bytes=0-3", If_Range='"another"')
    assert (answer.status, answer.body) == (200, CONTENT)


def replace(file):
    other = file.with_name("other")
    other.write_bytes(CONTENT)
    os.replace(other, file)


def link(file):
    file.rename(file.with_name("moved"))
    file.symlink_to("/etc/passwd")


def link_to_a_copy(file):
    copy = file.with_name("copy")
    copy.write_bytes(CONTENT)
    file.unlink()
    file.symlink_to(copy)


def write_with_the_same_size(file):
    with open(file, "r+b") as opened:
        opened.write(b"other")
    os.utime(file, ns=(1, 1))


@pytest.mark.parametrize("change", [
    replace, link, link_to_a_copy, write_with_the_same_size, lambda file: file.write_bytes(b"something else"),
    lambda file: os.truncate(file, 10)], ids=["replaced", "link", "copy", "same size", "written", "truncated"])
def test_replaced_or_changed_file_is_refused(asset, change):
    page, seq, file = asset()
    change(file)
    answer = page.get(f"/api/assets/{seq}").has(410, "ASSET_CHANGED")
    assert "replaced or written to since" in answer.json["message"]


def test_relative_path_is_identified_at_its_event(announced, tmp_path):
    (tmp_path / "a").write_bytes(b"picture")
    (tmp_path / "b").write_bytes(b"secrets")
    # Relative to the server's working folder, which the test does not know.
    path = "../" * 40 + str(tmp_path / "a").lstrip("/")
    page, seq = announced(path)
    # Replaced before the first request.
    os.replace(tmp_path / "b", tmp_path / "a")
    assert page.get(f"/api/assets/{seq}").code == "ASSET_CHANGED"


def test_swapped_parent_folder_is_refused(announced, tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "secrets").mkdir()
    (tmp_path / "pictures/a").write_bytes(b"picture")
    (tmp_path / "secrets/a").write_bytes(b"secrets")
    page, seq = announced(tmp_path / "pictures/a")
    assert page.get(f"/api/assets/{seq}").body == b"picture"
    (tmp_path / "pictures").rename(tmp_path / "moved")
    (tmp_path / "pictures").symlink_to(tmp_path / "secrets")
    assert page.get(f"/api/assets/{seq}").code == "ASSET_CHANGED"
    (tmp_path / "pictures").unlink()
    (tmp_path / "moved").rename(tmp_path / "pictures")
    assert page.get(f"/api/assets/{seq}").body == b"picture"


def test_announced_link_serves_its_original_target(announced, tmp_path):
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    page, seq = announced(tmp_path / "link")
    assert page.get(f"/api/assets/{seq}").body == b"a"
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "b")
    assert page.get(f"/api/assets/{seq}").code == "ASSET_CHANGED"


def test_empty_file_has_an_empty_body(asset):
    page, seq, _ = asset(content=b"")
    answer = page.get(f"/api/assets/{seq}")
    assert (answer.status, answer.body) == (200, b"")
    assert page.get(f"/api/assets/{seq}", Range="bytes=0-").status == 416


def test_large_file_is_complete(asset):
    content = os.urandom(20_000_000)
    page, seq, _ = asset("video/mp4", content)
    assert page.get(f"/api/assets/{seq}").body == content


@pytest.mark.parametrize("media_type", [
    "image/png", "image/svg+xml", "text/plain", "text/html", "videos/mp4",
    "application/pdf", "model/gltf-binary", "text/plain; charset=utf-8"])
def test_every_media_type_is_sandboxed_without_scripts(asset, media_type):
    page, seq, _ = asset(media_type)
    answer = page.get(f"/api/assets/{seq}")
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert "sandbox" in policy and "default-src 'none'" in policy
    assert not any("script" in part for part in policy)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Content-Type"] == media_type


@pytest.mark.parametrize("media_type", ["audio/ogg", "video/mp4", "AUDIO/wav", "video/webm; codecs=vp9"])
def test_audio_and_video_play_in_their_own_tab(asset, media_type):
    """In a sandbox, the page in which a browser wraps them would have a different origin."""
    page, seq, _ = asset(media_type)
    headers = page.get(f"/api/assets/{seq}").headers
    policy = headers["Content-Security-Policy"].split("; ")
    assert "default-src 'none'" in policy and "media-src 'self'" in policy
    assert not any("script" in part or "sandbox" in part for part in policy)
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("media_type, disposition", [
    ("image/svg+xml", "inline"), ("IMAGE/PNG", "inline"), ("audio/ogg", "inline"),
    ("video/mp4", "inline"), ("model/obj", "inline"), ("text/plain; charset=utf-8", "inline"),
    ("text/html", "attachment"), ("application/xhtml+xml", "attachment"),
    ("application/pdf", "attachment"), ("text/xml", "attachment")])
def test_active_content_is_a_download(asset, media_type, disposition):
    page, seq, _ = asset(media_type)
    assert page.get(f"/api/assets/{seq}").headers["Content-Disposition"].startswith(disposition)


def test_file_name_is_safe_in_its_header(asset):
    page, seq, _ = asset(name='a";x="\r\nSet-Cookie: a=b\r\n.png')
    answer = page.get(f"/api/assets/{seq}").has(200)
    assert answer.headers["Content-Disposition"] == 'inline; filename="a__x____Set-Cookie__a_b__.png"'
    assert "Set-Cookie" not in answer.headers


def test_asset_replaced_by_a_later_attempt_is_gone(serve, tmp_path):
    first, second = tmp_path / "first.png", tmp_path / "second.png"
    first.write_bytes(b"first")
    second.write_bytes(b"second")
    tool = (f"#!/bin/sh\ncat >/dev/null\nif [ -e {tmp_path}/again ]; then\n"
            f"echo '{picture(second)}'\n"
            f"echo '{done()}'\nelse\ntouch {tmp_path}/again\n"
            f"echo '{picture(first)}'\n"
            f"echo '{done(ok=False)}'\nfi\n")
    twice = plan("make")
    twice["plan"]["tools"][0]["retryPolicy"]["maxRetries"] = 1
    page = serve({"go": [twice]}, {"make": tool})
    page.prompt("go")
    one, other = assets_of(page.stream().until_turn_ended())
    assert page.get(f"/api/assets/{one}").code == "NO_SUCH_ASSET"
    assert page.get(f"/api/assets/{other}").body == b"second"


def test_missing_file_is_unreadable(asset):
    page, seq, file = asset()
    assert page.get(f"/api/assets/{seq}").status == 200
    file.unlink()
    page.get(f"/api/assets/{seq}").has(404, "ASSET_UNREADABLE")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)],
                         ids=["fifo", "folder", "device"])
def test_replacement_that_is_not_a_file_is_not_read(asset, make):
    page, seq, file = asset()
    file.unlink()
    make(file)
    assert page.get(f"/api/assets/{seq}").code == "ASSET_CHANGED"


def test_file_that_shrinks_aborts_the_response(asset):
    page, seq, file = asset(content=bytes(20_000_000))
    connection = page.connect()
    connection.sendall(f"GET /api/assets/{seq} HTTP/1.1\r\nHost: {page.host}:{page.port}\r\n"
                       f"Cookie: {page.cookie}\r\n\r\n".encode())
    came = len(connection.recv(1000))
    os.truncate(file, 100)
    while piece := connection.recv(1 << 20):
        came += len(piece)
    assert came < 20_000_000


@pytest.mark.parametrize("path", [
    "/api/assets/", "/api/assets/0", "/api/assets/1", "/api/assets/999999", "/api/assets/-1",
    "/api/assets/1x", "/api/assets/99999999999999999999999", "/api/assets/../../etc/passwd",
    "/api/assets/%2e%2e/%2e%2e/etc/passwd", "/api/assets/%2Fetc%2Fpasswd", "/api/assets//etc/passwd",
    "/api/assets/..%5c..%5cetc%5cpasswd", "/api/assets/%00"])
def test_other_paths_are_not_assets(asset, path):
    page, _, _ = asset()
    page.get(path).has(404, "NO_SUCH_ASSET")


def test_refused_asset_is_not_served(serve):
    page = serve({"go": [plan("make")]}, {"make": said(patch(a=1), picture("/no/such/file"), done())})
    [seq] = assets_of(page.play())
    assert page.get(f"/api/assets/{seq}").code == "NO_SUCH_ASSET"


def asset_event(number, path):
    return event("asset", assetId=f"a{number}", kind="image", mediaType="image/png", path=str(path),
                 metadata={"prompt": "x" * 1500})


def test_lookup_stays_cheap_while_thousands_of_assets_come(serve, tmp_path):
    (tmp_path / "picture.png").write_bytes(b"x")
    (tmp_path / "lines").write_text(
        "".join(asset_event(number, tmp_path / "picture.png") + "\n" for number in range(6000)))
    page = serve({"go": [plan("make")]}, {
        "make": f"#!/bin/sh\ncat >/dev/null\nwhile read -r line; do printf '%s\\n' \"$line\"; done "
                f"<{tmp_path}/lines\necho '{done()}'\n"})
    page.prompt("go")
    stream = page.stream()
    records = stream.until(is_asset)
    [known, *_] = assets_of(records)
    asked = 0
    newest = known
    while not any(record["kind"] == "turn_ended" for record in records):
        asked += 1
        assert page.get(f"/api/assets/{known}").body == b"x"
        records = stream.batch()
        # The newest asset is not in the part of the registry that was read before.
        [*_, newest] = [newest, *assets_of(records)]
    assert asked > 10
    assert page.get(f"/api/assets/{newest}").body == b"x"
    assert page.get("/api/assets/1").status == 404


def test_known_asset_is_gone_after_replacement(serve, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    # The second attempt waits until the first one's asset was requested.
    tool = (f"#!/bin/sh\ncat >/dev/null\nif [ ! -e {tmp_path}/again ]; then\n: >{tmp_path}/again\n"
            f"echo '{picture(tmp_path / 'a')}'\nexit 1\nfi\n: <{tmp_path}/go\necho '{picture(tmp_path / 'b')}'\necho '{done()}'\n")
    os.mkfifo(tmp_path / "go")
    again = {"plan": {"tools": [{"toolId": "make", "toolPath": "tools/make",
                                 "retryPolicy": {"maxRetries": 1, "backoffMs": 1}}]}}
    page = serve({"go": [again]}, {"make": tool})
    page.prompt("go")
    stream = page.stream()
    [old] = assets_of(stream.until(is_asset))
    assert page.get(f"/api/assets/{old}").body == b"a"
    with open(tmp_path / "go", "w"):
        pass
    [new] = assets_of(stream.until_turn_ended())
    assert page.get(f"/api/assets/{old}").code == "NO_SUCH_ASSET"
    assert page.get(f"/api/assets/{new}").body == b"b"


def test_assets_of_undone_turns_are_served(serve, tmp_path):
    (tmp_path / "picture.png").write_bytes(CONTENT)
    page = serve({"go": [plan("make")]}, {"make": said(picture(tmp_path / "picture.png"), done())},
                 arguments=("--store", str(tmp_path / "saves.db")))
    stream = page.stream()
    page.prompt("go")
    records = stream.until_turn_ended()
    page.post("/api/again", b'{"turn":1}', Content_Type="application/json").has(202)
    records += stream.until_turn_ended()
    undone, current = assets_of(records)
    for seq in (undone, current):
        assert page.get(f"/api/assets/{seq}").has(200).body == CONTENT
