# SPDX-License-Identifier: Apache-2.0
"""Runs one Python tool: reads a request on standard input, writes a reply on standard output.

Protocol: specification 001. One file without dependencies, so that it can also be the command of a
container: ``python -m narratoria_runner``.
"""

import importlib
import json
import os
import sys
import traceback

PROTOCOL_VERSION = 1


def failure(type_, message, **more):
    return {"ok": False, "protocol_version": PROTOCOL_VERSION,
            "error": {"type": type_, "message": message, **more}}


def run(request):
    try:
        module, _, function = request["entry"].partition(":")
        result = getattr(importlib.import_module(module), function)(request["payload"])
        reply = {"ok": True, "protocol_version": PROTOCOL_VERSION, "result": result}
        return json.dumps(reply, allow_nan=False)
    except Exception as error:
        details = {"traceback": traceback.format_exc()}
        return json.dumps(failure(type(error).__name__, str(error), details=details))


def main():
    # What the tool prints must not break the protocol.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    reply = run(request)
    sys.stdout.flush()
    answer.write(reply + "\n")
    answer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
