# SPDX-License-Identifier: Apache-2.0
"""Namel3ss projects (spec 001) for tests, with a tool and packs."""

import json
import os
import sys

from harness import environment

TOOLS = '''
import os

def greet(payload):
    print("greeting")
    return {"message": "Hello " + payload["name"], "ok": True}

def fails(payload):
    raise ValueError("Missing input")

def waits(payload):
    import time
    time.sleep(600)

def where(payload):
    return {"folder": os.getcwd(), "path": os.environ["PYTHONPATH"].split(":"), "env": os.environ.get("MOOD")}
'''
GREETER = 'tools:\n  "greeter":\n    kind: "python"\n    entry: "tools.sample_tool:greet"\n'

SIX = ["no_filesystem_write", "no_filesystem_read", "no_network", "no_subprocess", "no_env_read",
       "no_env_write"]


def surroundings(**more):
    """An environment with the real Python first in PATH.

    The python of pyenv is a script, which cannot start Python under no_subprocess.
    """
    return environment(**{"PATH": f"{os.path.dirname(os.path.realpath(sys.executable))}:{os.environ['PATH']}", **more})


class Project:
    def __init__(self, command, folder=None):
        self.command = command
        self.folder = folder or command.folder / "project"
        self.write("tools/sample_tool.py", TOOLS)
        self.bind(GREETER)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def bind(self, text):
        self.write(".namel3ss/tools.yaml", text)

    def tool(self, name, *fields, entry=None):
        """Binds one function of sample_tool.py, with these lines of fields."""
        self.bind(f"tools:\n  {name}:\n    entry: tools.{entry or f'sample_tool:{name}'}\n"
                  + "".join(f"    {field}\n" for field in fields))

    def code(self, name, text, *fields):
        """Writes a module, and binds its function run() as the only tool."""
        self.write(f"tools/{name}.py", text)
        self.tool(name, *fields, entry=f"{name}:run")

    def run(self, tool, payload=None, *options, env=None):
        """Runs a tool; returns the finished command and its trace."""
        return self.command.run_tool(tool, self.folder, payload or {}, *options, env=env or surroundings())

    def faults(self):
        """The faults that `validate project` reports, with place and message."""
        ran = self.command("validate", "project", self.folder).exits(1)
        return ran.out


def events(ran):
    return [json.loads(line) for line in ran.lines]


PACK = """id: "{id}"
name: "A pack"
version: "0.2.0"
description: "for tests"
author: "somebody"
license: "MIT"
tools:
  - "{tool}"
"""
ENTRYPOINTS = """entrypoints:
  "{tool}":
    entry: "{module}:run"
"""
CAPABILITIES = """capabilities:
  "{tool}":
    filesystem: "read"
    network: "outbound"
    env: "read"
    subprocess: "allow"
    secrets: ["KEY", "OTHER"]
"""


def pack(project, name="one", tool="pick", folder=".namel3ss/packs", more=ENTRYPOINTS,
         capabilities=CAPABILITIES):
    place = f"{folder}/{name}"
    project.write(f"{place}/src/{name}_tools.py", "def run(payload):\n    return {'pack': __name__}\n")
    said = {"id": f"pack.{name}", "tool": tool, "module": f"{name}_tools"}
    project.write(f"{place}/pack.yaml", PACK.format(**said) + more.format(**said))
    if capabilities:
        project.write(f"{place}/capabilities.yaml", capabilities.format(**said))
    return place


def bound(project, name, **options):
    """The entry of a tool in the output of `tool list`."""
    ran = project.command("tool", "list", "--project", project.folder, "--json", **options).exits(0)
    return next(tool for tool in ran.result if tool["name"] == name)
