# SPDX-License-Identifier: Apache-2.0
"""Plays a story in the terminal: ``python -m narratoria [STORY]``; default: the sample story.

Type what you do, or the number of a choice. Ctrl-C cancels the turn, not the game; the end of input
(Ctrl-D) ends the game.
"""

from __future__ import annotations

import argparse
import sys

import narratoria
from narratoria.events import Log


def _print_event(event: narratoria.Event) -> None:
    match event.data:
        case Log(message, "info" | "warn" | "error"):
            print(f"  … {message}", flush=True)
        case _:
            pass


def _read_prompt(choices: list[str]) -> str:
    words = input("> ").strip()
    if words.isdecimal() and 1 <= int(words) <= len(choices):
        return choices[int(words) - 1]
    return words


def _print_choices(choices: list[str]) -> None:
    for number, choice in enumerate(choices, start=1):
        print(f"  {number}. {choice}")


def _print_turn(turn: narratoria.Turn) -> None:
    print(turn.narrative)
    for asset in turn.assets:
        print(f"  [{asset.kind}: {asset.path}]")
    _print_choices(turn.choices)


def _play(story: str) -> None:
    choices: list[str] = []
    with narratoria.Session(story=story, output_mode="keep") as session:
        session.add_sink(_print_event, ["tool_event"])
        if opening := session.opening:
            if opening.text:
                print(opening.text)
            choices = opening.choices
            _print_choices(choices)
        while True:
            try:
                if words := _read_prompt(choices):
                    turn = session.play(words)
                    choices = turn.choices
                    _print_turn(turn)
            except KeyboardInterrupt:
                print("\n(cancelled)")
            except EOFError:
                print()
                return


def main(arguments: list[str] | None = None) -> int:
    """Plays a story in the terminal, and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m narratoria",
        description="Plays a story in the terminal.",
        epilog='Example: echo "I light the torch" | python -m narratoria',
    )
    parser.add_argument("story", nargs="?", help="the story's folder; default: the sample story")
    parser.add_argument("--version", action="version", version=narratoria.__version__)
    given = parser.parse_args(arguments)
    story: str | None = given.story
    if story is None:
        story = str(narratoria.sample_story())
        print("This is the sample story. Try: I light the torch and examine the door")
    try:
        _play(story)
    except narratoria.Error as error:
        print(f"narratoria: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
