# SPDX-License-Identifier: Apache-2.0
"""Functions as event sinks, and streams of events in asyncio."""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import pathlib
import resource
from pathlib import Path
from typing import Any

import pytest
from conftest import SANITIZED
from plans import DONE, line, one, plan_of

import narratoria
from narratoria import Context
from narratoria.events import Log

# Only a guard against hangs; no test takes this long.
PATIENCE_S = 60


class TestSinks:
    def test_sink_gets_whole_stream(self, session: Any, make_tool: Any) -> None:
        seen: list[narratoria.Event] = []
        assert session.add_sink(seen.append) == seen.append
        log = line('{"type":"log","level":"info","message":"ä"}')
        session.execute(one(make_tool("t", f"{log}\n{DONE}")))
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
        kinds = [event.kind for event in seen]
        assert kinds[0] == "plan_started" and kinds[-1] == "plan_ended"
        said = next(event for event in seen if event.type == "log")
        assert said.body["message"] == "ä" and said.body is said.body
        assert said.text == '{"version":"0","type":"log","level":"info","message":"ä"}'
        assert said.plan_id == "plan" and said.tool_id == "t" and said.attempt == 1
        assert said.session_id == session.id
        assert said.time.tzinfo is not None
        assert "log of t" in repr(said)
        assert seen[0].tool_id is None and seen[0].type is None and seen[0].attempt is None

    def test_records_match_schema(self, session: Any, make_tool: Any) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        folder = Path(narratoria.__file__).parent / "schemas"
        schema = json.loads((folder / "event-record-1.schema.json").read_text())
        validator = jsonschema.Draft202012Validator(schema)
        seen: list[narratoria.Event] = []
        session.add_sink(seen.append)
        session.execute(one(make_tool("t", DONE)))
        for event in seen:
            validator.validate(event.to_dict())
            assert json.loads(event.to_json()) == event.to_dict()

    def test_events_match_by_pattern(self, session: Any, make_tool: Any) -> None:
        lines = []

        def look(event: narratoria.Event) -> None:
            match event:
                case narratoria.Event(data=Log(level="info", message=message)):
                    lines.append(message)
                case narratoria.Event("plan_ended", data):
                    lines.append(f"success={data.success}")

        session.add_sink(look)
        log = line('{"type":"log","level":"info","message":"hello"}')
        session.execute(one(make_tool("t", f"{log}\n{DONE}")))
        assert lines == ["hello", "success=True"]

    def test_sink_gets_only_selected_kinds(self, session: Any) -> None:
        seen = []
        session.add_sink(lambda event: seen.append(event.kind), ["plan_ended"])
        session.execute({"requestId": "p", "tools": []})
        assert seen == ["plan_ended"]
        with pytest.raises(ValueError, match="tool_event"):
            session.add_sink(print, ["poem"])
        with pytest.raises(ValueError, match="did you mean 'tool_ended'"):
            session.add_sink(print, ["tool_endde"])
        with pytest.raises(ValueError, match="empty"):
            session.add_sink(print, [])

    def test_sink_may_remove_itself(self, session: Any) -> None:
        seen = []

        def once(event: Any) -> None:
            seen.append(event)
            session.remove_sink(once)

        session.add_sink(once)
        session.execute({"requestId": "p", "tools": []})
        assert len(seen) == 1
        with pytest.raises(ValueError, match="not attached"):
            session.remove_sink(once)

    def test_sink_exception_is_logged_and_others_continue(
        self, session: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        seen = []

        def broken(event: Any) -> None:
            raise RuntimeError("oh")

        session.add_sink(broken)
        session.add_sink(seen.append)
        with caplog.at_level(logging.ERROR, "narratoria"):
            assert session.execute({"requestId": "p", "tools": []}).success
        assert seen and "RuntimeError: oh" in caplog.text

    def test_repeated_sink_exception_logs_one_traceback(
        self, session: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        def sink(event: narratoria.Event) -> None:
            raise RuntimeError("oh")

        session.add_sink(sink)
        with caplog.at_level(logging.ERROR, "narratoria"):
            for _ in range(6):
                session.execute({"requestId": "p", "tools": []})
        assert caplog.text.count("Traceback") == 1
        assert "raised RuntimeError('oh'), for the 10th time" in caplog.text

    def test_events_outlive_session(self, session: Any) -> None:
        seen: list[narratoria.Event] = []
        session.add_sink(seen.append)
        session.execute({"requestId": "p", "tools": []})
        session.close()
        assert seen[-1].body["success"] is True

    def test_async_sink_is_refused(self, session: Any) -> None:
        class Sink:
            async def __call__(self, event: Any) -> None: ...

            async def method(self, event: Any) -> None: ...

        async def function(event: Any) -> None: ...

        for sink in (function, Sink(), Sink().method, functools.partial(function)):
            with pytest.raises(TypeError, match="async"):
                session.add_sink(sink)

    def test_event_cannot_be_instantiated(self) -> None:
        with pytest.raises(TypeError):
            narratoria.Event()


def test_interrupt_in_sink_is_raised_by_execute(session: Any, make_tool: Any) -> None:
    def stop(event: Any) -> None:
        raise KeyboardInterrupt

    session.add_sink(stop, ["tool_started"])
    with pytest.raises(KeyboardInterrupt):
        session.execute(one(make_tool("t", "sleep 60")))
    session.remove_sink(stop)
    assert session.execute({"requestId": "p", "tools": []}).success


class TestStreams:
    async def test_full_stream_blocks_tools(self) -> None:
        sizes = []
        async with narratoria.aio.Session() as session:

            @session.tool
            async def chatty() -> Any:
                for number in range(20_000):
                    yield {"type": "log", "level": "info", "message": f"{number}"}

            stream = session.events(["tool_event"], limit=100)
            running = asyncio.create_task(session.execute(plan_of("chatty")))
            count = 0
            async for event in stream:
                count += 1
                sizes.append(len(stream._waiting))
                if event.type == "done":
                    break
            stream.close()
            assert (await running).success and count == 20_001
        assert max(sizes) < 5_000

    @pytest.mark.parametrize("reader", ["slow", "fast"])
    def test_million_events_arrive_in_order_in_bounded_memory(
        self, reader: str, tmp_path: pathlib.Path
    ) -> None:
        count = 1_000_000
        line = '{"version":"0","type":"log","level":"info","message":"step"}'
        tool = tmp_path / "steps"
        tool.write_text(
            f"#!/bin/sh\nread -r invocation\nyes '{line}' | head -n {count}\n"
            'echo \'{"version":"0","type":"done","ok":true}\'\n'
        )
        tool.chmod(0o755)

        def resident() -> int:
            pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
            return int(pages) * resource.getpagesize()

        async def main() -> None:
            times = narratoria.Times(try_ms=0, plan_ms=0)
            async with narratoria.aio.Session(times=times) as session:
                stream = session.events(["tool_event"], limit=1000)
                running = asyncio.create_task(session.execute(plan_of(str(tool))))
                first = await anext(stream)
                seq, seen, most, before, highest = first.seq, 1, 0, resident(), 0
                async for event in stream:
                    seen += 1
                    assert event.seq > seq
                    seq = event.seq
                    if seen % 1000 == 0:
                        most = max(most, len(stream._waiting))
                        highest = max(highest, resident())
                        if reader == "slow":
                            # Lets other tasks of the loop run, and the tool continue.
                            for _ in range(5):
                                await asyncio.sleep(0)
                    if event.type == "done":
                        break
                grown = highest - before
                stream.close()
                assert (await running).success and seen == count + 1
                # All events would need 300 bytes each. The sanitizer keeps released memory.
                assert most < 20_000 and (grown < 64 << 20 or SANITIZED), (most, grown)

        asyncio.run(asyncio.wait_for(main(), 10 * PATIENCE_S))

    async def test_abandoned_stream_does_not_block_tools(self) -> None:
        async with narratoria.aio.Session() as session:

            @session.tool
            def chatty(context: Context) -> None:
                for _ in range(1000):
                    context.log("x")

            stream = session.events(limit=1)
            running = asyncio.create_task(session.execute(plan_of("chatty")))
            await anext(stream)
            del stream
            assert (await running).success

    async def test_invalid_stream_limit_is_refused(self) -> None:
        async with narratoria.aio.Session() as session:
            with pytest.raises(ValueError, match="limit"):
                session.events(limit=0)
