"""What an agent may not do, and what becomes of one that does not stop."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from tests.eventually import eventually
from turnkeeper import AgentTurn, Settings, Turnkeeper, TurnkeeperError
from turnkeeper.ledger.feed import Frame
from turnkeeper.model.feed import FeedType
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import SessionStatus
from turnkeeper.testing.agents import HeldAgent
from turnkeeper.testing.clock import SteppedClock


async def _contents(keeper: Turnkeeper, session_id: str) -> list[str]:
    return [message.content for message in await keeper.messages(session_id)]


async def _is_at(keeper: Turnkeeper, run_id: str, status: RunStatus) -> bool:
    return (await keeper.run(run_id)).status is status


# --- sizes


async def test_a_history_that_is_too_long_is_cut_at_its_old_end_and_the_reply_says_so(settings: Settings) -> None:
    seen: list[list[str]] = []
    async with Turnkeeper.open(settings=settings, history_tokens=5) as keeper:

        @keeper.agent("reader")
        async def reader(turn: AgentTurn) -> str:
            seen.append([message.content for message in turn.history])
            return "yes"

        first = await keeper.chat("a message of 25 characters", agent="reader")
        second = await keeper.chat("short", session_id=first.session_id)
        explanation = await keeper.explanation(second.run_id)

    assert first.warnings == ()
    assert second.warnings == ("history_cut",)
    assert seen == [[], ["yes"]]
    assert explanation is not None
    assert explanation.warnings == ("history_cut",)


async def test_a_repeated_request_is_told_the_same_warnings(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, history_tokens=5) as keeper:
        first = await keeper.chat("a message of 25 characters")
        second = await keeper.chat("short", session_id=first.session_id, request_id="req-1")

        repeated = await keeper.chat("short", session_id=first.session_id, request_id="req-1")

    assert repeated.warnings == second.warnings == ("history_cut",)


async def test_a_state_that_is_too_large_fails_its_turn_and_the_one_before_stands(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, state_bytes=100) as keeper:

        @keeper.agent("hoarder")
        async def hoarder(turn: AgentTurn) -> str:
            kept = str(turn.state.get("kept", ""))
            turn.state["kept"] = kept + turn.text
            return kept

        first = await keeper.chat("x" * 50, agent="hoarder")
        with pytest.raises(TurnkeeperError) as caught:
            await keeper.chat("y" * 50, session_id=first.session_id)
        third = await keeper.chat("z", session_id=first.session_id)

    assert (caught.value.code, caught.value.http_status) == ("state_too_large", 413)
    assert (third.turn, third.text) == (2, "x" * 50)


def _endless() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


NOT_JSON = {
    "object": object(),
    "set": {1, 2},
    "bytes": b"bytes",
    "nan": float("nan"),
    "infinity": float("inf"),
    "half a surrogate pair": "\ud800",
    "endless": _endless(),
    "a key that is a tuple": {("a", "b"): 1},
}


async def test_a_state_that_is_not_json_fails_its_turn(keeper: Turnkeeper) -> None:
    @keeper.agent("artist")
    async def artist(turn: AgentTurn) -> str:
        turn.state["work"] = NOT_JSON[turn.text]
        return "look"

    session = await keeper.create_session(agent="artist")

    codes = {name: await _code_of(keeper.chat(name, session_id=session.id)) for name in NOT_JSON}

    assert codes == dict.fromkeys(NOT_JSON, "agent_failed")
    assert (await keeper.session(session.id)).revision == 0
    assert await _contents(keeper, session.id) == []


async def _code_of(talking: Awaitable[Reply]) -> str:
    """What went wrong; the status of the run when nothing did."""
    try:
        reply = await talking
    except TurnkeeperError as error:
        return error.code
    return reply.status.value


async def test_a_nul_character_in_the_state_comes_back(keeper: Turnkeeper) -> None:
    @keeper.agent("keeper-of-nul")
    async def keeper_of_nul(turn: AgentTurn) -> str:
        before = turn.state.get("kept", "nothing")
        turn.state["kept"] = "a\x00b"
        return repr(before)

    first = await keeper.chat("keep", agent="keeper-of-nul")
    second = await keeper.chat("tell", session_id=first.session_id)

    assert second.text == repr("a\x00b")


async def test_an_agent_that_says_too_much_fails_its_turn(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, output_chars=5000) as keeper:

        @keeper.agent("talker")
        async def talker(turn: AgentTurn) -> AsyncIterator[str]:
            for _ in range(int(turn.text)):
                yield "x" * 1000

        first = await keeper.chat("5", agent="talker")
        with pytest.raises(TurnkeeperError) as caught:
            await keeper.chat("6", session_id=first.session_id)

        assert caught.value.code == "agent_failed"
        assert await _contents(keeper, first.session_id) == ["5", "x" * 5000]


NOT_TEXT = {"nul": "a\x00b", "half a surrogate pair": "a\ud800b", "number": 5, "bytes": b"bytes"}


async def test_an_agent_that_says_what_is_not_text_fails_its_turn(keeper: Turnkeeper) -> None:
    @keeper.agent("mumbler")
    async def mumbler(turn: AgentTurn) -> AsyncIterator[Any]:
        yield "well, "
        yield NOT_TEXT[turn.text]

    session = await keeper.create_session(agent="mumbler")

    codes = {name: await _code_of(keeper.chat(name, session_id=session.id)) for name in NOT_TEXT}

    assert codes == dict.fromkeys(NOT_TEXT, "agent_failed")
    assert await _contents(keeper, session.id) == []
    assert (await keeper.chat("hello", session_id=session.id, agent="echo")).turn == 1


async def test_an_agent_that_asks_what_is_not_text_fails_its_turn(keeper: Turnkeeper) -> None:
    @keeper.agent("asks-oddly")
    async def asks_oddly(turn: AgentTurn) -> str:
        return await turn.ask(NOT_TEXT[turn.text])  # type: ignore[arg-type]

    session = await keeper.create_session(agent="asks-oddly")

    codes = {name: await _code_of(keeper.chat(name, session_id=session.id)) for name in NOT_TEXT}

    assert codes == dict.fromkeys(NOT_TEXT, "agent_failed")
    assert (await keeper.chat("hello", session_id=session.id, agent="echo")).turn == 1


async def test_what_a_failed_agent_had_said_does_not_go_out_after_its_end(settings: Settings) -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    witness = HeldAgent(first="It is later now")
    async with Turnkeeper.open(settings=settings, delta_seconds=0.05) as keeper:
        keeper.agent("witness")(witness)

        @keeper.agent("breaks-off")
        async def breaks_off(turn: AgentTurn) -> AsyncIterator[str]:
            yield "well, "
            raise RuntimeError

        with pytest.raises(TurnkeeperError):
            await keeper.chat("speak", agent="breaks-off")
        later = await keeper.submit("hello", agent="witness")
        async with aclosing(keeper.follow(later.run)) as frames:
            shown = [frame.type async for frame in _until_output(frames)]
        witness.let_go()
        await keeper.reply_to(later)
        gc.collect()

    assert shown[-1] is FeedType.OUTPUT_DELTA
    assert complaints == []


async def _until_output(frames: AsyncIterator[Frame]) -> AsyncIterator[Frame]:
    async for frame in frames:
        yield frame
        if frame.type is FeedType.OUTPUT_DELTA:
            return


# --- agents that do not stop


class Stubborn:
    """A sync agent in a thread that nobody can stop: it goes on until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go, self.ended = threading.Event(), threading.Event(), threading.Event()

    def function(self, turn: AgentTurn) -> str:
        self.begun.set()
        self.go.wait(30)
        turn.state["late"] = True
        self.ended.set()
        return "too late"

    def generator(self, turn: AgentTurn) -> Iterator[str]:
        yield "well, "
        yield self.function(turn)

    async def has_begun(self) -> bool:
        return self.begun.is_set()

    async def has_ended(self) -> bool:
        return self.ended.is_set()


def _as_function(agent: Stubborn) -> Callable[[AgentTurn], Any]:
    return agent.function


def _as_generator(agent: Stubborn) -> Callable[[AgentTurn], Any]:
    return agent.generator


@pytest.mark.parametrize("kind", [_as_function, _as_generator])
async def test_a_sync_agent_that_goes_on_after_its_run_was_cancelled_changes_nothing(
    keeper: Turnkeeper, kind: Callable[[Stubborn], Callable[[AgentTurn], Any]]
) -> None:
    agent = Stubborn()
    keeper.agent("stubborn")(kind(agent))
    ticket = await keeper.submit("hello", agent="stubborn")
    await eventually(agent.has_begun)

    await keeper.cancel(ticket.run.id)
    with pytest.raises(TurnkeeperError) as caught:
        await keeper.reply_to(ticket)
    agent.go.set()
    await eventually(agent.has_ended)
    following = await keeper.chat("next", session_id=ticket.run.session_id, agent="echo")

    assert caught.value.code == "run_cancelled"
    assert (following.turn, (await keeper.run(ticket.run.id)).status) == (1, RunStatus.CANCELLED)
    assert (await _contents(keeper, ticket.run.session_id))[0] == "next"


@pytest.mark.parametrize("kind", [_as_function, _as_generator])
async def test_a_sync_agent_that_goes_on_after_its_time_is_up_changes_nothing(
    keeper: Turnkeeper, kind: Callable[[Stubborn], Callable[[AgentTurn], Any]]
) -> None:
    agent = Stubborn()
    keeper.agent("stubborn", run_seconds=0.2)(kind(agent))
    ticket = await keeper.submit("hello", agent="stubborn")

    with pytest.raises(TurnkeeperError) as caught:
        await keeper.reply_to(ticket)
    agent.go.set()
    await eventually(agent.has_ended)
    following = await keeper.chat("next", session_id=ticket.run.session_id, agent="echo")

    assert caught.value.code == "run_timed_out"
    assert (following.turn, (await keeper.run(ticket.run.id)).status) == (1, RunStatus.TIMED_OUT)
    assert (await _contents(keeper, ticket.run.session_id))[0] == "next"


class Deaf:
    """An async agent that swallows every cancellation of its first turn until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        self.swallowed = 0

    async def __call__(self, turn: AgentTurn) -> str:
        if turn.text != "first":
            return f"{turn.text} after {turn.state}"
        self.begun.set()
        while not self.go.is_set():
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.swallowed += 1
        turn.state["late"] = True
        return "too late"

    async def was_asked_to_stop(self) -> bool:
        return self.swallowed > 0


@pytest.mark.parametrize("way", ["rollback", "interrupt"])
async def test_an_agent_that_does_not_stop_when_asked_is_superseded_and_its_late_commit_refused(
    settings: Settings, way: str
) -> None:
    agent = Deaf()
    async with Turnkeeper.open(settings=settings, stop_seconds=0.2) as keeper:
        keeper.agent("deaf")(agent)
        first = await keeper.submit("first", agent="deaf")
        await agent.begun.wait()

        second = await keeper.chat("second", session_id=first.run.session_id, double_text=way)
        before = await _contents(keeper, first.run.session_id)
        agent.go.set()
        assert first.live is not None
        await first.live.ended()
        after = await _contents(keeper, first.run.session_id)
        third = await keeper.chat("third", session_id=first.run.session_id)
        run = await keeper.run(first.run.id)

    assert agent.swallowed == 1
    assert second.text == "second after {}"
    assert before == after
    assert third.text == "third after {}"
    assert (run.status, run.superseded_by) == (RunStatus.SUPERSEDED, second.run_id)


async def test_an_agent_that_does_not_stop_when_its_time_is_up_holds_its_session_no_longer_than_a_lease(
    settings: Settings,
) -> None:
    agent = Deaf()
    async with Turnkeeper.open(settings=settings, lease_seconds=0.6, renew_seconds=0.1) as keeper:
        keeper.agent("deaf", run_seconds=0.2)(agent)
        first = await keeper.submit("first", agent="deaf")
        await agent.begun.wait()

        elsewhere = await keeper.chat("second", agent="deaf")
        second = await keeper.chat("second", session_id=first.run.session_id)
        agent.go.set()
        assert first.live is not None
        await first.live.ended()
        with pytest.raises(TurnkeeperError) as caught:
            await keeper.reply_to(first)
        contents = await _contents(keeper, first.run.session_id)

    assert elsewhere.turn == 1
    assert (second.turn, second.text) == (1, "second after {}")
    assert caught.value.code == "run_abandoned"
    assert contents == ["second", "second after {}"]


async def test_the_lease_of_a_run_past_its_deadline_is_not_renewed(settings: Settings) -> None:
    clock, agent = SteppedClock(), HeldAgent()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        keeper.agent("held", run_seconds=10)(agent)
        ticket = await keeper.submit("hello", agent="held")
        await agent.begun.get()

        clock.step(9.9)
        renewed = [lease.run_id for lease in keeper._dispatch.live_leases()]
        clock.step(0.1)
        renewed_later = keeper._dispatch.live_leases()

        agent.let_go()
        await eventually(lambda: _is_at(keeper, ticket.run.id, RunStatus.COMPLETED))

    assert renewed == [ticket.run.id]
    assert renewed_later == []


# --- sessions that were idle for too long


async def test_a_session_that_was_idle_too_long_is_replaced_and_can_still_be_read(settings: Settings) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock, idle_seconds=60) as keeper:
        first = await keeper.chat("remember the gate code is 4711")
        clock.step(60)

        second = await keeper.chat("what did I say?", session_id=first.session_id)

        expired = await keeper.session(first.session_id)
        assert second.created
        assert (second.replaced_session_id, second.replaced_reason) == (first.session_id, "expired")
        assert "not asked me" in second.text
        assert (expired.status, expired.closed_reason) == (SessionStatus.EXPIRED, "inactivity")
        assert (await _contents(keeper, first.session_id))[0] == "remember the gate code is 4711"
        assert (await keeper.verify_audit()).holds


async def test_a_session_that_was_idle_too_long_is_refused_if_the_caller_wishes(settings: Settings) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock, idle_seconds=60) as keeper:
        first = await keeper.chat("hello")
        clock.step(60)

        for _ in range(2):
            with pytest.raises(TurnkeeperError) as caught:
                await keeper.chat("still there?", session_id=first.session_id, on_missing="error")
            assert (caught.value.code, caught.value.http_status) == ("session_expired", 410)

        assert (await keeper.session(first.session_id)).status is SessionStatus.EXPIRED
        assert len(await keeper.sessions()) == 1
        assert len(await keeper.runs(first.session_id)) == 1


async def test_a_session_that_is_used_lives_on(settings: Settings) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock, idle_seconds=60) as keeper:
        first = await keeper.chat("hello")

        turns = []
        for _ in range(3):
            clock.step(59)
            turns.append((await keeper.chat("still there?", session_id=first.session_id, on_missing="error")).turn)

    assert turns == [2, 3, 4]
