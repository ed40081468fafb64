#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Model Context Protocol server on standard input and output, made with the Python package mcp.
It has the tool of tool_calls.py."""

from __future__ import annotations

try:
    from mcp.server import MCPServer  # 2.x
except ImportError:
    from mcp.server.fastmcp import FastMCP as MCPServer  # 1.x

server = MCPServer("add")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run()
