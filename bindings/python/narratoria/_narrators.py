# SPDX-License-Identifier: Apache-2.0
# A Python function as the narrator: its requests, its answers and its faults.
#
# Imports inside functions are those that not every session needs, so that it starts faster.

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine

import narratoria
from narratoria import _core
from narratoria._checks import require_callable, text_of, whole_number
from narratoria._hooks import exception_text, log_event, name_of, report_exception, to_plain
from narratoria._invocations import import_for, takes_parameter
from narratoria._lazy import _type_variables, typing
from narratoria._plans import describe_faults, plan_warnings, warn_of_plan
from narratoria._session_base import SessionBase
from narratoria.errors import GoneError


class Narrators(SessionBase):
    """The narrator of a session that is a Python function."""

    _raises_narrator_errors: bool
    _narrator_error: Exception | None
    # Why the narrator's answers were not used in the running turn.
    _faults: list[str]

    def narrator(self, function: _type_variables.Narrator) -> _type_variables.Narrator:
        """Makes a function this session's narrator, which turns a request into a plan.

        It receives a :class:`narratoria.NarratorRequest` and returns a :class:`narratoria.Plan`, a
        dict of Plan JSON, or a narrative (str). It may be async. An exception cancels the turn,
        and ``play`` raises it. In a session with ``on_narrator_error="fallback"`` it is logged and
        uses up one of the five generations of a prompt, like a plan with faults.

        >>> import narratoria
        >>> with narratoria.Session() as session:
        ...     @session.narrator
        ...     def echo(request):
        ...         return f"You say: {request.prompt.text}"
        ...     session.play("Hello").narrative
        'You say: Hello'

        An async narrator with a parameter ``invoke`` may run tools before it answers:
        ``await invoke(tool, **input)`` returns a :class:`narratoria.Outcome`. A failed
        tool raises nothing. The narrator's timeouts do not run while its tools run.

        >>> with narratoria.Session() as session:
        ...     @session.tool
        ...     def roll(sides: int) -> int:
        ...         return min(sides, 4)
        ...     @session.narrator
        ...     async def gambler(request, invoke):
        ...         rolled = await invoke("roll", sides=6)
        ...         return f"You rolled {rolled.result}."
        ...     session.play("Roll").narrative
        'You rolled 4.'

        An async narrator with a parameter ``delta`` may tell its narrative in pieces, which sinks
        receive as they come (:class:`narratoria.events.NarrativeDelta`). A plan without a
        narrative keeps the pieces as its narrative.

        >>> with narratoria.Session() as session:
        ...     _ = session.add_sink(lambda event: print(event.body["text"]), ["narrative_delta"])
        ...     @session.narrator
        ...     async def slow(request, delta):
        ...         delta("The door creaks.")
        ...         return narratoria.Plan(tools=[])
        ...     session.play("Open the door").narrative
        The door creaks.
        'The door creaks.'

        A parameter ``usage`` is a function that reports what the reply takes, with the attributes of
        :class:`narratoria.events.NarratorUsage` as keywords; ``turn.usage`` is the sum. After the
        request has ended, these three functions raise a :class:`narratoria.GoneError`.

        >>> with narratoria.Session() as session:
        ...     @session.narrator
        ...     async def model(request, usage):
        ...         usage(model="small", input_tokens=900, output_tokens=120)
        ...         return "The door creaks."
        ...     session.play("Open the door").usage["outputTokens"]
        120
        """

        from narratoria.documents import NarratorRequest

        require_callable("a narrator", function)
        import_for(function)
        given = {
            name: make
            for name, make in {
                "invoke": self._invoker,
                "delta": _teller,
                "usage": _reporter,
            }.items()
            if takes_parameter(function, name)
        }

        def generate(reply: _core.Reply) -> None:
            if self._narrator_error is not None:
                # The narrator was asked before the cancellation of the turn took effect.
                reply.fail(exception_text(self._narrator_error))
                return
            try:
                request = NarratorRequest.from_dict(reply.request)
                request.timeout_ms = reply.timeout_ms
                reporters = {name: make(reply) for name, make in given.items()}
                plan: typing.Any = function(request, **reporters)
                if hasattr(plan, "__await__"):
                    self._spawn_narrator(plan, reply)
                elif given:
                    raise TypeError(
                        f"a narrator with a parameter {next(iter(given))} must be async"
                    )
                else:
                    self._send_reply(reply, plan)
            except Exception as exception:
                self._narrator_failed(reply, exception)

        self._use().set_narrator(generate)
        return function

    def _spawn_narrator(self, plan: Awaitable[typing.Any], reply: _core.Reply) -> None:
        from asyncio import CancelledError

        from narratoria._inside import inside

        async def run() -> None:
            try:
                with inside(self._core):
                    self._send_reply(reply, await plan)
            except CancelledError:
                reply.fail("it was cancelled")
            except (KeyboardInterrupt, SystemExit):
                # Otherwise the narrator would be asked again before this leaves the loop.
                if _is_waited_for(reply):
                    self._core.cancel()
                raise
            except Exception as exception:
                self._narrator_failed(reply, exception)

        self._spawn(run(), name_of(plan), reply, lambda: reply.fail("it was cancelled"))

    def _invoker(
        self, reply: _core.Reply
    ) -> Callable[..., Coroutine[typing.Any, typing.Any, narratoria.Outcome]]:
        async def invoke(tool: str, /, **input: typing.Any) -> narratoria.Outcome:
            from asyncio import CancelledError, get_running_loop

            from narratoria.documents import Outcome

            outcome = get_running_loop().create_future()

            def on_outcome(document: dict[str, typing.Any]) -> None:
                if not outcome.done():
                    outcome.set_result(document)

            invocation = {"tool": text_of("the name of a tool", tool), "input": input}
            number = reply.invoke(invocation, on_outcome)
            if number == 0:
                raise GoneError(
                    "the request to the narrator has ended; invoke tools before the answer",
                    code="GONE",
                )
            self._changed()
            try:
                return Outcome.from_dict(await outcome)
            except CancelledError:
                reply.cancel_invocation(number)
                self._changed()
                raise

        return invoke

    def _send_reply(self, reply: _core.Reply, plan: typing.Any) -> None:
        from narratoria.documents import Plan

        if isinstance(plan, str):
            plan = Plan(tools=[], narrative=plan)
        if isinstance(plan, Plan):
            plan = plan.to_dict()
        if not isinstance(plan, dict):
            raise TypeError(
                f"the narrator must return a Plan, a dict or a str, not {type(plan).__name__}"
            )
        try:
            text = _core.to_json(plan, to_plain)
        except (TypeError, ValueError) as exception:
            raise type(exception)(f"the narrator's plan is not JSON: {exception}") from None
        faults = plan_warnings(text)
        if faults and self._strict:
            reply.fail(describe_faults(faults))
            return
        warn_of_plan(faults, 4)
        reply.plan_text(text)

    def _narrator_failed(self, reply: _core.Reply, exception: Exception) -> None:
        if not _is_waited_for(reply):
            # The turn is over or asks again, and another may run, which this does not concern.
            report_exception("a narrator whose request had ended", exception)
            reply.fail(exception_text(exception))
            return
        if not self._raises_narrator_errors:
            report_exception("the narrator", exception)
            reply.fail(exception_text(exception))
            return
        if self._narrator_error is None:
            self._narrator_error = exception
        # Cancels before it answers, so that the narrator is not asked again.
        self._core.cancel()
        reply.fail(exception_text(exception))

    def _reset_turn_faults(self) -> None:
        self._narrator_error = None
        self._faults.clear()

    def _take_narrator_error(self) -> Exception | None:
        error, self._narrator_error = self._narrator_error, None
        return error


def _is_waited_for(reply: _core.Reply) -> bool:
    """False after the engine has cancelled the request, or the narrator has answered it."""
    return reply.is_open and not reply.is_cancelled


def _gone(what: str) -> GoneError:
    return GoneError(f"the request to the narrator has ended; {what} comes too late", code="GONE")


def _teller(reply: _core.Reply) -> Callable[[str], None]:
    def delta(text: str) -> None:
        if not reply.delta(text_of("a piece of the narrative", text)):
            raise _gone("a piece of the narrative")

    return delta


def _reporter(reply: _core.Reply) -> Callable[..., None]:
    def usage(
        *,
        model: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
        first_ms: int | None = None,
        total_ms: int | None = None,
        cost: float | None = None,
        currency: str | None = None,
    ) -> None:
        from narratoria.events import NarratorUsage

        counts = {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "cached_tokens": cached_tokens,
            "first_ms": first_ms,
            "total_ms": total_ms,
        }
        for name, count in counts.items():
            if count is not None:
                whole_number(name, count, 0, 2**53)
        for name, text in {"model": model, "currency": currency}.items():
            if text is not None and not text_of(name, text):
                raise ValueError(f"{name} must not be empty; leave it out instead")
        if (cost is None) != (currency is None):
            raise ValueError('cost and currency belong together, as in cost=0.002, currency="EUR"')
        if cost is not None and not 0 <= cost < float("inf"):
            raise ValueError(f"cost must be a number from 0, not {cost}")
        report = NarratorUsage(
            model, input_tokens, output_tokens, cached_tokens, first_ms, total_ms, cost, currency
        )
        if not reply.usage(_core.to_json(report.to_dict(), to_plain)):
            raise _gone("the usage")

    return usage


# The codes of warnings about an answer of the narrator that was not used.
_REFUSALS = ("NARRATOR_FAILED", "NARRATOR_TIMEOUT", "PLAN_REFUSED")


def fault_recorder(faults: list[str]) -> Callable[[narratoria.Event], None]:
    # Not a method, which would keep the session in a reference cycle.
    def note(event: narratoria.Event) -> None:
        log_event(event)
        body = event.body
        if event.kind == "warning" and body["code"] in _REFUSALS:
            faults.append(body["message"])

    return note
