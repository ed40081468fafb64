# SPDX-License-Identifier: Apache-2.0
"""The tool of specification 001's examples."""


def greet(payload):
    if "name" not in payload:
        raise ValueError("Missing input")
    return {"message": f"Hello {payload['name']}", "ok": True}
