# SPDX-License-Identifier: Apache-2.0
"""HTML of a session's state, of a result and of an asset, for notebooks.

Text of tools and narrators is not trusted: it is escaped, and no script runs. Text has the page's
colours; the colours of bars are legible on light and dark backgrounds. The output is XHTML, so that
it can be checked as XML.

    >>> print(state_html({"torch": {"lit": True}}))  # doctest: +ELLIPSIS
    <div ...>...<b>torch</b>...<b>lit</b>: ...true...</div>
"""

from __future__ import annotations

import binascii
import os
import stat
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .documents import Asset, Attempt, Result, ToolResult
    from .store import StoredTurn

#: The maximum size of a file that is embedded in the page, in bytes.
EMBEDDED_BYTES = 8 * 1024 * 1024
#: The maximum part of a text file that is shown, in bytes.
_SHOWN_TEXT = 64 * 1024
#: The maximum members of a container, characters of a string, levels, and values in all.
_SHOWN_MEMBERS = 100
_SHOWN_CHARACTERS = 400
_SHOWN_LEVELS = 24
_SHOWN_VALUES = 2000
#: The maximum characters of a narrative, and assets of a turn.
_SHOWN_NARRATIVE = 20_000
_SHOWN_ASSETS = 20
#: The maximum length of a path on Linux, in bytes.
_LONGEST_PATH = 4096
#: The maximum number of turns of a session.
_SHOWN_TURNS = 500
#: The maximum number of tools of a result.
_SHOWN_TOOLS = 200

# Each has a contrast ratio of at least 3 with white and with near-black.
_COLOURS = {"completed": "#2e8b57", "failed": "#d1434b", "timeout": "#c77700"}
_OTHER_COLOUR = "#8a8a8a"
_NAME_COLOUR = "#1c7f94"

_FRAME = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45"
_FAINT = "opacity:0.7"
_MONOSPACED = "font-family:ui-monospace,monospace"

# Also replaces characters that XML cannot contain, and those that change the text direction.
_ESCAPES: dict[int, str] = {
    **{code: "\ufffd" for code in (*range(32), *range(127, 160), 0xFFFE, 0xFFFF)},
    **{code: "\ufffd" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))},
    **{code: "\ufffd" for code in range(0xD800, 0xE000)},
    ord("\n"): "\n",
    ord("\t"): "\t",
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord('"'): "&quot;",
    ord("'"): "&#39;",
}


def _escape(text: object) -> str:
    return str(text).translate(_ESCAPES)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


# --------------------------------------------------------------------------------------------------
# A turn
# --------------------------------------------------------------------------------------------------


def turn_html(
    narrative: str, choices: list[str], assets: list[Asset], result: Result | None
) -> str:
    """The narrative, the choices, the assets and the result of a turn.

    >>> print(turn_html("It is dark.", ["Go on"], [], None))  # doctest: +ELLIPSIS
    <div ...><p ...>It is dark.</p><ol ...><li>Go on</li></ol></div>
    """
    text = _escape(_shortened(narrative, _SHOWN_NARRATIVE))
    parts = [f'<div style="{_FRAME}"><p style="white-space:pre-wrap">{text}</p>']
    if choices:
        items = [
            f"<li>{_escape(_shortened(choice, _SHOWN_CHARACTERS))}</li>"
            for choice in choices[:_SHOWN_MEMBERS]
        ]
        if len(choices) > _SHOWN_MEMBERS:
            items.append(f"<li>… {_plural(len(choices) - _SHOWN_MEMBERS, 'more choice')}</li>")
        parts.append(f'<ol style="margin:0 0 1em">{"".join(items)}</ol>')
    parts += [asset_html(asset) for asset in assets[:_SHOWN_ASSETS]]
    if len(assets) > _SHOWN_ASSETS:
        parts.append(f"<p>… {_plural(len(assets) - _SHOWN_ASSETS, 'more asset')}</p>")
    if result is not None:
        # Without the plan's narrative, which is that of the turn.
        parts.append(result_html(result, with_narrative=result.narrative != narrative))
    return "".join(parts) + "</div>"


# --------------------------------------------------------------------------------------------------
# The state
# --------------------------------------------------------------------------------------------------


def state_html(value: Any, name: str = "state", open_levels: int = 2) -> str:
    """A JSON value as a collapsible tree.

    Args:
        value: the value; large containers, long strings and great depths are cut, and say so.
        name: the label of the root.
        open_levels: the number of levels that are unfolded at first.

    >>> "2 more" in state_html(list(range(102)))
    True
    """
    tree = _Tree(open_levels)
    tree.add(name, value, 0)
    return f'<div style="{_FRAME}">{"".join(tree.parts)}</div>'


class _Tree:
    __slots__ = ("_left", "_open_levels", "parts")

    def __init__(self, open_levels: int) -> None:
        self._open_levels = open_levels
        self._left = _SHOWN_VALUES
        self.parts: list[str] = []

    def add(self, name: object, value: Any, level: int) -> None:
        self._left -= 1
        label = f"<b>{_escape(_shortened(str(name), 80))}</b>"
        if isinstance(value, Mapping):
            self._add_container(label, list(value.items()), "member", "{ }", level)
        elif isinstance(value, (list, tuple)):
            self._add_container(label, list(enumerate(value)), "element", "[ ]", level)
        else:
            self.parts.append(f"<div>{label}: {_scalar(value)}</div>")

    def _add_container(
        self, label: str, items: list[tuple[Any, Any]], noun: str, empty: str, level: int
    ) -> None:
        if not items:
            self.parts.append(f"<div>{label}: {empty}</div>")
            return
        count = f'<span style="{_FAINT}">{_plural(len(items), noun)}</span>'
        if level >= _SHOWN_LEVELS or self._left <= 0:
            self.parts.append(f"<div>{label}: {count}, not shown</div>")
            return
        unfolded = ' open="open"' if level < self._open_levels else ""
        self.parts.append(
            f'<details{unfolded}><summary>{label} {count}</summary><div style="margin-left:1.3em">'
        )
        shown = 0
        for name, value in items[:_SHOWN_MEMBERS]:
            if self._left <= 0:
                break
            self.add(name, value, level + 1)
            shown += 1
        if shown < len(items):
            self.parts.append(f'<div style="{_FAINT}">… {len(items) - shown:,} more</div>')
        self.parts.append("</div></details>")


def turns_html(turns: Sequence[StoredTurn], current: int | None) -> str:
    """The turns of a session, as ``narratoria session tree`` draws them. At a fork the branch with
    the current turn, or else the latest one, continues straight down; the others are indented.

    >>> turns_html([], None)  # doctest: +ELLIPSIS
    '<div ...>no turns</span></div>'
    """
    parents = {turn.id: turn.parent for turn in turns}
    path: set[int] = set()
    at = current
    while at is not None:
        path.add(at)
        at = parents.get(at)
    children: dict[int | None, list[StoredTurn]] = {}
    for turn in turns:
        children.setdefault(turn.parent, []).append(turn)
    lines: list[str] = []
    # Each turn, and what is drawn to the left of it and of its descendants.
    waiting: list[tuple[StoredTurn, str, str]] = []

    def add_children(turn: int | None, left: str) -> None:
        own = sorted(children.get(turn, []), key=lambda child: child.id in path)
        if own:
            waiting.append((own.pop(), left, left))
        waiting.extend((child, left + "├─ ", left + "│  ") for child in reversed(own))

    add_children(None, "")
    while waiting and len(lines) < _SHOWN_TURNS:
        turn, left, below = waiting.pop()
        label = turn.prompt if turn.kind == "prompt" else turn.kind
        text = f"{turn.id} {_escape(_shortened(label, 200))}"
        if turn.id == current:
            text = f"<b>{text}</b>"
        for name in turn.names:
            text += f' <span style="color:{_NAME_COLOUR}">[{_escape(_shortened(name, 200))}]</span>'
        if turn.status != "completed":
            text += f' <span style="{_FAINT}">{_escape(turn.status)}</span>'
        if left:
            text = f'<span style="{_MONOSPACED};{_FAINT};white-space:pre">{left}</span>{text}'
        lines.append(f"<div>{text}</div>")
        add_children(turn.id, below)
    if len(turns) > len(lines):
        lines.append(
            f'<div style="{_FAINT}">… {_plural(len(turns) - len(lines), "more turn")}</div>'
        )
    shown = "".join(lines) or f'<span style="{_FAINT}">no turns</span>'
    return f'<div style="{_FRAME}">{shown}</div>'


def _scalar(value: Any) -> str:
    if value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        more = len(value) - _SHOWN_CHARACTERS
        text = f'"{value[:_SHOWN_CHARACTERS]}"' + (f" … {more:,} more" if more > 0 else "")
    else:
        text = _shortened(str(value), _SHOWN_CHARACTERS)
    return (
        f'<span style="{_MONOSPACED};white-space:pre-wrap;overflow-wrap:anywhere">'
        f"{_escape(text)}</span>"
    )


# --------------------------------------------------------------------------------------------------
# A result
# --------------------------------------------------------------------------------------------------


def result_html(result: Result, with_narrative: bool = True) -> str:
    """An execution result: the outcome of each tool, and when each attempt ran.

    >>> from narratoria.documents import Result
    >>> "no tools" in result_html(Result("p", True, "Silence.", 0, [], [], 1, False))
    True
    """
    colour = _COLOURS["completed" if result.success else "failed"]
    parts = [
        f'<div style="{_FRAME}"><div><span style="color:{colour}">●</span> '
        f"<b>{'success' if result.success else 'failed'}</b> "
        f'<span style="{_FAINT}">{_milliseconds(result.execution_time)}, plan '
        f"{_escape(_shortened(result.plan_id, 60))}</span></div>"
    ]
    if result.narrative and with_narrative:
        parts.append(
            '<p style="margin:0.4em 0;white-space:pre-wrap;max-width:60em">'
            f"{_escape(_shortened(result.narrative, 2000))}</p>"
        )
    tools = result.tool_results[:_SHOWN_TOOLS]
    if tools:
        parts.append(_table(tools))
        more = len(result.tool_results) - len(tools)
        if more:
            parts.append(f'<div style="{_FAINT}">… {_plural(more, "more tool")}</div>')
        parts.append(_timeline(tools))
    else:
        parts.append(f'<div style="{_FAINT}">no tools</div>')
    for conflict in result.state_conflicts[:_SHOWN_MEMBERS]:
        writers: Any = conflict.get("tools", ())
        if isinstance(writers, (list, tuple)):
            writers = " and ".join(str(one) for one in writers)
        parts.append(
            f"<div>{_escape(_shortened(str(conflict.get('path', '')), 200))} was written by "
            f"{_escape(_shortened(str(writers), 200))} at the same time; the later value is kept."
            "</div>"
        )
    parts.append("</div>")
    return "".join(parts)


def _milliseconds(count: float) -> str:
    return f"{count:,.0f} ms"


def _table(tools: list[ToolResult]) -> str:
    head = "".join(
        f'<th style="text-align:{side};padding:2px 10px 2px 0">{title}</th>'
        for title, side in (
            ("tool", "left"),
            ("state", "left"),
            ("time", "right"),
            ("retries", "right"),
            ("error", "left"),
        )
    )
    rows: list[str] = []
    for tool in tools:
        error = ""
        if tool.error_code:
            error = f"<b>{_escape(_shortened(tool.error_code, 60))}</b> "
        if tool.error:
            error += _escape(_shortened(tool.error, 300))
        cells = (
            (_escape(_shortened(tool.tool_id, 60)), "left"),
            (f"{_dot(tool.state)} {_escape(_shortened(tool.state, 30))}", "left"),
            (_milliseconds(tool.execution_time), "right"),
            (str(tool.retry_count), "right"),
            (error, "left"),
        )
        row = "".join(
            f'<td style="text-align:{side};padding:2px 10px 2px 0;vertical-align:top">{cell}</td>'
            for cell, side in cells
        )
        rows.append(f"<tr>{row}</tr>")
    return (
        '<table style="border-collapse:collapse;margin:0.4em 0"><thead>'
        f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _dot(state: str) -> str:
    return f'<span style="color:{_COLOURS.get(state, _OTHER_COLOUR)}">●</span>'


_WIDTH = 760
_LABELS = 150
_ROW = 20
_AXIS = 26


def _timeline(tools: list[ToolResult]) -> str:
    """One row per tool, one bar per attempt, in milliseconds from the first attempt's start."""
    starts: dict[tuple[int, int], float] = {}
    for row, tool in enumerate(tools):
        for index, attempt in enumerate(tool.attempts):
            started = _time(attempt.started_at)
            if started is not None:
                starts[row, index] = started
    if not starts:
        return ""
    first = min(starts.values())
    span = max(
        started - first + tools[row].attempts[index].execution_time
        for (row, index), started in starts.items()
    )
    step = _step(span)
    # The axis ends at the first line after the last bar.
    whole = step * max(1, -(-span // step))
    scale = (_WIDTH - _LABELS - 40) / whole
    bottom = len(tools) * _ROW
    height = bottom + _AXIS

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" aria-label="When each attempt ran" '
        'style="max-width:100%;height:auto;color:inherit" fill="currentColor" font-size="11" '
        'font-family="system-ui,sans-serif">'
    ]
    for line in range(round(whole / step) + 1):
        x = _LABELS + line * step * scale
        parts.append(
            f'<line x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{bottom}" stroke="currentColor" '
            'stroke-opacity="0.2"/>'
            f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle" fill-opacity="0.8">'
            f"{_escape(_axis_label(line * step, step))}{' ms' if line == 0 else ''}</text>"
        )
    for row, tool in enumerate(tools):
        top = row * _ROW
        label = _escape(_shortened(tool.tool_id, 22))
        parts.append(
            f'<text x="{_LABELS - 8}" y="{top + 14}" text-anchor="end">{label}'
            f"<title>{_escape(_shortened(tool.tool_id, 200))}</title></text>"
        )
        if not tool.attempts:
            parts.append(
                f'<text x="{_LABELS + 4}" y="{top + 14}" fill-opacity="0.7">'
                f"{_escape(_shortened(tool.state, 30))}</text>"
            )
        for index, attempt in enumerate(tool.attempts):
            if (row, index) not in starts:
                continue
            x = _LABELS + (starts[row, index] - first) * scale
            width = max(2.0, attempt.execution_time * scale)
            parts.append(
                f'<rect x="{x:.1f}" y="{top + 4}" width="{width:.1f}" height="{_ROW - 8}" rx="2" '
                f'fill="{_COLOURS.get(attempt.state, _OTHER_COLOUR)}">'
                f"<title>{_escape(_attempt_title(tool, attempt))}</title></rect>"
            )
    parts.append("</svg>")
    return "".join(parts)


def _attempt_title(tool: ToolResult, attempt: Attempt) -> str:
    parts = [f"{_shortened(tool.tool_id, 60)}, attempt {attempt.attempt}"]
    parts[0] += f": {_shortened(attempt.state, 30)}"
    if attempt.code:
        parts.append(_shortened(attempt.code, 60))
    if attempt.exit_status is not None:
        parts.append(f"exit status {attempt.exit_status}")
    if attempt.signal is not None:
        parts.append(f"signal {attempt.signal}")
    parts.append(_milliseconds(attempt.execution_time))
    return ", ".join(parts)


def _step(span: float) -> float:
    """Returns a round number of milliseconds, about a fifth of the span."""
    step = 1.0
    while step * 5 < span:
        for factor in (2, 2.5, 2):
            step *= factor
            if step * 5 >= span:
                break
    return step


def _axis_label(value: float, step: float) -> str:
    return f"{value:,.1f}" if step % 1 else f"{value:,.0f}"


def _time(text: str) -> float | None:
    """Returns milliseconds since the epoch of an ISO-8601 time; None if the text is not one."""

    # Python 3.10 does not read Z, and reads fractions of three or six digits only.
    rest = text[19:]
    fraction = 0.0
    try:
        if rest[:1] == ".":
            digits = len(rest[1:]) - len(rest[1:].lstrip("0123456789"))
            fraction = float("0." + rest[1 : 1 + digits])
            rest = rest[1 + digits :]
        if rest in ("Z", "z"):
            rest = "+00:00"
        moment = datetime.fromisoformat(text[:19] + rest)
        if moment.tzinfo is None:
            return None
        return (moment.timestamp() + fraction) * 1000
    except (ValueError, OverflowError):
        return None


# --------------------------------------------------------------------------------------------------
# An asset
# --------------------------------------------------------------------------------------------------


def asset_html(asset: Asset, embedded_bytes: int = EMBEDDED_BYTES) -> str:
    """An asset: images, audio, video and plain text are shown, for others a link to the file.

    Args:
        asset: an entry of the registry.
        embedded_bytes: a larger file is not embedded; its path and size are shown.

    >>> from narratoria.documents import Asset
    >>> missing = Asset("p", "torch", 1, 9, "lit", "image", "image/png", "/nowhere/torch.png")
    >>> "No such file" in asset_html(missing)
    True
    """
    content, size, reason = _read(asset.path, embedded_bytes)
    media_type = _plain_media_type(asset.media_type)
    shown = ""
    if content is not None:
        shown = _embedded(asset, media_type, content)
        if not shown:
            reason = f"{_shortened(asset.media_type, 100)} is not shown here"
    caption = [_shortened(asset.asset_id, 100), f"of {_shortened(asset.tool_id, 100)}"]
    caption.append(_shortened(asset.media_type, 100))
    if size is not None:
        caption.append(_bytes(size))
    parts = [f'<div style="{_FRAME}">', shown]
    if not shown:
        parts.append(f"<div>{_link(asset.path)} <i>{_escape(reason)}</i></div>")
    parts.append(f'<div style="{_FAINT}">{_escape(", ".join(caption))}</div>')
    if asset.metadata:
        tree = _Tree(0)
        tree.add("metadata", asset.metadata, 0)
        parts += tree.parts
    parts.append("</div>")
    return "".join(parts)


def _embedded(asset: Asset, media_type: str, content: bytes) -> str:
    family = media_type.partition("/")[0]
    if media_type == "text/plain":
        text = content[:_SHOWN_TEXT].decode("utf-8", "replace")
        more = len(content) - _SHOWN_TEXT
        rest = f'<div style="{_FAINT}">… {_bytes(more)} more</div>' if more > 0 else ""
        return (
            f'<pre style="{_MONOSPACED};white-space:pre-wrap;max-height:30em;overflow:auto">'
            f"{_escape(text)}</pre>{rest}"
        )
    if family not in ("image", "audio", "video"):
        return ""

    data = binascii.b2a_base64(content, newline=False).decode("ascii")
    source = f"data:{media_type};base64,{data}"
    name = _escape(_shortened(asset.asset_id, 200))
    if family == "image":
        # In <img>, a script inside an SVG image does not run.
        return f'<img src="{source}" alt="{name}" style="max-width:100%;max-height:30em"/>'
    return (
        f'<{family} controls="controls" preload="metadata" title="{name}" src="{source}" '
        f'style="max-width:100%;max-height:30em"></{family}>'
    )


def _plain_media_type(text: str) -> str:
    """Returns `image/png` for `Image/PNG; a=b`, and `""` if the text is not a media type."""
    media_type = text.partition(";")[0].strip(" \t").lower()
    family, slash, subtype = media_type.partition("/")
    allowed = "abcdefghijklmnopqrstuvwxyz0123456789!#$^_.+-"
    if not slash or not family or not subtype:
        return ""
    return media_type if all(char in allowed for char in family + subtype) else ""


def _read(path: str, limit: int) -> tuple[bytes | None, int | None, str]:
    """Returns the content, the size, and the reason if there is no content."""

    try:
        # O_NONBLOCK: a pipe in place of the file would block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as fault:
        return None, None, getattr(fault, "strerror", None) or str(fault)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None, None, "is not a regular file"
        if status.st_size > limit:
            return None, status.st_size, f"is larger than {_bytes(limit)}, so it is not shown here"
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(limit + 1)
    except OSError as fault:
        return None, None, fault.strerror or str(fault)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        return None, None, f"is larger than {_bytes(limit)}, so it is not shown here"
    return content, len(content), ""


def _bytes(count: int) -> str:
    if count < 1024:
        return _plural(count, "byte")
    for unit in ("KiB", "MiB"):
        if count < 1024**2:
            return f"{count / 1024:,.1f} {unit}"
        count //= 1024
    return f"{count / 1024:,.1f} GiB"


def _link(path: str) -> str:
    """Returns a link with the scheme `file`, whatever the path contains."""
    try:
        location = os.fsencode(os.path.abspath(path))
        if len(location) > _LONGEST_PATH:
            raise ValueError
    except (OSError, ValueError):
        return _escape(_shortened(path, 300))
    safe = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~"
    quoted = "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in location)
    return f'<a href="file://{quoted}" rel="noopener">{_escape(_shortened(path, 300))}</a>'
