#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tool that plays a script written by a test: events, and actions between them.

Its input names a file, {"steps": "/…/steps.json"}, with one object per step. The tool waits at a
gate until the test creates the gate's file, so no test relies on timing.
"""

import json
import os
import sys
import time


def write(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def line(event, at):
    """The event as one line. "{now}" becomes the time in milliseconds, "{n}" the round."""
    text = json.dumps({"version": "0", **event})
    if at is not None:
        text = text.replace("{n}", str(at))
    if "{now}" in text:
        text = text.replace("{now}", str(time.time() * 1000))
    return text + "\n"


def play(step, gates):
    (what, value), = step.items()
    if what == "emit":
        write(line(value, None))
    elif what == "raw":
        write(value)
    elif what == "wait":
        gate = os.path.join(gates, value)
        while not os.path.exists(gate):
            time.sleep(0.005)
    elif what == "pause":
        time.sleep(value / 1000)
    elif what == "stderr":
        sys.stderr.write(value)
        sys.stderr.flush()
    elif what == "repeat":
        every = value.get("everyMs")
        lines = (line(value["event"], at) for at in range(value["times"]))
        if every is None:
            write("".join(lines))
        else:
            for each in lines:
                write(each)
                time.sleep(every / 1000)
    elif what == "remove":
        os.unlink(value)
    elif what == "exit":
        sys.exit(value)


def main():
    with open(json.load(sys.stdin.buffer)["input"]["steps"], encoding="utf-8") as file:
        script = json.load(file)
    for step in script["steps"]:
        play(step, script["gates"])


if __name__ == "__main__":
    main()
