#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A story in the terminal: type what you do, or the number of a choice.

    python examples/python/chat.py [STORY]               default: the sample story

Ctrl-C cancels the turn, not the game. The end of input (Ctrl-D) ends the game.
"""

from __future__ import annotations

import sys

import narratoria
from narratoria.events import Log


def tell(event: narratoria.Event) -> None:
    """Prints the log messages of tools while they run."""
    match event.data:
        case Log(message, "info" | "warn" | "error"):
            print(f"  … {message}", flush=True)


def ask(choices: list[str]) -> str:
    """Reads the next prompt: the player's own words, or the choice with that number."""
    words = input("> ").strip()
    if words.isdecimal() and 1 <= int(words) <= len(choices):
        return choices[int(words) - 1]
    return words


def show(turn: narratoria.Turn) -> None:
    print(turn.narrative)
    for asset in turn.assets:
        print(f"  [{asset.kind}: {asset.path}]")
    for number, choice in enumerate(turn.choices, start=1):
        print(f"  {number}. {choice}")


def main() -> None:
    story = sys.argv[1] if len(sys.argv) > 1 else narratoria.sample_story()
    choices: list[str] = []
    with narratoria.Session(story=story) as session:
        session.add_sink(tell, ["tool_event"])
        while True:
            try:
                if words := ask(choices):
                    turn = session.play(words)
                    choices = turn.choices
                    show(turn)
            except KeyboardInterrupt:
                print("\n(cancelled)")
            except EOFError:
                print()
                return


if __name__ == "__main__":
    try:
        main()
    except narratoria.Error as error:
        sys.exit(f"chat.py: {error}")
