# SPDX-License-Identifier: Apache-2.0
"""The functions that the containers of the tests run."""

import os
import time


def greet(payload):
    print("greeting", flush=True)
    return {"message": "Hello " + payload["name"]}


def wait(payload):
    print("waiting", flush=True)
    time.sleep(600)


def interfaces(payload):
    return sorted(os.listdir("/sys/class/net"))


def write(payload):
    open("/opt/written", "w").close()


def mood(payload):
    return [os.environ.get("MOOD"), os.environ.get("OTHER")]


def leave(payload):
    os._exit(3)
