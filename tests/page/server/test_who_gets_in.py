# SPDX-License-Identifier: Apache-2.0
"""Access control: each point of "Who gets in" (plugins/web/README.md), and attacks on it."""

import http.client
import json
import os
import resource
import select
import socket
import threading
import time
from contextlib import suppress

import pytest

from serving import DEADLINE, TORCH, done, plan, tool_that_waits

EVERYTHING = [("GET", "/"), ("GET", "/app/placeholder.js"), ("GET", "/api/events"),
              ("POST", "/api/prompt"), ("POST", "/api/cancel"), ("POST", "/api/reading"), ("GET", "/api/assets/1"),
              ("HEAD", "/api/assets/1"), ("GET", "/nothing")]


def in_words(one):
    return " ".join(one)


# ---------------------------------------------------------------- the token and the cookie


def test_token_is_exchanged_for_the_cookie(page):
    answer = page.enter().has(200)
    [cookie] = answer.headers.get_all("Set-Cookie")
    name, _, rest = cookie.partition("=")
    value, *attributes = rest.split("; ")
    assert name == f"narratoria-{page.port}"
    assert len(value) == 32 and value != page.token
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert page.token not in answer.text and answer.headers["Cache-Control"] == "no-store"


def test_entering_clears_data_of_an_earlier_server(page):
    assert page.enter().headers["Clear-Site-Data"] == '"cache", "storage"'
    # A new window of an authenticated browser loses nothing, nor does a page whose cookie was
    # overwritten.
    assert "Clear-Site-Data" not in page.enter(cookie="").headers
    again = page.post("/api/enter", json.dumps({"token": page.token, "again": True}).encode(), cookie=None,
                      Content_Type="application/json")
    assert again.status == 200 and "Set-Cookie" in again.headers and "Clear-Site-Data" not in again.headers


def test_token_is_accepted_only_in_a_post(page):
    assert page.address == f"{page.origin}/#token={page.token}"
    for path in (f"/?token={page.token}", f"/api/events?token={page.token}", f"/api/enter?token={page.token}"):
        assert "Set-Cookie" not in page.get(path, cookie=None).headers


def test_token_has_128_random_bits(serve):
    tokens = {serve().token for _ in range(3)}
    assert len(tokens) == 3
    assert all(len(token) == 32 and int(token, 16) for token in tokens)


@pytest.mark.parametrize("change", [
    lambda token: "", lambda token: token[:-1], lambda token: token + "0",
    lambda token: ("0" if token[0] != "0" else "1") + token[1:], lambda token: token + "\0",
    lambda token: token.upper() + " "],
    ids=["none", "shorter", "longer", "other", "with a NUL", "upper"])
def test_wrong_token_is_refused(page, change):
    answer = page.enter(change(page.token)).has(403, "WRONG_TOKEN")
    assert "Set-Cookie" not in answer.headers and "Clear-Site-Data" not in answer.headers


@pytest.mark.parametrize("method, path", EVERYTHING, ids=map(in_words, EVERYTHING))
def test_everything_needs_the_cookie(page, method, path):
    headers = {"Origin": page.origin} if method == "POST" else {}
    for cookie in (None, f"narratoria-{page.port}=", f"narratoria-{page.port}={'0' * 32}",
                   f"narratoria-{page.port}={page.token}", page.cookie[:-1],
                   f"narratoria-1={page.cookie.partition('=')[2]}"):
        assert page.ask(method, path, cookie=cookie, **headers).status == 403


def test_refusal_is_html_for_people_and_json_for_programs(page):
    for path, cookie, headers in (("/api/events", None, {}), ("/", "", {"Host": "evil.example"})):
        person = page.get(path, cookie=cookie, Accept="text/html,*/*;q=0.8", **headers).has(403)
        assert person.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "pen the address that was printed" in person.text
        assert "default-src 'none'" in person.headers["Content-Security-Policy"]
    program = page.get("/", cookie=None)
    assert program.code == "NO_COOKIE" and "address" in program.json["message"]


def test_token_and_cookie_are_not_logged(serve):
    page = serve(arguments=("--log", "debug"))
    page.enter()
    page.get("/api/events?after=x")
    page.enter("wrong")
    page.raw(b"nonsense\r\n\r\n")
    secret = page.cookie.partition("=")[2]
    assert page.end() == 143
    assert page.token not in page.said() and secret not in page.said()


# ---------------------------------------------------------------- Host, Origin and Sec-Fetch-Site


@pytest.mark.parametrize("method, path", EVERYTHING, ids=map(in_words, EVERYTHING))
@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "127.0.0.1:1", "127.255.255.254:{port}",
    "[::1]:{port}", "127.0.0.1:{port}.evil.example", "evil127.0.0.1:{port}", "0.0.0.0:{port}", ""])
def test_foreign_host_is_refused(page, method, path, host):
    answer = page.ask(method, path, Host=host.format(port=page.port), Origin=page.origin).has(403)
    if method != "HEAD":
        assert answer.code == "FOREIGN_HOST"


def test_only_127_0_0_1_may_be_named_localhost(serve):
    page = serve(arguments=("--address", "127.0.0.1"))
    for host in (f"127.0.0.1:{page.port}", f"localhost:{page.port}"):
        assert page.get("/nothing", Host=host, Origin=f"http://{host}").status == 404
    page = serve()
    assert page.get("/nothing", Host=f"{page.host}:{page.port}").status == 404
    for host in (f"127.0.0.1:{page.port}", f"localhost:{page.port}"):
        assert page.get("/nothing", Host=host).code == "FOREIGN_HOST"


@pytest.mark.parametrize("origin", [
    "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1", "http://127.0.0.1:1", "null",
    "", "http://127.0.0.1:{port}/", "http://127.0.0.1:{port}.evil.example", "http://[::1]:{port}"])
@pytest.mark.parametrize("method, path", EVERYTHING, ids=map(in_words, EVERYTHING))
def test_foreign_origin_is_refused(page, method, path, origin):
    answer = page.ask(method, path, Origin=origin.format(port=page.port)).has(403)
    if method != "HEAD":
        assert answer.code == "FOREIGN_ORIGIN"


@pytest.mark.parametrize("path", ["/api/prompt", "/api/cancel", "/api/reading"])
def test_post_without_origin_is_refused(page, path):
    page.ask("POST", path, b'{"text":"go"}', Content_Type="application/json").has(403, "FOREIGN_ORIGIN")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "nonsense"])
def test_cross_site_request_is_refused(page, site):
    assert page.get("/api/events", Sec_Fetch_Site=site).code == "FOREIGN_ORIGIN"
    assert page.get("/", cookie=None, Sec_Fetch_Site=site).code == "FOREIGN_ORIGIN"
    assert page.get("/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe").code == "FOREIGN_ORIGIN"
    assert page.ask("HEAD", "/", cookie=None, Sec_Fetch_Site=site).status == 403
    assert page.enter(Sec_Fetch_Site=site).code == "FOREIGN_ORIGIN"


@pytest.mark.parametrize("site", ["cross-site", "same-site", ""])
def test_cross_site_link_leads_to_the_entrance(page, site):
    headers = {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document",
               "Accept": "text/html"}
    answer = page.get("/", cookie=None, **headers)
    assert answer.status == 200 and "Set-Cookie" not in answer.headers
    assert "<title>Narratoria</title>" in answer.text
    # A foreign Origin is refused nevertheless.
    assert page.get("/", cookie=None, Origin="http://evil.example", **headers).status == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_same_origin_and_user_requests_are_accepted(page, site):
    assert page.get("/nothing", Sec_Fetch_Site=site).status == 404
    assert page.enter(Sec_Fetch_Site=site).status == 200


def test_no_response_has_cors_headers(page):
    for path in ("/", "/api/assets/1", "/api/enter"):
        for headers in ({}, {"Origin": page.origin}):
            answer = page.get(path, **headers)
            assert not any(name.lower().startswith("access-control") for name in answer.headers)
    assert page.ask("OPTIONS", "/api/prompt", Origin="http://evil.example").status == 403


def test_listens_only_on_one_loopback_address(page):
    address = "".join(f"{int(part):02X}" for part in reversed(page.host.split(".")))
    assert listening(page.process.pid) == [f"{address}:{page.port:04X}"]


def listening(pid):
    """The addresses on which the process listens. Other processes may use the same port."""
    own = set()
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            own.add(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as file:
            rows = [line.split() for line in file][1:]
        found += [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own]
    return found


# ---------------------------------------------------------------- paths and methods


@pytest.mark.parametrize("path", [
    "/app", "/app/", "/app/.", "/app/..", "/app/../index.html", "/app/%2e%2e/%2e%2e/etc/passwd",
    "/..%2f..%2fetc%2fpasswd", "//etc/passwd", "/etc/passwd", "/./", "/index.html/", "/app//x",
    "/app/..%5c..%5cx", "/api", "/api/", "/%00", "/app/%00", "/api/assets"])
def test_path_traversal_is_refused(page, path):
    answer = page.raw(f"GET {path} HTTP/1.1\r\nHost: {page.host}:{page.port}\r\nCookie: {page.cookie}\r\n"
                      "Connection: close\r\n\r\n".encode())
    assert int(answer.split()[1]) == 404


@pytest.mark.parametrize("method, path, allowed", [
    ("POST", "/", "GET, HEAD"), ("PUT", "/", "GET, HEAD"), ("DELETE", "/api/assets/1", "GET, HEAD"),
    ("POST", "/api/events", "GET"), ("HEAD", "/api/events", "GET"), ("GET", "/api/prompt", "POST"),
    ("PUT", "/api/prompt", "POST"), ("GET", "/api/cancel", "POST"), ("TRACE", "/", "GET, HEAD"),
    ("BREW", "/api/prompt", "POST"), ("GET", "/api/enter", "POST"), ("PUT", "/api/enter", "POST"),
    ("GET", "/api/reading", "POST")])
def test_wrong_method_gets_allow_header(page, method, path, allowed):
    assert page.ask(method, path, Origin=page.origin).has(405).headers["Allow"] == allowed


# ---------------------------------------------------------------- responses


def test_page_policy_forbids_inline_and_foreign_content(serve):
    answer = serve().get("/").has(200)
    assert answer.headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "media-src 'self'; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'")
    assert answer.headers["Cache-Control"] == "no-store"


def test_every_response_has_isolation_headers(page):
    for path in ("/", "/nothing", "/api/assets/1", "/api/enter", "/api/prompt"):
        headers = page.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Frame-Options"] == "DENY"


def test_line_ends_in_a_request_are_not_echoed(page):
    for path in ("/%0d%0aSet-Cookie:%20a=b", "/api/assets/1%0d%0aX-Evil:%201",
                 "/api/events?after=1%0d%0aX-Evil:%201", "/api/enter?a=%0d%0aX-Evil:%201"):
        answer = page.get(path)
        assert answer.status in (400, 403, 404, 405)
        assert "X-Evil" not in answer.headers and "Set-Cookie" not in answer.headers
        assert "Evil" not in answer.text


def test_media_type_with_control_characters_is_ignored(announced, tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    page, seq = announced(tmp_path / "a", 'image/png; a="\u00e9\u0001"')
    answer = page.get(f"/api/assets/{seq}")
    assert answer.status == 404 or answer.headers["Content-Type"] == "application/octet-stream"


# ---------------------------------------------------------------- limits


def head(page, method="POST", path="/api/prompt", *more):
    lines = [f"{method} {path} HTTP/1.1", f"Host: {page.host}:{page.port}", f"Cookie: {page.cookie}",
             f"Origin: {page.origin}", "Content-Type: application/json", *more]
    return "\r\n".join([*lines, "", ""]).encode()


def test_body_over_1_mib_is_refused_before_it_is_sent(page):
    connection = page.connect()
    connection.sendall(head(page, "POST", "/api/prompt", "Content-Length: 1048577"))
    response = http.client.HTTPResponse(connection)
    response.begin()
    assert response.status == 413
    assert response.headers["Connection"].lower() == "close"


def test_body_of_1_mib_is_accepted(page):
    body = b'{"text":"' + b"a" * (1048576 - 11) + b'"}'
    assert len(body) == 1048576
    page.post("/api/prompt", body, Content_Type="application/json").has(202)


@pytest.mark.parametrize("length", ["-1", "1x", "0x10", "+1", "99999999999999999999999", " "])
def test_invalid_content_length_closes_the_connection(page, length):
    came = page.raw(head(page, "POST", "/api/cancel", f"Content-Length: {length}"))
    assert int(came.split()[1]) in (400, 413)


# If the server takes this for a request, it responds with FOREIGN_HOST.
HIDDEN = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"


def last(page):
    return head(page, "GET", "/nothing", "Connection: close")


@pytest.mark.parametrize("more", [
    ("Content-Length: 5", f"Content-Length: {len(HIDDEN) + 5}"),
    ("Transfer-Encoding: chunked", f"Content-Length: {len(HIDDEN) + 5}"),
    ("Transfer-Encoding: chunked",), ("Transfer-Encoding: identity",),
    ("Transfer-Encoding : chunked",), ("Transfer-Encoding: xchunked",),
    ("Content-Length : 5",), ("Transfer-Encoding: chunked", "Transfer-Encoding: identity")],
    ids=lambda more: " | ".join(more))
def test_ambiguous_length_smuggles_no_request(page, more):
    came = page.raw(head(page, "POST", "/api/cancel", *more) + b"0\r\n\r\n" + HIDDEN + last(page))
    assert came.count(b"HTTP/1.1 ") == 1
    assert int(came.split()[1]) in (400, 411, 413)


def test_body_of_a_refused_request_is_not_a_request(page):
    request = (f"POST /api/prompt HTTP/1.1\r\nHost: evil.example\r\n"
               f"Content-Length: {len(HIDDEN)}\r\n\r\n").encode()
    came = page.raw(request + HIDDEN + last(page))
    assert came.count(b"HTTP/1.1 ") == 1 and came.split()[1] == b"403"


def test_body_of_a_get_is_not_the_next_request(page):
    came = page.raw(head(page, "GET", "/nothing", f"Content-Length: {len(HIDDEN)}") + HIDDEN + last(page))
    assert came.count(b"HTTP/1.1 404") == 2 and b"FOREIGN_HOST" not in came


@pytest.mark.parametrize("request_", [
    b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100), b"GET " + b"/" * 200_000,
    b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", os.urandom(5000)],
    ids=["blank", "method", "no host", "version", "tls", "long", "many", "http2", "proxy", "noise"])
def test_garbage_is_harmless(page, request_):
    connection = page.connect()
    try:
        connection.sendall(request_)
        if select.select([connection], [], [], 0.2)[0]:
            came = connection.recv(65536)
            assert came == b"" or int(came.split()[1]) >= 400
    except ConnectionError:
        pass  # closed before everything was sent
    assert page.get("/nothing").status == 404


def test_slow_authenticated_request_ends_after_30_seconds(page):
    slow, silent, slow_body = page.connect(), page.connect(), page.connect()
    for one in (slow, silent):
        one.sendall(head(page, "GET", "/nothing"))
        assert one.recv(65536).startswith(b"HTTP/1.1 404")
    slow.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ")
    slow_body.sendall(head(page, "POST", "/api/prompt", "Content-Length: 1000"))
    begun = time.monotonic()
    ended = {}
    while len(ended) < 3 and time.monotonic() - begun < DEADLINE:
        left = [one for one in (slow, silent, slow_body) if one not in ended]
        for one in select.select(left, [], [], 1)[0]:
            try:
                answer = one.recv(1000)
                assert answer == b"" or b"408" in answer.split(b"\r\n")[0]
            except ConnectionError:
                pass
            ended[one] = time.monotonic() - begun
        for one in (slow, slow_body):
            if one not in ended:
                try:
                    one.sendall(b"y")
                except ConnectionError:
                    ended[one] = time.monotonic() - begun
    assert len(ended) == 3
    assert all(after >= 29 for after in ended.values()), ended.values()


def test_idle_connections_do_not_block_the_player(page):
    connections = [page.connect() for _ in range(400)]
    for one in connections[200:]:
        one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: ")
    assert is_served_in_time(page)
    # The oldest connections are closed first.
    assert has_ended(connections[0])


def test_flood_of_connections_does_not_block_the_player(page):
    ends = threading.Event()

    def flood():
        while not ends.is_set():
            with socket.socket() as one:
                one.connect((page.host, page.port))
                one.setblocking(False)
                one.send(b"GET / HTTP/1.1\r\n")

    floods = [threading.Thread(target=flood) for _ in range(2)]
    for one in floods:
        one.start()
    try:
        served = 0
        for _ in range(20):
            # Each get() opens a connection, which the flood may close before it is authenticated.
            try:
                served += page.get("/nothing").status == 404
            except (http.client.HTTPException, ConnectionError):
                pass
        assert served >= 19
    finally:
        ends.set()
        for one in floods:
            one.join()


def test_connections_do_not_close_authenticated_connections(page):
    stream = page.stream().begin()
    kept = page.connect()
    kept.sendall(head(page, "GET", "/nothing"))
    assert kept.recv(65536).startswith(b"HTTP/1.1 404")
    connections = [page.connect() for _ in range(300)]
    connections[-1].sendall(f"GET / HTTP/1.1\r\nHost: {page.host}:{page.port}\r\n\r\n".encode())
    assert select.select([connections[-1]], [], [], DEADLINE)[0]
    kept.sendall(head(page, "GET", "/nothing"))
    assert kept.recv(65536).startswith(b"HTTP/1.1 404")
    assert not has_ended(stream.connection)


def test_unauthenticated_request_times_out_after_5_seconds(page):
    silent, slow, asks = page.connect(), page.connect(), page.connect()
    slow.sendall(f"POST /api/enter HTTP/1.1\r\nHost: {page.host}:{page.port}\r\nOrigin: {page.origin}\r\n"
                 "Content-Length: 4000\r\n\r\n".encode())
    asks.sendall(f"GET / HTTP/1.1\r\nHost: {page.host}:{page.port}\r\nAccept: text/html\r\n\r\n".encode())
    begun = time.monotonic()
    for one in (silent, slow, asks):
        while one.recv(65536):
            pass
    # An authenticated request has 30 seconds.
    assert 4 < time.monotonic() - begun < 25


def test_unauthenticated_body_is_limited_to_4_kib(page):
    answer = page.raw(f"POST /api/enter HTTP/1.1\r\nHost: {page.host}:{page.port}\r\nOrigin: {page.origin}\r\n"
                      "Content-Type: application/json\r\nContent-Length: 4097\r\n\r\n".encode())
    assert answer.split()[1] == b"413" and b"4 KiB" in answer


def test_idle_authenticated_connections_make_room(page):
    held = []
    for _ in range(270):
        one = page.connect()
        one.sendall(head(page, "GET", "/nothing"))
        assert one.recv(65536).startswith(b"HTTP/1.1 404")
        held.append(one)
    assert has_ended(held[0]) and not has_ended(held[-1])


def test_65th_stream_is_refused(page):
    held = [page.stream().begin() for _ in range(64)]
    assert page.get("/api/events").has(503, "TOO_MANY_STREAMS").headers["Retry-After"]
    assert page.get("/nothing").status == 404
    held[0].close()
    limit = time.monotonic() + DEADLINE
    while True:
        late = page.connect()
        late.sendall(head(page, "GET", "/api/events"))
        if late.recv(12) == b"HTTP/1.1 200":
            break
        assert time.monotonic() < limit


def has_ended(connection):
    """True if the server has closed the connection."""
    try:
        return select.select([connection], [], [], 1)[0] and connection.recv(1) == b""
    except ConnectionError:
        return True


# ---------------------------------------------------------------- the host's process


def test_tool_inherits_no_descriptors_of_the_page(serve):
    tool = ("#!/bin/sh\ncat >/dev/null\n"
            "for one in /proc/$$/fd/*; do\n"
            'printf \'{"version":"0","type":"log","level":"info","message":"%s"}\\n\' "$(readlink "$one")"\n'
            f"done\necho '{done()}'\n")
    page = serve({"go": [plan("look")]}, {"look": tool})
    streams = [page.stream().begin() for _ in range(5)]
    page.prompt("go")
    records = streams[0].until_turn_ended()
    links = [record["event"]["message"] for record in records
             if record["event"].get("type") == "log"]
    assert len(links) >= 3
    foreign = [link for link in links if "eventpoll" in link or "eventfd" in link or "(deleted)" in link]
    assert foreign == []
    inode = {os.readlink(f"/proc/{page.process.pid}/fd/{name}")
             for name in os.listdir(f"/proc/{page.process.pid}/fd")}
    assert not inode & {link for link in links if link.startswith("socket:")}


def test_every_descriptor_is_close_on_exec(serve):
    page = serve({"go": [plan("wait")]}, {"wait": tool_that_waits()})
    streams = [page.stream().begin() for _ in range(5)]
    page.prompt("go")
    streams[0].until_log()
    for name in os.listdir(f"/proc/{page.process.pid}/fd"):
        if int(name) < 3:
            continue
        with open(f"/proc/{page.process.pid}/fdinfo/{name}") as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
        assert flags & os.O_CLOEXEC, os.readlink(f"/proc/{page.process.pid}/fd/{name}")
    page.post("/api/cancel")


def test_reset_during_a_response_is_harmless(announced, tmp_path):
    picture = tmp_path / "picture"
    picture.write_bytes(bytes(5_000_000))
    page, seq = announced(picture)
    for _ in range(20):
        connection = page.connect()
        connection.sendall(head(page, "GET", f"/api/assets/{seq}"))
        connection.recv(1000)
        # SO_LINGER 0: close with a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    assert len(page.get(f"/api/assets/{seq}").body) == 5_000_000


def test_cookie_of_a_different_server_is_refused(serve):
    one, other = serve(), serve(story=TORCH)
    assert other.get("/", cookie=one.cookie).status == 403
    assert other.enter(one.token).status == 403


# ---------------------------------------------------------------- closed connections, descriptors


def is_served_in_time(page, seconds=10):
    """True if a request is answered well before the timeout of dead connections."""
    connection = page.connect(seconds)
    connection.sendall(head(page, "GET", "/nothing", "Connection: close"))
    return connection.recv(100).startswith(b"HTTP/1.1 404")


def test_repeated_reloads_leak_no_streams(page):
    for _ in range(700):
        stream = page.stream()
        stream.begin()
        stream.close()
        page.open.clear()
    assert is_served_in_time(page)


def test_partial_requests_of_closed_connections_are_freed(page):
    for _ in range(600):
        with socket.create_connection((page.host, page.port), timeout=DEADLINE) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHos")
    assert is_served_in_time(page)


def test_half_closed_connection_gets_its_response(page):
    for request in (head(page, "GET", "/nothing"), head(page, "GET", "/nothing") * 3,
                    head(page, "POST", "/api/prompt", "Content-Length: 500000") + b"x" * 500_000):
        connection = page.connect()
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        came = b""
        while piece := connection.recv(65536):
            came += piece
        assert came.count(b"HTTP/1.1 4") == max(1, request.count(b"/nothing"))


def test_without_descriptors_connections_wait_without_spinning(page):
    pid = page.process.pid

    def ticks():
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
    # The connection of Page's own first request may still be open.
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (highest, before[1]))
    late = [page.connect() for _ in range(highest)]
    for one in late:
        one.sendall(head(page, "GET", "/nothing"))
    spent = ticks()
    assert not select.select([late[-1]], [], [], 2)[0]
    assert ticks() - spent < 50, "the server spins"
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert select.select([late[-1]], [], [], 10)[0]
    assert page.said().count("new connections must wait") == 1
