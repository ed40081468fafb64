# SPDX-License-Identifier: Apache-2.0
"""HTTP requests that browsers do not send, files that change after their event, and connections
that end midway.

Most tests share one server. After each, the authenticated player must still be served.
"""

import json
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from serving import DEADLINE, exchange, has_page, head, page_with_a_picture, statuses

pytestmark = pytest.mark.skipif(not has_page(), reason="built without libmicrohttpd")

CONTENT = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The page, and the number of an asset in it."""
    page = page_with_a_picture(tmp_path_factory.mktemp("odd"), CONTENT)
    yield page
    page.end()


@pytest.fixture
def page(shared):
    yield shared
    assert shared.get("/nothing").status == 404, "the player is no longer served"
    assert shared.get(f"/api/assets/{shared.asset}").body == CONTENT
    assert shared.process.poll() is None


def prompts_of(page):
    """The prompts so far."""
    stream = page.stream().begin()
    last = stream.session["last"]
    said_ = []
    while stream.last < last:
        said_ += [record["event"]["text"] for record in stream.batch() if record["kind"] == "prompt"]
    stream.close()
    return said_


def test_many_foreign_cookies_do_not_lock_out(page):
    others = "; ".join(f"other{i}=" + "x" * 3900 for i in range(60))
    came = exchange(page, head(page, "GET", f"/api/assets/{page.asset}", "Connection: close",
                               cookie=f"{others}; {page.cookie}"))
    assert statuses(came) == [200]


# ---------------------------------------------------------------- framing


@pytest.mark.parametrize("body", [
    b"%x\r\n%s\r\n0\r\n\r\n", b"%x;name=value\r\n%s\r\n0\r\n\r\n", b"%x\r\n%s\r\n0\r\nContent-Length: 5\r\n\r\n"],
    ids=["plain", "with an extension", "with a trailer"])
@pytest.mark.parametrize("cookie", [None, ""], ids=["stranger", "player"])
def test_chunked_body_is_refused(page, body, cookie):
    path = "/api/enter" if cookie is None else "/api/prompt"
    text = json.dumps({"token": page.token, "text": "chunked"}).encode()
    came = exchange(page, head(page, "POST", path, f"Origin: {page.origin}", "Content-Type: application/json",
                               "Transfer-Encoding: chunked", cookie=cookie) + body % (len(text), text))
    assert statuses(came) == [411] and b"Set-Cookie" not in came
    assert "chunked" not in prompts_of(page)


def test_pipelined_requests_get_one_response_each_in_order(page):
    body = b'{"text":"pipelined"}'
    asset = f"/api/assets/{page.asset}"
    came = exchange(page, b"".join([
        head(page, "HEAD", asset, cookie=""),
        head(page, "GET", asset, "Range: bytes=0-3", cookie=""),
        head(page, "POST", "/api/prompt", f"Origin: {page.origin}", "Content-Type: application/json",
             f"Content-Length: {len(body)}", cookie="") + body,
        head(page, "GET", "/nothing", "Connection: close", cookie="")]))
    assert statuses(came) == [200, 206, 202, 404]
    assert prompts_of(page).count("pipelined") == 1


def test_authentication_is_checked_for_each_request(page):
    """A proxy may mix requests of several clients on one connection."""
    came = exchange(page, head(page, "GET", "/nothing", cookie="") + head(page, "GET", f"/api/assets/{page.asset}"))
    assert statuses(came) == [404, 403] and CONTENT[:64] not in came


def test_no_100_continue_for_a_refused_body(page):
    """Expect: 100-continue on requests that are refused anyway."""
    came = exchange(page, head(page, "POST", "/api/prompt", f"Origin: {page.origin}", "Content-Type: application/json",
                               "Content-Length: 900000", "Expect: 100-continue"))
    assert statuses(came) == [403]
    came = exchange(page, head(page, "POST", "/api/prompt", f"Origin: {page.origin}", "Content-Type: application/json",
                               "Content-Length: 9000000", "Expect: 100-continue", cookie=""))
    assert statuses(came) == [413]


def test_100_continue_for_an_accepted_body(page):
    body = b'{"text":"continued"}'
    connection = page.connect()
    connection.sendall(head(page, "POST", "/api/prompt", f"Origin: {page.origin}", "Content-Type: application/json",
                            f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close", cookie=""))
    assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")
    connection.sendall(body)
    assert connection.recv(1000).startswith(b"HTTP/1.1 202 ")


FIRST_LINES = {
    "HTTP/0.9": "GET /api/events", "without a version": "GET /api/events ", "HTTP/2": "PRI * HTTP/2.0",
    "a version of tomorrow": "GET /api/events HTTP/9.9", "small letters": "GET /api/events http/1.1",
    "no method": " /api/events HTTP/1.1", "two paths": "GET /api/events /nothing HTTP/1.1",
    "tabs": "GET\t/api/events\tHTTP/1.1", "a blank line before": "\r\nGET /api/events HTTP/1.1", "no path": "GET HTTP/1.1",
    "a method of ten thousand letters": "G" * 10000 + " /api/events HTTP/1.1",
    "another host in it": "GET http://evil.example/api/events HTTP/1.1",
    "a user in it": "GET http://x@{host}:{port}/api/events HTTP/1.1",
    "a scheme in it": "GET file:///etc/passwd HTTP/1.1", "a host alone": "GET {host}:{port} HTTP/1.1",
    "a tunnel": "CONNECT {host}:{port} HTTP/1.1", "a tunnel to elsewhere": "CONNECT evil.example:80 HTTP/1.1",
    "of everything": "OPTIONS * HTTP/1.1",
}


@pytest.mark.parametrize("line", FIRST_LINES.values(), ids=FIRST_LINES)
def test_odd_request_line_grants_no_access(page, line):
    line = line.format(host=page.host, port=page.port)
    came = exchange(page, head(page, "GET", "/", "Accept: text/html", "Connection: close").replace(
        b"GET / HTTP/1.1", line.encode(), 1), 1)
    assert b"event: session" not in came and b"root:" not in came
    assert not came or all(status >= 400 for status in statuses(came))


@pytest.mark.parametrize("line", [
    "GET http://evil.example/api/assets/{asset} HTTP/1.1", "GET //{host}:{port}/api/assets/{asset} HTTP/1.1",
    "PRI * HTTP/2.0", "TRACE /api/assets/{asset} HTTP/1.1", "CONNECT evil.example:80 HTTP/1.1", "OPTIONS * HTTP/1.1"])
def test_odd_request_line_with_cookie_is_not_echoed(page, line):
    line = line.format(host=page.host, port=page.port, asset=page.asset)
    came = exchange(page, head(page, "GET", "/", "Connection: close", "X-Secret: mine", cookie="").replace(
        b"GET / HTTP/1.1", line.encode(), 1), 1)
    assert not came or all(status >= 400 for status in statuses(came))
    assert page.cookie.encode() not in came and b"X-Secret" not in came and CONTENT[:64] not in came


@pytest.mark.parametrize("lines", [
    ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"),
    ("Upgrade: h2c", "Connection: Upgrade, HTTP2-Settings", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"),
    ("Upgrade: TLS/1.0", "Connection: Upgrade")], ids=["websocket", "h2c", "TLS"])
def test_no_protocol_upgrade(page, lines):
    assert statuses(exchange(page, head(page, "GET", "/nothing", *lines, cookie=""), 1)) == [404]


# ---------------------------------------------------------------- names


REBINDING = [
    "{dashed}.nip.io:{port}", "{host}.nip.io:{port}", "localtest.me:{port}", "1u.ms:{port}", "0.0.0.0:{port}", "127.1:{port}",
    "0x7f000001:{port}", "2130706433:{port}", "0177.0.0.1:{port}", "[::1]:{port}", "[::ffff:7f00:1]:{port}", "[{host}]:{port}",
    "localhost.localdomain:{port}", "ip6-localhost:{port}", "narratoria.local:{port}", "{host}%2e:{port}", "{host}..:{port}",
    "{host}\u3002:{port}", "{host}:{port}.", "{host}:+{port}", "{host}:{port}:{port}", "{host};{host}:{port}", "{host}:{port}\t", "", ":",
    ":{port}", "xn--{host}:{port}", "{other}:{port}", "{host}:1{port}", "{host}:{port}@evil.example",
]


@pytest.mark.parametrize("name", REBINDING)
def test_rebinding_host_names_are_refused(page, name):
    numbers = page.host.split(".")
    name = name.format(host=page.host, port=page.port, dashed="-".join(numbers), other=f"127.0.0.{int(numbers[3]) % 250 + 2}")
    request = head(page, "GET", f"/api/assets/{page.asset}", "Connection: close", host="HOST", cookie="")
    came = exchange(page, request.replace(b"HOST", name.encode()), 1)
    # White space around a header value is not part of it.
    if name.strip() == f"{page.host}:{page.port}":
        return
    assert not came or all(status in (400, 403) for status in statuses(came))
    assert CONTENT[:64] not in came


@pytest.mark.parametrize("lines", [
    "Host: {name}\r\nHost: {name}", "Host: evil.example\r\nHost: {name}", "Host: {name}\r\n evil.example",
    "Host:\r\n {name}\r\nHost: evil.example", "Host : {name}", "Host: {name}, evil.example", "X: y\r\n Host: {name}",
    "host: evil.example\r\nHOST: {name}", "X-Host: {name}", "\x0bHost: {name}"])
def test_ambiguous_host_is_refused(page, lines):
    own = f"{page.host}:{page.port}"
    request = head(page, "GET", f"/api/assets/{page.asset}", "Connection: close", cookie="")
    came = exchange(page, request.replace(f"Host: {own}".encode(), lines.format(name=own).encode(), 1), 1)
    assert not came or all(status in (400, 403) for status in statuses(came))
    assert CONTENT[:64] not in came


def test_cookie_without_host_is_refused(page):
    for version in ("1.0", "1.1"):
        came = exchange(page, f"GET /api/assets/{page.asset} HTTP/{version}\r\nCookie: {page.cookie}\r\n\r\n".encode(), 1)
        assert CONTENT[:64] not in came and (b" 403 " in came or b" 400 " in came)


# ---------------------------------------------------------------- requests of a foreign page


DESTINATIONS = ["iframe", "frame", "embed", "object", "fencedframe", "image", "script", "style", "worker", "serviceworker",
                "sharedworker", "audio", "video", "track", "font", "manifest", "report", "empty", "audioworklet", "xslt", "json"]


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("destination", DESTINATIONS)
def test_subresources_of_a_foreign_page_are_refused(page, site, destination):
    """A page on a different port of this address is same-site, so its requests have the cookie."""
    modes = ["navigate"] if destination in ("iframe", "frame", "embed", "object", "fencedframe") else ["no-cors", "cors", "same-origin"]
    for mode in modes:
        for path in ("/", f"/api/assets/{page.asset}", "/api/events"):
            answer = page.get(path, Sec_Fetch_Site=site, Sec_Fetch_Mode=mode, Sec_Fetch_Dest=destination)
            assert (answer.status, answer.code) == (403, "FOREIGN_ORIGIN")
            assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
            assert not [name for name in answer.headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("headers", [
    {"Sec_Purpose": "prefetch"}, {"Purpose": "prefetch"}, {"Sec_Purpose": "prefetch;prerender"}, {"X_Moz": "prefetch"}])
def test_prefetch_of_a_foreign_page_is_refused(page, headers):
    for path in (f"/api/assets/{page.asset}", "/api/events", "/nothing"):
        answer = page.get(path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document", **headers)
        assert (answer.status, answer.code) == (403, "FOREIGN_ORIGIN")


@pytest.mark.parametrize("lines", [
    ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin"), ("Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"),
    ("Sec-Fetch-Site: same-origin, cross-site",), ("Sec-Fetch-Site: SAME-ORIGIN",), ("Sec-Fetch-Site:",), ("sec-fetch-site: cross-site",),
    ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")])
def test_invalid_or_foreign_fetch_metadata_is_refused(page, lines):
    came = exchange(page, head(page, "GET", f"/api/assets/{page.asset}", *lines, "Connection: close", cookie=""), 1)
    assert statuses(came) == [403]


@pytest.mark.parametrize("method", ["OPTIONS", "POST"])
def test_preflight_allows_nothing(page, method):
    answer = page.ask(method, "/api/prompt", b"", Origin="http://evil.example", Access_Control_Request_Method="POST",
                      Access_Control_Request_Headers="content-type", Access_Control_Request_Private_Network="true")
    assert answer.status == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


# ---------------------------------------------------------------- cookies


def test_same_cookie_name_of_other_paths_does_not_lock_out(page):
    """Browsers send cookies of longer paths first; a different local server may set 50 of them."""
    name, _, value = page.cookie.partition("=")
    others = [f"{name}={number:032x}" for number in range(50)]
    assert page.get("/nothing", cookie="; ".join([*others, page.cookie])).status == 404
    assert page.get("/nothing", cookie="; ".join(others)).status == 403
    # Also in separate headers.
    came = exchange(page, head(page, "GET", "/nothing", f"Cookie: {page.cookie}", "Connection: close", cookie=others[0]))
    assert statuses(came)[0] in (403, 404)
    assert value.encode() not in came


@pytest.mark.parametrize("form", ["$Version=1; {name}={value}x; $Path=/", "__Host-{name}={value}", "__Secure-{name}={value}", "{name}[]={value}",
                                  "x={name}={value}", "{name}={half}; {name}={rest}", "{name}={half}\t{rest}", "{name}%3D{value}",
                                  "{name},{name}x={value}"])
def test_similar_cookie_is_refused(page, form):
    name, _, value = page.cookie.partition("=")
    cookie = form.format(name=name, value=value, half=value[:16], rest=value[16:])
    came = exchange(page, head(page, "GET", f"/api/assets/{page.asset}", "Connection: close", cookie=cookie), 1)
    assert not came or statuses(came)[0] in (400, 403)


def test_token_and_cookie_are_not_interchangeable(page):
    name, _, value = page.cookie.partition("=")
    assert page.get("/nothing", cookie=f"{name}={page.token}").status == 403
    assert page.enter(value).status == 403


def test_parallel_guesses_do_not_block_the_player(page):
    def guess(number):
        try:
            return page.enter(f"{number:032x}").status
        except OSError:
            return None  # closed as the oldest unauthenticated connection

    with ThreadPoolExecutor(40) as guessers:
        guesses = guessers.map(guess, range(2000))
        for _ in range(20):
            assert page.get("/nothing").status == 404
        assert set(guesses) <= {403, None}


# ---------------------------------------------------------------- paths


ODD_NAMES = ["{asset}%00", "{asset}%00.png", "{asset}%0a", "%20{asset}", "{asset}%20", "+{asset}", "-0", "{asset}.0", "{asset}e0", "0x{asset}",
             "{asset}/", "{asset}/..", "{asset}/../{asset}", "./{asset}", "%2e/{asset}", "%2e%2e/assets/{asset}", "{asset};a=b", "{asset},{asset}",
             "%25{asset}", "%u0031", "%EF%BC%91", "%D9%A1", "%C0%B1", "%ff", "%", "%1", "%zz", "\u0661", "\uff11", "\u200b{asset}", "{asset}%E2%80%AE",
             "%5c{asset}", "{asset}%5c", "%2f{asset}", "*", "{huge}{asset}"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_asset_name_must_be_a_plain_number(page, name):
    name = name.format(asset=page.asset, huge="9" * 5000)
    came = exchange(page, head(page, "GET", "/api/assets/NAME", "Connection: close", cookie="").replace(b"NAME", name.encode()), 1)
    assert not came or statuses(came)[0] in (400, 404, 414)
    assert CONTENT[:64] not in came


@pytest.mark.parametrize("path", ["/%00", "/%00x", "/api/enter%00", "/api/enter%00/../events", "/app%00/x", "/api/events%00x"])
def test_nul_does_not_end_the_path(page, path):
    for cookie in (None, ""):
        came = exchange(page, head(page, "GET", path, "Accept: text/html", "Connection: close", cookie=cookie), 1)
        assert statuses(came)[0] in ((400, 403) if cookie is None else (400, 404))


@pytest.mark.parametrize("query", ["game=%00", "game={game}%00x", "game={game}&game=0", "game=0&game={game}", "after=0%00", "after=0&after=1", "after=%30%00"])
def test_ambiguous_argument_is_not_misread(page, query):
    game = page.stream().begin().session["game"]
    answer = exchange(page, head(page, "GET", f"/api/events?{query.format(game=game)}", cookie=""), 1)
    assert statuses(answer)[0] in (200, 400, 409)
    assert statuses(answer)[0] != 200 or "%00" not in query


# ---------------------------------------------------------------- ranges


def test_failed_if_range_returns_the_whole_file(page):
    path = f"/api/assets/{page.asset}"
    tag = page.get(path).headers["ETag"]
    for condition in (f"W/{tag}", tag.strip('"'), f'{tag}, "other"', "*", "", "Thu, 01 Jan 2026 00:00:00 GMT", f" {tag}x", tag * 2, tag.upper() + "'"):
        answer = page.get(path, Range="bytes=0-3", If_Range=condition)
        assert (answer.status, answer.body) == (200, CONTENT), condition
    came = exchange(page, head(page, "GET", path, "Range: bytes=0-3", f"If-Range: {tag}", 'If-Range: "other"', "Connection: close", cookie=""))
    assert statuses(came)[0] in (200, 206)


@pytest.mark.parametrize("lines, status", [
    (("Range: bytes=0-3", "Range: bytes=4-7"), 200), (("Range: bytes=0-3, 0-3, 0-3",), 200), (("Range: BYTES=0-3",), 200), (("Range: bytes=0-3;x",), 200),
    (("Range: bytes= 0-3",), 200), (("Range: bytes=0 -3",), 200), (("Range: bytes=00000000000000000000000-3",), 206), (("Range: bytes=\u0660-3",), 200),
    (("Range: bytes=0-\r\n 3",), None), (("Range: bytes=" + "0-0," * 5000,), None)], ids=range(10))
def test_odd_range_is_ignored(page, lines, status):
    request = head(page, "GET", f"/api/assets/{page.asset}", "LINES", "Connection: close", cookie="")
    came = exchange(page, request.replace(b"LINES", "\r\n".join(lines).encode()))
    assert statuses(came)[0] in ((status,) if status else (200, 206, 400, 413, 431))


def test_only_assets_support_ranges(page):
    answer = page.get("/", Range="bytes=0-3", Accept="text/html")
    assert answer.status == 200 and len(answer.body) > 100
    head_ = page.ask("HEAD", f"/api/assets/{page.asset}", Range="bytes=0-3")
    assert (head_.status, head_.body) == (206, b"")


# ---------------------------------------------------------------- connections


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def descriptors(page):
    return len(os.listdir(f"/proc/{page.process.pid}/fd"))


def falls_to(measure, most):
    limit = time.monotonic() + DEADLINE
    while measure() > most:
        assert time.monotonic() < limit, f"{measure()} is more than {most}"


@pytest.mark.parametrize("part", ["in the head", "in the body", "in the answer", "in the stream"])
@pytest.mark.parametrize("end", [reset, lambda connection: connection.shutdown(socket.SHUT_WR), socket.socket.close], ids=["reset", "half closed", "closed"])
def test_broken_connection_leaks_no_descriptor(page, part, end):
    before = descriptors(page)
    post = head(page, "POST", "/api/prompt", f"Origin: {page.origin}", "Content-Type: application/json", "Content-Length: 1000", cookie="")
    requests = {"in the head": post[:60], "in the body": post + b'{"text":"cut', "in the answer": head(page, "GET", f"/api/assets/{page.asset}", cookie=""),
                "in the stream": head(page, "GET", "/api/events", cookie="")}
    ended = []
    for _ in range(30):
        connection = page.connect()
        connection.sendall(requests[part])
        if part.endswith(("answer", "stream")):
            assert connection.recv(10)
        end(connection)
        ended.append(connection)
    # The server also closes a half-closed connection, after it has answered a complete request.
    falls_to(lambda: descriptors(page), before + 3)
    for connection in ended:
        connection.close()
    assert not any(text.startswith("cut") for text in prompts_of(page))


def test_unread_streams_block_neither_story_nor_streams(page):
    deaf = [page.stream(receive_buffer=1) for _ in range(40)]
    assert page.prompt("x" * 500_000).status == 202
    reader = page.stream()
    reader.until(lambda record: record["kind"] == "prompt" and record["event"]["text"].startswith("xxx"))
    assert page.get("/nothing").status == 404
    for one in [*deaf, reader]:
        one.close()


def test_stream_read_byte_by_byte_is_complete(page):
    stream = page.stream(receive_buffer=1)
    came = b""
    limit = time.monotonic() + DEADLINE
    while came.count(b"\n\n") < 3:
        assert time.monotonic() < limit
        came += stream.connection.recv(1)
    assert b"event: session\ndata: {" in came
    stream.close()


# ---------------------------------------------------------------- files


def until_its_time_goes_on(file, change):
    """Repeats the change until the file's time differs, because file system clocks are coarse."""
    before = os.stat(file).st_ctime_ns
    limit = time.monotonic() + DEADLINE
    while True:
        change()
        if os.stat(file).st_ctime_ns != before:
            return
        assert time.monotonic() < limit


def with_its_old_time(file, change):
    times = os.stat(file)

    def both():
        change()
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    until_its_time_goes_on(file, both)


def write_in_place(file):
    with open(file, "r+b") as opened:
        opened.write(b"secrets")


def truncate_and_grow(file):
    os.truncate(file, 0)
    os.truncate(file, len(CONTENT))


def link_and_unlink(file):
    os.link(file, f"{file}.link")
    os.unlink(f"{file}.link")


@pytest.mark.parametrize("change", [
    lambda file: with_its_old_time(file, lambda: write_in_place(file)),
    lambda file: with_its_old_time(file, lambda: truncate_and_grow(file)),
    lambda file: with_its_old_time(file, lambda: (os.truncate(file, 5), file.write_bytes(CONTENT))),
    lambda file: until_its_time_goes_on(file, lambda: link_and_unlink(file)),
    lambda file: open(file, "ab").write(b"more"),
], ids=["written in place", "truncated and grown with holes", "truncated and written again", "linked", "grown"])
def test_changed_file_with_old_size_and_mtime_is_refused(announced, tmp_path, change):
    file = tmp_path / "picture.png"
    file.write_bytes(CONTENT)
    page, seq = announced(file)
    assert page.get(f"/api/assets/{seq}").body == CONTENT
    change(file)
    assert page.get(f"/api/assets/{seq}").code == "ASSET_CHANGED"


def test_reused_inode_is_a_different_file(announced, tmp_path):
    """Inode numbers are reused, and the modification time can be set."""
    file = tmp_path / "picture.png"
    file.write_bytes(CONTENT)
    page, seq = announced(file)

    def swap():
        times = os.stat(file)
        file.unlink()
        file.write_bytes(CONTENT[::-1])
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    until_its_time_goes_on(file, swap)
    assert page.get(f"/api/assets/{seq}").code == "ASSET_CHANGED"


@pytest.mark.parametrize("target", ["secret", "/proc/self/environ", "/proc/self/maps", "/proc/self/fd/0", "/dev/stdin", "/sys/kernel/notes"])
def test_later_link_is_not_followed(announced, tmp_path, target):
    (tmp_path / "secret").write_bytes(b"the secret of another user")
    file = tmp_path / "picture.png"
    file.write_bytes(CONTENT)
    page, seq = announced(file)
    file.unlink()
    file.symlink_to(target)
    assert page.get(f"/api/assets/{seq}").code in ("ASSET_CHANGED", "ASSET_UNREADABLE")


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/self/maps", "/proc/self/mem", "/proc/self/cmdline", "/proc/self/fd/0"])
def test_proc_file_of_the_engine_is_not_served(announced, path):
    """The tool's /proc/self is not the engine's."""
    page, seq = announced(path)
    answer = page.get(f"/api/assets/{seq}")
    assert answer.body == b"" or answer.status in (404, 410)


def test_file_written_during_the_response_aborts_it(announced, tmp_path):
    file = tmp_path / "picture.png"
    file.write_bytes(bytes(20_000_000))
    page, seq = announced(file)
    connection = page.connect()
    connection.sendall(head(page, "GET", f"/api/assets/{seq}", cookie=""))
    came = connection.recv(1000)
    until_its_time_goes_on(file, lambda: write_in_place(file))
    while piece := connection.recv(1 << 20):
        came += piece
    assert len(came) < 20_000_000


def test_link_to_a_link_serves_its_original_target(announced, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("a")
    page, seq = announced(tmp_path / "first")
    assert page.get(f"/api/assets/{seq}").body == b"a"
    (tmp_path / "second").unlink()
    (tmp_path / "second").symlink_to("b")
    assert page.get(f"/api/assets/{seq}").code == "ASSET_CHANGED"


# ---------------------------------------------------------------- a different session


def test_token_and_cookie_of_a_different_session_are_refused(page, serve):
    other = serve()
    assert page.enter(other.token).status == 403
    value = other.cookie.partition("=")[2]
    for cookie in (other.cookie, f"narratoria-{page.port}={value}"):
        assert page.get("/nothing", cookie=cookie).status == 403
    # Also with the host name of the other server, on a connection to this one.
    came = exchange(page, head(page, "GET", "/nothing", "Connection: close", host=f"{other.host}:{other.port}", cookie=""), 1)
    assert statuses(came) == [403]
