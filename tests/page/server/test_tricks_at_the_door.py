# SPDX-License-Identifier: Apache-2.0
"""Attacks on authentication by other processes and by pages of other sites.

All tests share one server, so that side effects of one attack meet the next. After each, the
authenticated player must still be served.
"""

import json
import os
import random
import select
import socket
import time

import pytest

from serving import DEADLINE, exchange, has_page, head, page_with_a_picture, statuses

pytestmark = pytest.mark.skipif(not has_page(), reason="built without libmicrohttpd")

SECRET = b"the secret of another user"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The page, and the number of an asset in it."""
    page = page_with_a_picture(tmp_path_factory.mktemp("tricks"), b"picture")
    yield page
    page.end()


@pytest.fixture
def page(shared):
    yield shared
    shared.get("/nothing").has(404)
    assert shared.get(f"/api/assets/{shared.asset}").body == b"picture"
    assert shared.process.poll() is None


# ---------------------------------------------------------------- guesses


TOKENS = {
    "empty": "", "blank": " ", "null": None, "a number": 0, "a list": ["token"], "an object": {"token": "x"},
    "true": True, "long": "0" * 3000, "zeros": "0" * 32, "a wildcard": "%", "a pattern": ".*", "SQL": "' OR '1'='1",
    "a path": "../../etc/passwd", "line ends": "a\r\nSet-Cookie: narratoria=1", "not ASCII": "\u0660" * 32,
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_invalid_token_is_refused(page, token):
    answer = page.post("/api/enter", json.dumps({"token": token}).encode(), cookie=None,
                       Content_Type="application/json")
    assert answer.status in (400, 403)
    assert answer.code in ("BAD_TOKEN", "WRONG_TOKEN") and "Set-Cookie" not in answer.headers


BODIES = {
    "nothing": b"", "a text": b'"token"', "cut off": b'{"token": "', "deep": b"[" * 4000, "two": b'{"token":"a"}{"token":"b"}',
    "not UTF-8": b'{"token":"\xff\xfe"}', "NUL": b"\0" * 100, "a form": b"token=x", "half a surrogate": b'{"token":"\\ud800"}',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_invalid_token_body_is_refused(page, body):
    page.post("/api/enter", body, cookie=None, Content_Type="application/json").has(400, "BAD_TOKEN")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_right_token_in_a_form_is_refused(page, kind):
    body = json.dumps({"token": page.token}).encode()
    answer = page.post("/api/enter", body, cookie=None, Content_Type=kind).has(415, "UNSUPPORTED_MEDIA_TYPE")
    assert "Set-Cookie" not in answer.headers


def test_a_thousand_guesses_reveal_nothing(page):
    chance = random.Random(7)
    for _ in range(1000):
        guess = "".join(chance.choice("0123456789abcdef") for _ in range(32))
        assert page.enter(guess).status == 403


def test_token_as_a_cookie_is_refused(page):
    assert page.get("/api/events", cookie=f"narratoria-{page.port}={page.token}").status == 403


# ---------------------------------------------------------------- cookies


def cookies_of(page):
    name, _, value = page.cookie.partition("=")
    return {
        "of another port": f"narratoria-{page.port + 1}={value}",
        "without its port": f"narratoria={value}",
        "in capitals": f"{name.upper()}={value}",
        "cut off": f"{name}={value[:-1]}",
        "longer": f"{name}={value}0",
        "its value in capitals": f"{name}={value[:-1]}Z",
        "its name in its value": f"a={name}={value}",
        "of zeros": f"{name}={'0' * 32}",
        "no value": f"{name}=",
        "no name": f"={value}",
        "a NUL in it": f"{name}={value[:16]}\0{value[16:]}",
        "long": f"{name}={'a' * 20000}",
        "many": "; ".join(f"c{number}=x" for number in range(2000)),
    }


@pytest.mark.parametrize("which", list(cookies_of(type("P", (), {"cookie": "a=b", "port": 1}))))
def test_wrong_cookie_is_refused(page, which):
    came = exchange(page, head(page, "GET", "/api/events", cookie=cookies_of(page)[which]), 1)
    assert not came or statuses(came)[0] in (400, 403, 413, 431)


def test_foreign_cookie_of_the_same_name_does_not_lock_out(page):
    """The browser sends both cookies, in either order."""
    other = f"narratoria-{page.port}={'f' * 32}"
    assert page.get("/nothing", cookie=f"{other}; {page.cookie}").status == 404
    assert page.get("/nothing", cookie=f"{page.cookie}; {other}").status == 404


def test_token_restores_an_overwritten_cookie(page):
    other = f"narratoria-{page.port}={'f' * 32}"
    assert page.get("/nothing", cookie=other).status == 403
    again = page.enter(cookie=other).has(200)
    assert page.get("/nothing", cookie=again.headers["Set-Cookie"].partition(";")[0]).status == 404


# ---------------------------------------------------------------- Host and Origin


HOSTS = ["localhost:{port}", "127.0.0.1:{port}", "{host}", "{host}:{port}x", "{host}:0{port}", "{host}.:{port}", "user@{host}:{port}",
         "{host}:{port},{host}:{port}", " {host} :{port}", "[::ffff:{host}]:{port}", "{host}:{port}#", "{host}:{port}/"]


@pytest.mark.parametrize("host", HOSTS)
def test_other_host_name_is_refused(page, host):
    came = exchange(page, head(page, "GET", "/", "Accept: text/html",
                               host=host.format(host=page.host, port=page.port), cookie=""), 1)
    assert statuses(came) == [403] and b"narratoria-app" not in came


def test_duplicate_host_is_refused(page):
    came = exchange(page, head(page, "GET", "/", "Host: evil.example", cookie=""), 1)
    assert statuses(came)[0] in (400, 403)


ORIGINS = ["null", "http://{host}:{port}/", "https://{host}:{port}", "http://{host}:{port}.evil.example", "http://evil.example#{host}:{port}",
           "HTTP://{host}:{port}", "http://{host}", "file://", "http://{host}:{port} http://evil.example", "data:"]


@pytest.mark.parametrize("origin", ORIGINS)
def test_foreign_origin_with_the_token_is_refused(page, origin):
    answer = page.enter(Origin=origin.format(host=page.host, port=page.port)).has(403, "FOREIGN_ORIGIN")
    assert "Set-Cookie" not in answer.headers


def test_entering_without_origin_is_refused(page):
    body = json.dumps({"token": page.token}).encode()
    page.ask("POST", "/api/enter", body, cookie=None, Content_Type="application/json").has(403, "FOREIGN_ORIGIN")


def test_duplicate_origin_is_refused(page):
    body = json.dumps({"token": page.token})
    came = exchange(page, head(page, "POST", "/api/enter", f"Origin: {page.origin}", "Origin: http://evil.example",
                               "Content-Type: application/json", f"Content-Length: {len(body)}") + body.encode(), 1)
    assert statuses(came) == [403] and b"Set-Cookie" not in came


METHODS = ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "post", "POSTX"]


@pytest.mark.parametrize("method", METHODS)
def test_other_method_does_not_enter(page, method):
    body = json.dumps({"token": page.token})
    came = exchange(page, head(page, method, "/api/enter", f"Origin: {page.origin}", "Content-Type: application/json",
                               f"Content-Length: {len(body)}") + body.encode(), 1)
    assert statuses(came)[0] in (400, 405) and b"Set-Cookie" not in came


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override: POST", "X-Forwarded-Host: evil.example", "X-Original-URL: /api/prompt",
                                    "Forwarded: host=evil.example", "X-Forwarded-For: 127.0.0.1", "Authorization: Bearer x",
                                    "Upgrade: websocket", "Upgrade: h2c", "Expect: 100-continue"])
def test_proxy_headers_are_ignored(page, header):
    assert statuses(exchange(page, head(page, "GET", "/api/events", header, "Connection: close"), 1)) == [403]


# ---------------------------------------------------------------- paths and ranges


PATHS = ["/api/enter/../events", "/api/enter%2f..%2fevents", "/api/enter;/../events", "/./api/events", "//api/events", "/api//events",
         "/API/EVENTS", "/api/events/", "/api/events%00", "/api/assets/1%00.png", "/app/../../../../../etc/passwd", "/%2e%2e/etc/passwd",
         "/enter.html", "/index.html", "/app/", "/favicon.ico", "*", "http://{host}:{port}/api/events", "/?", "/?token={token}",
         "/\\..\\..\\etc\\passwd", "/%c0%ae%c0%ae/etc/passwd", "/" + "a/" * 2000]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_bypasses_authentication(page, path):
    path = path.format(host=page.host, port=page.port, token=page.token)
    came = exchange(page, head(page, "GET", path, "Connection: close"), 1)
    assert not came or statuses(came)[0] in (400, 403, 404, 405, 414)
    assert b"root:" not in came and b"event: session" not in came and b"Set-Cookie" not in came


RANGES = ["bytes=0-0,1-1,2-2", "bytes=" + ",".join("0-" for _ in range(2000)), "bytes=-0", "bytes=9-1", "bytes=-", "bytes=a-b",
          "bits=0-1", "bytes=0x0-0x1", "bytes=18446744073709551615-", "bytes=-18446744073709551616", "bytes 0-1", "bytes=+1-2"]


@pytest.mark.parametrize("asked", RANGES, ids=range(len(RANGES)))
def test_odd_range_returns_only_asset_content(page, asked):
    answer = page.get(f"/api/assets/{page.asset}", Range=asked)
    assert answer.status in (200, 206, 416)
    assert answer.status == 416 or answer.body in (b"picture", b"picture"[:len(answer.body)])


# ---------------------------------------------------------------- files that are swapped


def test_repeatedly_swapped_file_never_leaks_a_different_one(announced, tmp_path):
    picture, secret = tmp_path / "picture.png", tmp_path / "secret"
    picture.write_bytes(b"picture")
    secret.write_bytes(SECRET)
    page, seq = announced(picture)
    assert page.get(f"/api/assets/{seq}").body == b"picture"
    picture.rename(tmp_path / "kept.png")
    for swap in (lambda: picture.symlink_to(secret), lambda: os.link(secret, picture), lambda: os.mkfifo(picture), picture.mkdir,
                 lambda: picture.symlink_to("/dev/zero"), lambda: picture.symlink_to("/proc/self/mem")):
        swap()
        answer = page.get(f"/api/assets/{seq}")
        assert answer.status in (404, 410) and SECRET not in answer.body
        if picture.is_dir() and not picture.is_symlink():
            picture.rmdir()
        else:
            picture.unlink()


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize("smuggled", [
    ("Content-Length: 3", "Content-Length: 60"), ("Transfer-Encoding: chunked",), ("Transfer-Encoding:\tchunked",),
    ("Transfer-Encoding: gzip, chunked",), ("Transfer-Encoding\t: chunked",), ("Content-Length: 3,3",), ("Content-Length: 0x3",),
    ("Content-Length: 3 ",), ("Content-Length:",), ("content-length: 3", "Content-Length: 4")], ids=lambda one: " | ".join(one))
def test_no_request_smuggling_without_the_cookie(page, smuggled):
    hidden = head(page, "GET", "/api/events", cookie="")
    came = exchange(page, head(page, "POST", "/api/enter", f"Origin: {page.origin}", *smuggled) + b"0\r\n\r\n" + hidden, 1)
    assert b"event: session" not in came
    assert all(status >= 400 for status in statuses(came))


@pytest.mark.parametrize("line", [b"X: a\r\n b", b"X\0: a", b": a", b"X a", b"\x80: a", b"X: \x00", b"X: \xff\xfe", b"X:a\rY: b", b" X: a",
                                  b"X: " + b"a" * 70000, b"\n"], ids=range(11))
def test_malformed_header_grants_no_access(page, line):
    request = head(page, "GET", "/api/events")[:-2] + line + b"\r\n\r\n"
    came = exchange(page, request, 1)
    assert not came or all(status in (400, 403, 413, 431, 494) for status in statuses(came))


def test_fuzzed_requests_grant_no_access(page):
    chance = random.Random(11)
    good = head(page, "POST", "/api/enter", f"Origin: {page.origin}", "Content-Type: application/json", "Content-Length: 14",
                "Connection: close") + b'{"token":"12"}'
    for _ in range(400):
        bad = bytearray(good)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(bad))
            change = chance.randrange(3)
            if change == 0:
                bad[at] = chance.randrange(256)
            elif change == 1:
                del bad[at:at + chance.randrange(1, 9)]
            else:
                bad[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 9)))
        with socket.create_connection((page.host, page.port), timeout=DEADLINE) as connection:
            try:
                connection.sendall(bytes(bad))
                connection.shutdown(socket.SHUT_WR)
                came = connection.recv(65536)
            except ConnectionError:
                continue
        assert b"Set-Cookie" not in came and b"event: session" not in came


def test_refused_pipeline_gets_one_response_and_is_closed(page):
    assert statuses(exchange(page, head(page, "GET", "/api/events") * 50)) == [403]


def test_trickling_body_times_out(page):
    connection = page.connect()
    connection.sendall(head(page, "POST", "/api/enter", f"Origin: {page.origin}", "Content-Type: application/json",
                            "Content-Length: 4000"))
    begun = time.monotonic()
    try:
        while not select.select([connection], [], [], 0.5)[0]:
            assert time.monotonic() - begun < 25
            connection.sendall(b" ")
    except ConnectionError:
        pass
    connection.close()


def test_trickling_requests_do_not_block_the_player(page):
    slow = [page.connect() for _ in range(200)]
    for part in (b"GET / HT", b"TP/1.1\r\nHo", b"st: x\r\nX:"):
        for one in slow:
            try:
                one.sendall(part)
            except ConnectionError:
                pass
        begun = time.monotonic()
        assert page.get("/nothing").status == 404
        assert time.monotonic() - begun < 20
    for one in slow:
        one.close()


def test_reset_connections_do_not_block_the_player(page):
    for _ in range(500):
        connection = socket.create_connection((page.host, page.port), timeout=DEADLINE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()


def test_client_that_never_reads_does_not_block_the_player(page):
    deaf = []
    for _ in range(100):
        connection = page.connect()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        try:
            connection.sendall(head(page, "GET", "/", "Accept: text/html") * 20)
        except ConnectionError:
            pass
        deaf.append(connection)
    assert page.get("/nothing").status == 404
    for one in deaf:
        one.close()


# ---------------------------------------------------------------- a different game


@pytest.mark.parametrize("method, path", [("GET", "/api/events"), ("POST", "/api/prompt"), ("POST", "/api/cancel")])
def test_page_of_a_different_game_is_refused(page, method, path):
    page.ask(method, f"{path}?game=0123456789abcdef", b'{"text":"go"}' if method == "POST" else None,
             Origin=page.origin, Content_Type="application/json").has(409, "ANOTHER_SESSION")


def test_page_of_this_game_is_accepted(page):
    game = page.stream().begin().session["game"]
    assert len(game) == 16 and game not in (page.token, page.cookie)
    assert page.post(f"/api/cancel?game={game}").status == 202
