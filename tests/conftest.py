# SPDX-License-Identifier: Apache-2.0
"""Gives every pytest of this project a time limit, after which it fails with a traceback."""

import os
import signal

import pytest

# The tests in wheel/ need an installed wheel; the stage "wheels" installs one and sets the
# variable.
collect_ignore = [] if os.environ.get("NARRATORIA_WHEEL") else ["wheel"]

# Ends tests that hang, and does not judge speed: ten times what a slow, busy machine needs.
LIMIT_SECONDS = 600

# A shell starts background jobs with SIGINT ignored. The commands that the tests start and
# interrupt would inherit that.
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
