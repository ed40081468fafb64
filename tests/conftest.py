# SPDX-License-Identifier: Apache-2.0
"""What every pytest of this project gets: a time of its own, after which it fails with a trace."""

import os
import signal

import pytest

# Of an installed wheel: tests/run.py --full installs one, and runs them with it.
collect_ignore = [] if os.environ.get("NARRATORIA_WHEEL") else ["wheel"]

# Ends a test that hangs, and judges nothing: ten times what a slow, busy machine needs.
LIMIT_SECONDS = 600

# A shell ignores Ctrl-C for what it starts in the background, and so would the commands that the
# tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


class TooSlow(Exception):
    pass


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    def ring(_signal, _frame):
        raise TooSlow(f"{item.nodeid} took more than {LIMIT_SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
