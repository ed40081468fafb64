# SPDX-License-Identifier: Apache-2.0
"""Functions for tools written in Python: read the request, emit events, end the attempt.

A tool is a program. The runtime starts it, writes one JSON object (the *request*, spec 000 §6) to
its standard input, and reads *events* from its standard output, one JSON object per line (spec 000
§2–§4). The last event is `done`. A complete tool:

    #!/usr/bin/env python3
    from narratoria.tool import log, patch, run


    def greet(request):
        who = request.input.get("who", "stranger")
        log(f"Greeting {who}")
        patch({"greeted": {"name": who, "times": 1}})
        return f"Good evening, {who}."


    run(greet)

This module uses only the standard library, and no other module of the package. If the package is
not installed, copy this file next to the script (for example as `narratoria_tool.py`) and write
`from narratoria_tool import run`.

**Errors.** An event that violates the protocol is not sent: the function raises `ValueError` or
`TypeError` with the place in the event as a JSON Pointer. `run` turns exceptions into an `error`
event and `done` with `ok: false`:

| exception      | raised by                                         | code of the error event |
|----------------|---------------------------------------------------|-------------------------|
| `ToolError`    | the tool itself                                   | its own                 |
| `InvalidInput` | reading the request; the tool                     | `INVALID_INPUT`         |
| anything else  | the tool; an event that breaks the rules          | `TOOL_EXCEPTION`        |
| `OutputLost`   | emitting, when the runtime cannot be written to   | none can be sent        |

**Threads.** Emitting is thread-safe: each event is written as one complete line.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence

# Tools are short-lived processes that start often: what few tools need is imported inside functions,
# and `typing` when an annotation is evaluated.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import typing
else:

    class _Typing:
        # LazyModule, for a copy of this file without the package.
        def __getattr__(self, name: str) -> object:
            return getattr(__import__("typing"), name)

    typing = _Typing()

__all__ = [
    "InvalidInput",
    "OutputLost",
    "Request",
    "ToolError",
    "asset",
    "done",
    "error",
    "log",
    "patch",
    "progress",
    "read_request",
    "run",
    "ui_event",
]

#: The maximum nesting of objects and arrays. The runtime has the same limit.
DEEPEST_NESTING = 512

_LEVELS = ("debug", "info", "warn", "error")
_INFINITY = float("inf")
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


# --------------------------------------------------------------------------------------------------
# Failures
# --------------------------------------------------------------------------------------------------


class ToolError(Exception):
    """Raised by a tool to report a controlled failure.

    `run` emits it as an `error` event (spec 000 §4.5) and ends with `done`, `ok: false`.

    Attributes:
        code: for programs, such as `"TORCH_WET"`.
        message: for people.
        details: an object with further information, or None.
        retry: False if another attempt cannot succeed; the plan's retries are then not used.

    >>> ToolError("NO_SUCH_DOOR", "There is no such door.", retry=False).retry
    False
    >>> raise ToolError("TORCH_WET", "The torch is too wet to burn.", {"wetness": 0.9})
    Traceback (most recent call last):
        ...
    narratoria.tool.ToolError: TORCH_WET: The torch is too wet to burn.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, typing.Any] | None = None,
        *,
        retry: bool = True,
    ) -> None:
        super().__init__(code, message, details)
        self.code = code
        self.message = message
        self.details = details
        self.retry = retry

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InvalidInput(ToolError):
    """The request, or a member of its `input`, is invalid: code `INVALID_INPUT`.

    Args:
        message: the error, for people.
        pointer: JSON Pointer (RFC 6901) to the member within `input`, which is added to the message
            and the details; None for the request as a whole.

    >>> str(InvalidInput("must be at least 2", "/sides"))
    'INVALID_INPUT: input /sides: must be at least 2'
    """

    def __init__(self, message: str, pointer: str | None = None) -> None:
        if pointer is None:
            super().__init__("INVALID_INPUT", message, retry=False)
        else:
            details = {"pointer": pointer}
            super().__init__("INVALID_INPUT", f"input {pointer}: {message}", details, retry=False)
        # copy and pickle call the class with these arguments.
        self.args: tuple[typing.Any, ...] = (message, pointer)


class OutputLost(OSError):
    """An event could not be written: the runtime has exited or closed its end of the pipe.

    Do not catch it: nothing can be reported any more, and `run` exits with status 1.

    >>> issubclass(OutputLost, OSError)
    True
    """


# --------------------------------------------------------------------------------------------------
# The request
# --------------------------------------------------------------------------------------------------


class Request:
    """The request of the runtime (spec 000 §6).

    Attributes:
        input: the plan's input for this tool, a dict; `{}` if there is none.
        operation: the requested operation; `"run"` if the input names none.
        dependencies: by toolId, the merged patches of each dependency (a dict), or None for an
            optional one that failed.
        results: by toolId, the results of the dependencies that returned one.
        state: the parts of the session's state that the tool's manifest names, a dict; `{}` if it
            names none.
        seed: what to seed the tool's dice with, `random.Random(request.seed)`, so that `narratoria
            test` repeats what they show. Another number for each attempt; None if the tool was started
            by hand, which makes the dice unpredictable.
        request_id: the requestId of the plan; `""` if the tool was started by hand.
        tool: the tool's name in the plan; `""` if it was started by hand.

    >>> Request({"action": "light"}, operation="light").input["action"]
    'light'
    """

    __slots__ = (
        "dependencies",
        "input",
        "operation",
        "request_id",
        "results",
        "seed",
        "state",
        "tool",
    )

    def __init__(
        self,
        input: dict[str, typing.Any] | None = None,
        operation: str = "run",
        dependencies: dict[str, dict[str, typing.Any] | None] | None = None,
        results: dict[str, typing.Any] | None = None,
        request_id: str = "",
        tool: str = "",
        state: dict[str, typing.Any] | None = None,
        seed: int | None = None,
    ) -> None:
        self.input: dict[str, typing.Any] = {} if input is None else input
        self.operation: str = operation
        self.dependencies: dict[str, dict[str, typing.Any] | None] = (
            {} if dependencies is None else dependencies
        )
        self.results: dict[str, typing.Any] = {} if results is None else results
        self.state: dict[str, typing.Any] = {} if state is None else state
        self.seed: int | None = seed
        self.request_id: str = request_id
        self.tool: str = tool

    def __repr__(self) -> str:
        shown = [repr(self.input)]
        for name in ("operation", "dependencies", "results", "state", "seed", "request_id", "tool"):
            value = getattr(self, name)
            if value and (name, value) != ("operation", "run"):
                shown.append(f"{name}={value!r}")
        return f"Request({', '.join(shown)})"


def read_request(stream: typing.BinaryIO | typing.TextIO | None = None) -> Request:
    """Reads the request up to the end of the stream. `run` calls it.

    Blank input is a request with an empty `input`, so that a tool can be started by hand. A
    terminal is not read and counts as blank. Unknown fields are ignored.

    Args:
        stream: binary (UTF-8) or text; None means standard input.

    Raises:
        InvalidInput: the text is not a JSON object, or a field has the wrong type.

    >>> import io
    >>> read_request(io.StringIO('{"tool": "light", "input": {"action": "light"}, "seed": 7}'))
    Request({'action': 'light'}, seed=7, tool='light')
    """
    source: typing.Any = sys.stdin if stream is None else stream
    if source is None or source.isatty():
        return Request()
    try:
        text = getattr(source, "buffer", source).read()
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        if not text.strip():
            return Request()
        document: typing.Any = json.loads(text)
    except UnicodeDecodeError as fault:
        raise InvalidInput(f"the request on standard input is not UTF-8: {fault}") from None
    except (ValueError, RecursionError) as fault:
        raise InvalidInput(f"the request on standard input is not JSON: {fault}") from None
    except OSError as fault:
        raise InvalidInput(f"standard input cannot be read: {fault}") from None
    if not isinstance(document, dict):
        raise InvalidInput(f"the request on standard input must be an object, is {_name(document)}")

    members: dict[str, typing.Any] = document

    def member(name: str, kind: type, missing: typing.Any) -> typing.Any:
        value = members.get(name)
        if value is None:
            return missing
        if not isinstance(value, kind):
            due = {str: "a string", int: "a whole number"}.get(kind, "an object")
            raise InvalidInput(f"the request's {name} must be {due}, is {_name(value)}")
        return value

    return Request(
        member("input", dict, {}),
        member("operation", str, "run"),
        member("dependencies", dict, {}),
        member("results", dict, {}),
        member("requestId", str, ""),
        member("tool", str, ""),
        member("state", dict, {}),
        member("seed", int, None),
    )


def _name(value: object) -> str:
    """Names the kind of a JSON value, for messages."""
    if value is None:
        return "null"
    for kind, name in (
        (bool, "a boolean"),
        ((int, float), "a number"),
        (str, "a string"),
        ((list, tuple), "an array"),
        (dict, "an object"),
    ):
        if isinstance(value, kind):
            return name
    return f"of the type {type(value).__qualname__}"


# --------------------------------------------------------------------------------------------------
# The events
# --------------------------------------------------------------------------------------------------


def log(message: str, level: str = "info", **fields: typing.Any) -> None:
    """Emits a log event (spec 000 §4.1).

    Args:
        message: for people, not empty.
        level: "debug", "info", "warn" or "error"; no level fails the tool.
        fields: additional data.

    Raises:
        ValueError, TypeError: an argument is not valid in an event.

    >>> log("Lighting...", attempts=1)
    {"version":"0","type":"log","level":"info","message":"Lighting...","fields":{"attempts":1}}
    """
    if level not in _LEVELS:
        raise ValueError(f'level must be "debug", "info", "warn" or "error", not {level!r}')
    event: dict[str, typing.Any] = {"version": "0", "type": "log", "level": level}
    event["message"] = _text(message, "message")
    if fields:
        event["fields"] = fields
    _output.send(event)


def progress(fraction: float, message: str = "", level: str = "info") -> None:
    """Reports progress: a log event with `fields.progress`, which is shown as a bar.

    Args:
        fraction: from 0 to 1; values outside are clamped.
        message: for people; default: the percentage.
        level: as in `log`.

    Raises:
        ValueError: `fraction` is NaN, or an argument is not valid in an event.

    >>> progress(0.25)
    {"version":"0","type":"log","level":"info","message":"25 %","fields":{"progress":0.25}}
    """
    if fraction != fraction:
        raise ValueError("fraction must be a number from 0 to 1, not NaN")
    shown = min(max(fraction, 0.0), 1.0)
    log(message or f"{shown * 100:.0f} %", level, progress=shown)


def patch(patch: Mapping[str, typing.Any]) -> None:
    """Emits a state patch (spec 000 §4.2).

    Args:
        patch: an object of JSON values: objects merge, arrays and other values replace, None
            removes.

    Raises:
        ValueError, TypeError: it contains values that are not JSON (NaN, keys other than strings,
            integers of more than 64 bits, lone surrogates …); the message names the place.

    >>> patch({"inventory": {"torch": {"lit": True}}})
    {"version":"0","type":"state_patch","patch":{"inventory":{"torch":{"lit":true}}}}
    """
    _output.send({"version": "0", "type": "state_patch", "patch": _object(patch, "patch")})


def asset(
    asset_id: str,
    kind: str,
    media_type: str,
    path: str | os.PathLike[str],
    metadata: Mapping[str, typing.Any] | None = None,
) -> None:
    """Announces a file (spec 000 §4.3).

    The file must be complete and readable. The tool owns it; the runtime never deletes it. The path
    is sent as an absolute path.

    Args:
        asset_id: unique within the attempt.
        kind: a category: "image", "audio", "video", "model" …
        media_type: a MIME type, such as "image/png".
        path: of the file.
        metadata: further information: width, height, frame rate.

    Raises:
        ValueError, TypeError: an argument is empty or not valid in an event.

    >>> asset("lit_torch", "image", "image/png", "/tmp/torch.png")  # doctest: +ELLIPSIS
    {"version":"0","type":"asset","assetId":"lit_torch",...,"path":"/tmp/torch.png"}
    """
    named: typing.Any = os.fspath(path)
    if not isinstance(named, str):
        raise TypeError("path must be a str or a path of str, not bytes; events are UTF-8")
    event: dict[str, typing.Any] = {
        "version": "0",
        "type": "asset",
        "assetId": _text(asset_id, "asset_id"),
        "kind": _text(kind, "kind"),
        "mediaType": _text(media_type, "media_type"),
        "path": os.path.abspath(_text(named, "path")),
    }
    if metadata is not None:
        event["metadata"] = _object(metadata, "metadata")
    _output.send(event)


def ui_event(event: str, payload: Mapping[str, typing.Any] | None = None) -> None:
    """Requests an action of the user interface (spec 000 §4.4), which may not support it.

    Args:
        event: the action's name; every user interface supports "narrative_choice".
        payload: the action's parameters.

    Raises:
        ValueError, TypeError: an argument is empty or not valid in an event.

    >>> ui_event("narrative_choice", {"choices": ["Open", "Leave"]})  # doctest: +ELLIPSIS
    {"version":"0","type":"ui_event","event":"narrative_choice","payload":{"choices":...}}
    """
    emitted: dict[str, typing.Any] = {
        "version": "0",
        "type": "ui_event",
        "event": _text(event, "event"),
    }
    if payload is not None:
        emitted["payload"] = _object(payload, "payload")
    _output.send(emitted)


def error(code: str, message: str, details: Mapping[str, typing.Any] | None = None) -> None:
    """Reports an error (spec 000 §4.5). The attempt continues.

    End it with `done(False)`, or raise a `ToolError`, which does both. If a function called by
    `run` returns after this, the attempt ends with `ok: false`.

    Args:
        code: for programs, such as "TORCH_WET".
        message: for people.
        details: structured data for debugging.

    Raises:
        ValueError, TypeError: an argument is empty or not valid in an event.

    >>> error("TORCH_WET", "The torch is wet.")
    {"version":"0","type":"error","errorCode":"TORCH_WET","errorMessage":"The torch is wet."}
    """
    event: dict[str, typing.Any] = {
        "version": "0",
        "type": "error",
        "errorCode": _text(code, "code"),
        "errorMessage": _text(message, "message"),
    }
    if details is not None:
        event["details"] = _object(details, "details")
    _output.send(event)
    _output.had_error = True


def done(
    ok: bool = True, summary: str = "", result: typing.Any = None, *, retry: bool = True
) -> None:
    """Ends the attempt (spec 000 §4.6). Emitting anything afterwards raises.

    A function called by `run` needs it only to give a summary: `run` emits `done` itself.

    Args:
        ok: True for success, False for a controlled failure.
        summary: one sentence for people.
        result: the return value for the caller and for dependent tools, any JSON value; None omits
            it.
        retry: False if another attempt cannot succeed; the plan's retries are then not used.

    Raises:
        ValueError, TypeError: an argument is not valid in an event.

    >>> run(lambda request: done(True, "Torch lit.", {"hours": 3}))
    {"version":"0","type":"done","ok":true,"summary":"Torch lit.","result":{"hours":3}}
    """
    event: dict[str, typing.Any] = {"version": "0", "type": "done", "ok": bool(ok)}
    if summary:
        event["summary"] = _text(summary, "summary")
    if result is not None:
        event["result"] = result
    if not retry:
        event["retry"] = False
    _output.send(event, last=True)


def _text(value: typing.Any, argument: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a string, is {_name(value)}")
    if not value:
        raise ValueError(f"{argument} must not be empty")
    return value


def _object(value: Mapping[str, typing.Any], argument: str) -> dict[str, typing.Any]:
    if isinstance(value, dict):
        return value
    try:
        return {**value}
    except TypeError:
        raise TypeError(
            f"{argument} must be a dict with strings as keys, is {_name(value)}"
        ) from None


def _line(event: dict[str, typing.Any]) -> bytes:
    """Returns the event as one line. Raises, with the place, for a value that the runtime
    refuses."""
    waiting: list[tuple[typing.Any, typing.Any, int]] = [(event, None, 1)]
    while waiting:
        value, place, depth = waiting.pop()
        if value is None or value is True or value is False:
            continue
        if isinstance(value, str):
            if not value.isascii():
                _check_text(value, event, place)
        elif isinstance(value, int):
            if not -(2**63) <= value < 2**64:
                raise ValueError(
                    f"{_where(event, place)}: an integer of more than 64 bits: {value:#x}"
                )
        elif isinstance(value, float):
            if value != value or value in (_INFINITY, -_INFINITY):
                raise ValueError(f"{_where(event, place)}: {float(value)} has no JSON form")
        elif isinstance(value, (dict, list, tuple)):
            if depth > DEEPEST_NESTING:
                # The full pointer would be very long; name the outermost member only.
                raise ValueError(
                    f"{_where(event, _outermost(place))}: nested deeper than {DEEPEST_NESTING} "
                    "levels, or contains itself"
                )
            if isinstance(value, dict):
                members: dict[typing.Any, typing.Any] = value
                for key, item in members.items():
                    if not isinstance(key, str):
                        raise TypeError(
                            f"{_where(event, place)}: the keys of an object must be strings, "
                            f"not {key!r}"
                        )
                    if not key.isascii():
                        _check_text(key, event, place)
                    waiting.append((item, (place, key), depth + 1))
            else:
                elements: Sequence[typing.Any] = value
                for index, item in enumerate(elements):
                    waiting.append((item, (place, index), depth + 1))
        else:
            raise TypeError(
                f"{_where(event, place)}: {type(value).__qualname__} is not a JSON type; "
                "use dict, list, str, int, float, bool or None"
            )
    return (_encode(event) + "\n").encode("utf-8")


def _check_text(text: str, event: dict[str, typing.Any], place: typing.Any) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as fault:
        raise ValueError(
            f"{_where(event, place)}: U+{ord(text[fault.start]):04X} at {fault.start} is a lone "
            "surrogate, which UTF-8 cannot hold"
        ) from None


def _where(event: dict[str, typing.Any], place: typing.Any) -> str:
    """The place as a JSON Pointer into the event."""
    tokens: list[str] = []
    while place is not None:
        place, token = place
        tokens.append(str(token).replace("~", "~0").replace("/", "~1"))
    pointer = "".join("/" + token for token in reversed(tokens))
    return f"the event of type {event['type']}, {_well_formed(pointer) or 'as a whole'}"


def _outermost(place: typing.Any) -> typing.Any:
    while place is not None and place[0] is not None and place[0][0] is not None:
        place = place[0]
    return place


class _Output:
    """Writes events to a descriptor or stream, or else to `sys.stdout` as it is at each event."""

    __slots__ = ("_descriptor", "_lock", "done", "had_error")

    def __init__(self, descriptor: int | None = None, stream: typing.TextIO | None = None) -> None:
        self._descriptor: int | typing.TextIO | None = stream if descriptor is None else descriptor
        self._lock = _thread.allocate_lock()
        self.done = False
        self.had_error = False

    def send(self, event: dict[str, typing.Any], last: bool = False) -> None:
        line = _line(event)
        with self._lock:
            if self.done:
                raise ValueError(
                    f"an event of type {event['type']} was emitted after done, which ends the "
                    "invocation"
                )
            try:
                self._write(line)
            except OSError as fault:
                raise OutputLost(
                    fault.errno, f"the event cannot be written to the runtime: {fault.strerror}"
                ) from None
            self.done = last

    def _write(self, line: bytes) -> None:
        if not isinstance(self._descriptor, int):
            stream = sys.stdout if self._descriptor is None else self._descriptor
            # Always UTF-8, whatever the locale. A test's replacement stream may take only text.
            binary = getattr(stream, "buffer", None)
            if binary is None:
                stream.write(line.decode("utf-8"))
            else:
                stream.flush()
                binary.write(line)
            stream.flush()
            return
        rest = memoryview(line)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except BlockingIOError:
                import select

                select.select([], [self._descriptor], [])


_output = _Output()


# --------------------------------------------------------------------------------------------------
# Running
# --------------------------------------------------------------------------------------------------


def run(function: Callable[[Request], typing.Any]) -> None:
    """Runs a tool: reads the request, calls `function(request)`, and ends with `done` in any case.

    The return value becomes `done.result`; None omits it. An `async def` function is awaited. If
    the function called `done` itself, no second one is emitted; if it reported an `error`, the
    attempt ends with `ok: false`. An exception becomes an `error` event and `done` with `ok:
    false`, with the traceback on standard error. A process that the function has forked emits no
    `done`: there, `run` returns or raises what the function did.

    From here on standard output is reserved for events: output of `print`, a library or a child
    process goes to standard error instead of violating the protocol. Standard input has been read
    to its end.

    Args:
        function: takes a `Request`, returns a JSON value or None.

    Raises:
        SystemExit: with status 1, if the end could not be reported: the runtime has exited, or the
            function raised after `done`; standard error says which. Otherwise `run` returns, and
            the script determines the status.

    >>> import io, sys
    >>> sys.stdin = io.StringIO('{"input": {"sides": 6}}')  # what the runtime writes
    >>> run(lambda request: request.input["sides"] + 1)
    {"version":"0","type":"done","ok":true,"result":7}
    """
    global _output
    before, stream = _output, sys.stdout
    in_place = _is_standard_output(stream)
    try:
        if in_place:
            _output = _Output(_reserve_standard_output())
        else:
            # A test has replaced `sys.stdout`: write the events there.
            _output = _Output(stream=stream)
            sys.stdout = sys.stderr
        _call(function)
    except OutputLost as fault:
        _print_warning(f"tool failed: {fault}")
        raise SystemExit(1) from None
    finally:
        if not in_place:
            _output, sys.stdout = before, stream


def _call(function: Callable[[Request], typing.Any]) -> None:
    process = os.getpid()
    try:
        returned = function(read_request())
        if hasattr(returned, "__await__"):
            import asyncio

            async def awaited(awaitable: typing.Any) -> typing.Any:
                return await awaitable

            returned = asyncio.run(awaited(returned))
        if os.getpid() == process:
            _end(returned)
    except OutputLost:
        raise
    except (Exception, SystemExit) as fault:
        # The end is not for a process that the function has forked to tell.
        if os.getpid() != process:
            raise
        _end_failed(fault)


def _end(returned: typing.Any) -> None:
    if not _output.done:
        done(not _output.had_error, result=returned)
    elif returned is not None:
        _print_warning("the tool's return value is ignored: the tool had already called done")


def _end_failed(fault: BaseException) -> None:
    if isinstance(fault, ToolError):
        _fail(fault.code, fault.message, fault.details, fault.retry)
    elif isinstance(fault, SystemExit):
        if _output.done:
            raise fault
        if fault.code in (None, 0):
            done(not _output.had_error)
        else:
            _fail("TOOL_EXCEPTION", f"the tool called sys.exit({fault.code!r})")
    else:
        sys.__excepthook__(type(fault), fault, fault.__traceback__)
        kind = type(fault).__qualname__
        text = str(fault)
        if isinstance(fault, KeyError):  # its text is the key alone
            text = f"{kind}: {text}"
        _fail("TOOL_EXCEPTION", text or kind, {"exception": kind})


def _fail(
    code: typing.Any, message: typing.Any, details: typing.Any = None, may_retry: bool = True
) -> None:
    if _output.done:
        _print_warning(f"tool failed after done: {message}")
        raise SystemExit(1)
    code = _well_formed(str(code)) or "TOOL_FAILURE"
    message = _well_formed(str(message)) or "no message was given"
    try:
        error(code, message, details)
    except (TypeError, ValueError) as fault:
        _print_warning(f"the details of the error are left out: {fault}")
        error(code, message)
    done(False, message, retry=may_retry)


def _well_formed(text: str) -> str:
    """Replaces lone surrogates with U+FFFD, so that a file name in a message cannot hide the
    error."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _print_warning(text: str) -> None:
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


def _is_standard_output(stream: typing.TextIO | None) -> bool:
    try:
        return stream is None or stream.fileno() == 1
    except (AttributeError, OSError, ValueError):
        return False


def _reserve_standard_output() -> int:
    """Moves the stream to a descriptor that children do not inherit, and redirects standard output
    to standard error. This is not undone: buffered output may still be written at process exit.
    """
    import fcntl

    try:
        # From 3: one of the standard descriptors may be closed.
        descriptor = int(fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3))
    except OSError as fault:
        raise OutputLost(fault.errno, f"standard output cannot be used: {fault.strerror}") from None
    try:
        os.dup2(2, 1)
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        if null != 1:
            os.close(null)
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        # Buffered like standard error, so that the lines of both keep their order.
        reconfigure(line_buffering=True, errors="backslashreplace")
    return descriptor
