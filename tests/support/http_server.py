#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""http_server.py [CERTIFICATE KEY]: an HTTP/1.1 server on 127.0.0.1 for tests.

The path of a request selects how the server behaves, well or badly. Prints {"port": N} or, with a
certificate, {"port": N, "tls_port": N}. Exits at the end of its standard input.
"""

import asyncio
import json
import os
import resource
import socket
import ssl
import struct
import sys

connections = 0
counts = {}  # requests received, by path
tasks = set()  # keeps the tasks alive; asyncio has only weak references
received = {}  # the body of the last request, by path
canned = {}  # status and body to answer with, by path
gates = {}  # futures of the requests that wait, by path
BIG = 100_000_000


async def read_request(reader):
    """Returns the method, the path, the headers as sent, and the body.

    Raises IncompleteReadError at the end of the connection.
    """
    head = await reader.readexactly(1)
    if head == b"\x16":
        raise ConnectionError("TLS")
    head += await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    length = 0
    for line in lines[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value)
    body = await reader.readexactly(length) if length else b""
    return method, path, lines[1:-2], body


def reset(writer):
    """Closes the connection with RST instead of FIN."""
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def answer(body, status="200 OK", extra=""):
    if isinstance(body, str):
        body = body.encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{extra}\r\n".encode() + body


async def serve(reader, writer, number):
    while True:
        method, path, headers, body = await read_request(reader)
        counts[path] = counts.get(path, 0) + 1
        name = path.split("?")[0]
        if name.startswith("/set/"):  # /set/STATUS/PATH: the body is the answer of /PATH
            _, _, status, where = name.split("/", 3)
            canned["/" + where] = status + " Canned", body
            writer.write(answer("set"))
            continue
        if name.startswith("/last/"):
            writer.write(answer(received.get(name[len("/last"):], b"")))
            continue
        received[name] = body
        if name in canned:
            writer.write(answer(canned[name][1], status=canned[name][0]))
            continue
        if name == "/hello":
            writer.write(answer("hello"))
        elif name == "/echo":
            writer.write(answer(body, extra="X-Method: " + method + "\r\n"))
        elif name == "/headers-sent":
            writer.write(answer("\n".join(headers)))
        elif name == "/connection":
            writer.write(answer(str(number)))
        elif name.startswith("/count/"):
            writer.write(answer(str(counts.get(name[len("/count"):], 0))))
        elif name.startswith("/status/"):
            writer.write(answer("as asked", status=name[len("/status/"):] + " Asked"))
        elif name == "/redirect":
            writer.write(answer("", status="302 Found",
                                extra="Location: http://ann:secret@127.0.0.1:9/other?key=secret\r\n"))
        elif name == "/stall":
            await asyncio.Event().wait()
        elif name == "/stall-body":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ")
            await writer.drain()
            await asyncio.Event().wait()
        elif name == "/reset":
            return reset(writer)
        elif name == "/reset-body":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf ")
            await writer.drain()
            gate = asyncio.get_running_loop().create_future()
            gates.setdefault("/go", []).append(gate)
            await gate
            return reset(writer)
        elif name == "/close":
            return
        elif name == "/hello-and-close":
            writer.write(answer("hello"))
            return
        elif name == "/cut":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
            return
        elif name == "/cut-chunk":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf")
            return
        elif name == "/too-short-a-length":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello world")
        elif name == "/no-length":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\nhello")
            return
        elif name == "/odd-length":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello")
            return
        elif name == "/big":
            writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {BIG}\r\n\r\n".encode())
            await write_much(writer)
        elif name == "/big-without-length":
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            await write_much(writer)
            return
        elif name == "/byte-by-byte":
            for byte in answer("hello", extra="X-A: b\r\n"):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)
        elif name == "/endless-headers":
            writer.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                writer.write(b"X-More: and more\r\n" * 100)
                await writer.drain()
        elif name == "/endless-header":
            writer.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
            while True:
                writer.write(b"a" * 10000)
                await writer.drain()
        elif name == "/endless-continue":
            while True:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
                await writer.drain()
        elif name == "/early-hints":
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer("hello"))
        elif name == "/not-http":
            writer.write(b"SSH-2.0-OpenSSH_9.2p1\r\n")
            return
        elif name == "/stream":
            # The second piece is sent when /go is requested.
            gate = asyncio.get_running_loop().create_future()
            gates.setdefault("/go", []).append(gate)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n")
            await writer.drain()
            await gate
            writer.write(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")
        elif name == "/go":
            for gate in gates.pop("/go", []):
                gate.set_result(None)
            writer.write(answer("gone"))
        elif name.startswith("/gate/"):
            # /gate/N replies once N requests wait.
            waiting = gates.setdefault(name, [])
            gate = asyncio.get_running_loop().create_future()
            waiting.append(gate)
            if len(waiting) == int(name[len("/gate/"):]):
                for each in gates.pop(name):
                    each.set_result(None)
            await gate
            writer.write(answer('{"ok": true, "result": "through"}'))
        else:
            writer.write(answer("no such path", status="404 Not Found"))
        await writer.drain()


async def write_much(writer):
    block = b"x" * 100_000
    for _ in range(BIG // len(block)):
        writer.write(block)
        await writer.drain()


async def connected(reader, writer):
    global connections
    connections += 1
    tasks.add(asyncio.current_task())
    try:
        await serve(reader, writer, connections)
    except ConnectionError as error:
        if str(error) == "TLS":
            writer.write(answer("this port speaks no TLS", status="400 Bad Request"))
    except (asyncio.IncompleteReadError, ssl.SSLError):
        pass
    finally:
        tasks.discard(asyncio.current_task())
        writer.close()


async def main(certificate=None, key=None):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    ports = {}
    server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=4096, limit=1 << 26)
    ports["port"] = server.sockets[0].getsockname()[1]
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        tls = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context, backlog=4096)
        ports["tls_port"] = tls.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main(*sys.argv[1:]))
