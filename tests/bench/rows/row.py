# SPDX-License-Identifier: Apache-2.0
"""A row of the table."""

import math


class Row:
    """One row of the table. `value` must be at least `least` or at most `most`; None: not measured."""

    def __init__(self, key, what, value, unit, ours="", peer="", least=None, most=None, note=""):
        self.key, self.what, self.note = key, what, note
        self.ours, self.peer = ours, peer
        # Rounded to the failing side, so that 0.8995 is not printed as a 0.90 that fails.
        digits = 2 if unit == "×" else 3 if unit == "s" else 1
        self.value = ""
        if value is not None:
            scaled = value * 10**digits
            shown = math.floor(scaled) if least is not None else math.ceil(scaled)
            self.value = f"{shown / 10**digits:.{digits}f} {unit}"
        bar = least if least is not None else most
        sign = "≥" if least is not None else "≤"
        self.bar = "" if bar is None else f"{sign} {bar:g} {unit}"
        reaches = (lambda goal: value >= goal) if least is not None else (lambda goal: value <= goal)
        if value is None:
            self.verdict = "not measured"
        elif bar is None:
            self.verdict = "—"
        else:
            self.verdict = "pass" if reaches(bar) else "**fail**"

    def cells(self, command, when):
        what = self.what + (f" ({self.note})" if self.note else "")
        return [f"`{self.key}`", f"`{command}`", what, self.ours, self.peer, self.value, self.bar,
                self.verdict, when]
