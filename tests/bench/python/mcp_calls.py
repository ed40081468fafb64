#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mcp_calls.py COUNT: makes COUNT calls of the tool of mcp_server.py, one after the other, with the
client of the same package and a warm server. Prints the microseconds per call as JSON."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    count = int(sys.argv[1])
    server = StdioServerParameters(
        command=sys.executable, args=[str(Path(__file__).with_name("mcp_server.py"))]
    )
    with open("/dev/null", "w") as nowhere:
        async with (
            stdio_client(server, errlog=nowhere) as streams,
            ClientSession(*streams) as client,
        ):
            await client.initialize()
            for number in range(min(count, 20)):
                await client.call_tool("add", {"a": number, "b": 2})
            begin = time.perf_counter()
            for number in range(count):
                answer = await client.call_tool("add", {"a": number, "b": 2})
            seconds = time.perf_counter() - begin
    text = getattr(answer.content[0], "text", None)
    if text != str(count + 1):
        raise SystemExit(f"{answer!r}")
    print(json.dumps({"callUs": seconds / count * 1e6, "version": version("mcp")}))


asyncio.run(main())
