#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A story over HTTP with asyncio alone: one session per player, all in one event loop.

    python examples/python/server.py [PORT [STORY]]      default 8080; 0: any free port

    curl -N 'localhost:8080/events?player=ada'           the event stream, as Server-Sent Events
    curl 'localhost:8080/prompt?player=ada' -d '{"prompt": "I light the torch"}'

Ctrl-C and SIGTERM shut it down cleanly: tools are ended, event streams closed, responses sent.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from narratoria import BusyError, Error, Event, InvalidArgumentError, aio, sample_story

LONGEST_BODY = 64 * 1024
MOST_PLAYERS = 100


class Refused(Exception):
    """A request that is refused with this status."""

    def __init__(self, status: HTTPStatus, reason: str = "") -> None:
        super().__init__(reason or status.description or status.phrase)
        self.status = status


@dataclass
class Request:
    method: str
    path: str
    player: str
    body: bytes


async def read_request(reader: asyncio.StreamReader) -> Request:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, target, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", "0"))
        if length > LONGEST_BODY:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        body = await reader.readexactly(length)
        url = urlsplit(target)
    except (ValueError, asyncio.LimitOverrunError) as error:
        raise Refused(HTTPStatus.BAD_REQUEST) from error
    return Request(method, url.path, parse_qs(url.query).get("player", ["anyone"])[0], body)


def answer(status: HTTPStatus, document: Any) -> bytes:
    body = json.dumps(document).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def server_sent(event: Event) -> bytes:
    return f"id: {event.seq}\nevent: {event.kind}\ndata: {event.to_json()}\n\n".encode()


class Server:
    """The sessions of the players, and the open connections."""

    def __init__(self, story: Path) -> None:
        self._story = story
        self._sessions: dict[str, aio.Session] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._stop = asyncio.Event()

    async def run(self, port: int) -> None:
        """Serves until SIGINT or SIGTERM."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await self._stop.wait()
        server.close()
        # Close the sessions first: the connections wait for them.
        for session in self._sessions.values():
            await session.aclose()
        if self._connections:
            _, late = await asyncio.wait(self._connections, timeout=2)
            for connection in late:
                connection.cancel()
        await server.wait_closed()

    async def _session(self, player: str) -> aio.Session:
        if player not in self._sessions:
            if self._stop.is_set() or len(self._sessions) == MOST_PLAYERS:
                raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "The server is full.")
            self._sessions[player] = await aio.Session(story=self._story)
        return self._sessions[player]

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                request = await read_request(reader)
                match request.method, request.path:
                    case "POST", "/prompt":
                        writer.write(await self._prompt(request))
                    case "GET", "/events":
                        await self._events(request, reader, writer)
                    case _, "/prompt" | "/events":
                        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED)
                    case _:
                        raise Refused(HTTPStatus.NOT_FOUND)
            except Refused as refused:
                writer.write(answer(refused.status, {"error": str(refused)}))
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has disconnected
        finally:
            writer.close()

    async def _prompt(self, request: Request) -> bytes:
        try:
            prompt = json.loads(request.body)["prompt"]
            session = await self._session(request.player)
            turn = await session.play(prompt)
        except BusyError as error:
            raise Refused(HTTPStatus.CONFLICT, str(error)) from error
        except Error as error:
            wrong = isinstance(error, InvalidArgumentError)
            status = HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.SERVICE_UNAVAILABLE
            raise Refused(status, str(error)) from error
        except (ValueError, LookupError, TypeError) as error:
            message = 'The body is JSON: {"prompt": "what the player says"}.'
            raise Refused(HTTPStatus.BAD_REQUEST, message) from error
        return answer(
            HTTPStatus.OK,
            {"outcome": turn.outcome, "narrative": turn.narrative, "choices": turn.choices},
        )

    async def _events(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        stream = (await self._session(request.player)).events()
        # Reading ends when the client disconnects; it sends nothing else.
        gone = asyncio.create_task(reader.read())
        gone.add_done_callback(lambda _: stream.close())
        try:
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                b"Cache-Control: no-store\r\nConnection: close\r\n\r\n"
            )
            await writer.drain()
            async for event in stream:
                writer.write(server_sent(event))
                await writer.drain()
        finally:
            gone.cancel()


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    story = Path(sys.argv[2]) if len(sys.argv) > 2 else sample_story()
    asyncio.run(Server(story).run(port))
