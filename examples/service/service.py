#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An HTTP service for tools of specification 001 (Namel3ss Python tool protocol v1).

    python3 service.py [--port 8787] [--root FOLDER] [--enforced no_network,no_subprocess] [--secrets API_KEY]

Runs the functions of the modules below FOLDER, by default the folder of this file. Python's standard library
only. Copy it, and change what you need.
"""

import argparse
import importlib
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROTOCOL_VERSION = 1
LARGEST_BODY = 16 * 1024 * 1024
GUARANTEES = ("no_filesystem_write", "no_filesystem_read", "no_network", "no_subprocess",
              "no_env_read", "no_env_write")
# The variables that every process may have.
ORDINARY = ("PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV")


class Refused(Exception):
    """Raised for a request that has no result; the message has the reason."""


def find_function(root, entry):
    """Returns the function of "package.module:function". The module must be below the root."""
    module, colon, name = str(entry).partition(":")
    parts = module.split(".")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in parts):
        raise Refused(f'entry must be "module:function", not {json.dumps(entry)}')
    file = root.joinpath(*parts).with_suffix(".py")
    if not file.is_file():
        raise Refused(f"there is no {file.relative_to(root)} in the service's folder")
    function = getattr(importlib.import_module(module), name, None)
    if not callable(function):
        raise Refused(f"{module} has no function {name}")
    return function


def run_tool(root, request):
    """Returns the reply to a call."""
    try:
        if request.get("protocol_version") != PROTOCOL_VERSION:
            raise Refused(f"protocol_version must be {PROTOCOL_VERSION}")
        result = find_function(root, request.get("entry"))(request.get("payload"))
        json.dumps(result)
    except Exception as error:  # an exception of the tool is its reply
        return {"ok": False, "protocol_version": PROTOCOL_VERSION,
                "error": {"type": type(error).__name__, "message": str(error)}}
    return {"ok": True, "protocol_version": PROTOCOL_VERSION, "result": result}


def shake_hands(enforced, secrets, request):
    """Returns the reply to a handshake: the guarantees that are enforced here, and the secrets."""
    if request.get("protocol_version") != PROTOCOL_VERSION:
        return {"ok": False, "error": {"type": "ProtocolError",
                                       "message": f"protocol_version must be {PROTOCOL_VERSION}"}}
    supported = {name: name in enforced for name in GUARANTEES}
    if secrets is not None:
        supported["secrets_allowed"] = secrets
    return {"ok": True, "enforcement": "enforced" if enforced or secrets is not None else "none",
            "supported_guarantees": supported, "service_version": "1.0.0"}


def keep_only(secrets):
    """Keeps only ordinary variables and these secrets: restarts this program without any others."""
    kept = {name: value for name, value in os.environ.items()
            if name in ORDINARY or name in secrets or name.startswith("LC_")}
    if kept != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], kept)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # connections that may wait to be accepted


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection
    wbufsize = -1  # headers and body in one packet, or each call waits 40 ms
    timeout = 300  # seconds, of an idle connection

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            # The body stays unread, so the connection cannot be used again.
            self.close_connection = True
            return self.reply(413 if length.isdecimal() else 411, {
                "ok": False, "error": {"type": "ProtocolError", "message":
                                       f"Content-Length must be at most {LARGEST_BODY}"}})
        try:
            request = json.loads(self.rfile.read(int(length)))
            if not isinstance(request, dict):
                raise ValueError("it is not an object")
        except ValueError as error:
            return self.reply(400, {"ok": False, "error": {
                "type": "ProtocolError", "message": f"the request is not a JSON object: {error}"}})
        if self.path.split("?")[0] == "/capabilities/handshake":
            return self.reply(200, shake_hands(self.server.enforced, self.server.secrets, request))
        return self.reply(200, run_tool(self.server.root, request))

    def reply(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser(description="Serves Python functions as tools.")
    parser.add_argument("--port", type=int, default=8787, help="0: any free port")
    parser.add_argument("--root", type=Path, default=Path(__file__).parent)
    parser.add_argument("--enforced", default="", metavar="NAMES", help="guarantees that the "
                        "environment of this process enforces, such as a container; this program "
                        "enforces none")
    parser.add_argument("--secrets", metavar="NAMES", help="the variables with secrets that the tools may "
                        "read, or nothing: the process keeps only these, and ordinary ones such as PATH")
    options = parser.parse_args()
    enforced = [name for name in options.enforced.split(",") if name]
    secrets = None
    if options.secrets is not None:
        secrets = [name for name in options.secrets.split(",") if name]
        keep_only(secrets)
    unknown = [name for name in enforced if name not in GUARANTEES]
    if unknown:
        parser.error(f"unknown guarantee: {', '.join(unknown)}")

    server = Server(("127.0.0.1", options.port), Handler)
    server.root = options.root.resolve()
    server.enforced = enforced
    server.secrets = secrets
    sys.path.insert(0, str(server.root))
    print(json.dumps({"port": server.server_port}), flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
