"""Long runs, verdicts, effects and critics: what is done once stays done, wherever a run goes on."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tests.eventually import eventually
from tests.story.packed import desk
from turnkeeper import AgentTurn, EffectUnknown, HeardWell, Judgement, Phase, Settings, Turnkeeper, Verdict
from turnkeeper.errors import AgentFailed, TurnkeeperError
from turnkeeper.keeping.door import Ticket
from turnkeeper.ledger.feed import Frame
from turnkeeper.model.effect import EffectStatus
from turnkeeper.model.event import Event, EventWarning
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.run import RunStatus
from turnkeeper.steps.receive import Inbound, Prepared

OK = Verdict(phase=Phase.VERIFY, value=Judgement.OK)
GOOD = Verdict(phase=Phase.SCORE, value=Judgement.ACCEPT)
REFUSED = Verdict(phase=Phase.VERIFY, value=Judgement.REJECT, kind="missing_evidence", reasons=("Show a receipt.",))
UP = Verdict(phase=Phase.SCORE, value=Judgement.ESCALATE, kind="too_expensive", reasons=("It costs 900 euros.",))
LONG: dict[str, Any] = {"mode": "long_running"}


def spoken(event: Event) -> Inbound:
    """A transcript as the voice channel prepares it."""
    return Inbound(prepared=Prepared(events=(event,)), agent="payer", channel="voice")


class World:
    """What effects are done to: it counts them."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def do(self, what: str) -> str:
        self.done.append(what)
        return f"{what} is done"


async def frames_of(keeper: Turnkeeper, run_id: str) -> list[Frame]:
    return [frame async for frame in keeper.follow(await keeper.run(run_id))]


def told(frames: list[Frame], type: str) -> list[Any]:
    return [frame.data for frame in frames if frame.type == type]


async def is_(keeper: Turnkeeper, run_id: str, status: RunStatus) -> bool:
    return (await keeper.run(run_id)).status is status


async def ended(keeper: Turnkeeper, run_id: str) -> None:
    async def has_ended() -> bool:
        return not (await keeper.run(run_id)).status.is_open

    await eventually(has_ended)


# --- the behaviours of the source, by their numbers


async def test_behaviour_38_a_batch_gives_one_answer_and_no_checkpoint(keeper: Turnkeeper) -> None:
    @keeper.agent("judge")
    async def judge(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        yield OK
        yield "All"
        yield GOOD
        yield " fine."

    reply = await keeper.chat("Go", agent="judge", mode="batch")

    assert reply.text == "All fine."
    assert await keeper.checkpoints(reply.run_id) == []
    frames = await frames_of(keeper, reply.run_id)
    assert [data["value"] for data in told(frames, "critic.verdict")] == ["ok", "accept"]
    assert told(frames, "checkpoint.saved") == []


async def test_behaviour_39_every_verdict_of_a_long_run_is_kept_before_the_next_step(
    keeper: Turnkeeper,
) -> None:
    seen: list[int] = []

    @keeper.agent("planner")
    async def planner(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        for number in range(4):
            seen.append(len(await keeper.checkpoints(turn.context.run_id)))
            yield f"{number} "
            yield Verdict(phase=Phase.SCORE, value=Judgement.ACCEPT, step=f"step-{number}")
        seen.append(len(await keeper.checkpoints(turn.context.run_id)))

    reply = await keeper.chat("Go", agent="planner", request_id="req-1", **LONG)

    documents = await keeper.checkpoints(reply.run_id)
    assert seen == [0, 1, 2, 3, 4]
    assert [document["seq"] for document in documents] == [1, 2, 3, 4]
    assert [document["verdict"]["step_id"] for document in documents] == ["step-0", "step-1", "step-2", "step-3"]
    assert [document["request_id"] for document in documents] == ["req-1"] * 4
    assert documents[0]["prev_checkpoint_id"] is None
    assert documents[3]["prev_checkpoint_id"] == documents[2]["checkpoint_id"]
    frames = await frames_of(keeper, reply.run_id)
    assert [data["checkpoint_id"] for data in told(frames, "checkpoint.saved")] == [
        document["checkpoint_id"] for document in documents
    ]
    assert documents[3]["events_cursor"] == [frame.no for frame in frames if frame.type == "checkpoint.saved"][3]


async def test_behaviour_40_a_stream_leaves_no_checkpoint(keeper: Turnkeeper) -> None:
    @keeper.agent("judge")
    def judge(turn: AgentTurn) -> Iterator[str | Verdict]:
        yield "So"
        yield GOOD

    ticket = await keeper.submit("Go", agent="judge", mode="stream")
    frames = [frame async for frame in keeper.follow_reply(ticket)]

    assert frames[-1].data["text"] == "So"
    assert len(told(frames, "critic.verdict")) == 1
    assert await keeper.checkpoints(ticket.run.id) == []


async def test_behaviour_41_a_long_run_goes_on_at_another_node_without_doing_anything_twice(settings: Settings) -> None:
    world, reached, go = World(), asyncio.Event(), asyncio.Event()

    async def worker(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        for number in range(4):
            if number == 2:
                reached.set()
                await go.wait()
            yield f"{await turn.once(f'step-{number}', world.do, f'{number}')}. "
            yield Verdict(phase=Phase.SCORE, value=Judgement.ACCEPT, step=str(number))

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("worker")(worker)
        ticket = await keeper.submit("Go", agent="worker", **LONG)
        await reached.wait()
        await keeper.close(grace_seconds=0)
    go.set()

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("worker")(worker)
        reply = await keeper.reply_to(await _again(keeper, ticket.run.id))

        assert reply.run_id == ticket.run.id
        assert reply.text == "0 is done. 1 is done. 2 is done. 3 is done. "
        assert world.done == ["0", "1", "2", "3"]
        documents = await keeper.checkpoints(ticket.run.id)
        assert [document["verdict"]["step_id"] for document in documents] == ["0", "1", "2", "3"]
        assert [step["status"] for step in documents[3]["step_results"]] == ["done"] * 4
        assert documents[1]["budget_used"] == {"tool_calls": 2}
        frames = await frames_of(keeper, ticket.run.id)
        (resumed,) = told(frames, "run.resumed")
        assert resumed["from"] == documents[1]["checkpoint_id"]
        assert resumed["text"] == "0 is done. 1 is done. "
        assert len(told(frames, "critic.verdict")) == 4
        messages = await keeper.messages(reply.session_id)
        assert [message.content for message in messages] == ["Go", reply.text]


async def _again(keeper: Turnkeeper, run_id: str) -> Ticket:
    """The ticket of a run that another node has accepted."""
    return Ticket(
        run=await keeper.run(run_id),
        created=False,
        replaced_session_id=None,
        replaced_reason=None,
        attached=True,
        live=None,
        is_answer=False,
    )


@pytest.mark.parametrize("pack", ["desk@1.1.0", "other"])
async def test_behaviours_42_43_other_packs_are_refused_while_a_long_run_waits(keeper: Turnkeeper, pack: str) -> None:
    other = {name: text.replace("id: desk", "id: other") for name, text in desk().items()}
    for files in (desk(), desk("1.1.0"), other):
        await keeper.packs.push(files)
    calls: list[str] = []

    @keeper.agent("booker")
    async def booker(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        calls.append(turn.text)
        yield OK
        yield f"For {await turn.ask('For how many?')}."

    asked = await keeper.chat("I have feedback", agent="booker", pack="desk@1.0.0", **LONG)
    pinned = (await keeper.session(asked.session_id)).packs
    before = await keeper.checkpoints(asked.run_id)
    called = len(calls)

    with pytest.raises(TurnkeeperError) as refused:
        await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id, pack=pack)

    assert refused.value.code == "pack_version_mismatch"
    assert (len(calls), await keeper.checkpoints(asked.run_id)) == (called, before)
    done = await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id, pack=pinned[0].ref)
    assert done.text == "For four."
    assert [pin["pack_id"] for pin in before[0]["pack_pins"]] == [pinned[0].id]


# --- effects


@pytest.fixture(params=["async", "sync"])
def registered(request: pytest.FixtureRequest) -> Callable[[Turnkeeper, str, Callable[[AgentTurn], Any]], None]:
    """Registers an agent that does one thing: `work` with the turn, awaited or in a thread of its own."""

    def register(keeper: Turnkeeper, name: str, work: Callable[[AgentTurn], Any]) -> None:
        if request.param == "async":

            @keeper.agent(name)
            async def awaited(turn: AgentTurn) -> str:
                return str(await work(turn))

        else:

            @keeper.agent(name)
            def called(turn: AgentTurn) -> str:
                return str(work(turn))

    return register


Register = Callable[[Turnkeeper, str, Callable[[AgentTurn], Any]], None]


async def test_an_effect_happens_once_and_its_result_is_kept(keeper: Turnkeeper, registered: Register) -> None:
    world = World()
    registered(keeper, "writer", lambda turn: turn.once("mail", world.do, "mail"))

    reply = await keeper.chat("Go", agent="writer")

    (effect,) = await keeper.effects(reply.run_id)
    assert (reply.text, world.done) == ("mail is done", ["mail"])
    assert (effect.key, effect.status, effect.result) == ("mail", EffectStatus.DONE, "mail is done")


async def test_an_effect_of_an_async_agent_that_is_not_async_holds_nobody_up(keeper: Turnkeeper) -> None:
    heard = threading.Event()

    @keeper.agent("slow")
    async def slow(turn: AgentTurn) -> str:
        asyncio.get_running_loop().call_soon(heard.set)
        return str(await turn.once("wait", heard.wait, 10))

    reply = await keeper.chat("Go", agent="slow")

    assert reply.text == "True"


async def test_an_effect_before_a_question_is_not_repeated_after_the_answer(keeper: Turnkeeper) -> None:
    world = World()

    @keeper.agent("booker")
    async def booker(turn: AgentTurn) -> str:
        held = await turn.once("hold", world.do, "hold")
        guests = await turn.ask("For how many?")
        return f"{held}, {await turn.once('book', world.do, guests)}"

    asked = await keeper.chat("Go", agent="booker")
    done = await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)

    assert done.text == "hold is done, four is done"
    assert world.done == ["hold", "four"]


async def test_an_effect_that_raises_may_be_tried_again(keeper: Turnkeeper, registered: Register) -> None:
    failures = [OSError("no line"), OSError("still none")]

    def dial() -> str:
        if failures:
            raise failures.pop()
        return "connected"

    @keeper.agent("caller")
    async def caller(turn: AgentTurn) -> str:
        for _ in range(2):
            with pytest.raises(OSError, match="n"):
                await turn.once("call", dial)
        return str(await turn.once("call", dial))

    reply = await keeper.chat("Go", agent="caller")

    (effect,) = await keeper.effects(reply.run_id)
    assert (reply.text, effect.status, effect.attempts) == ("connected", EffectStatus.DONE, 3)
    frames = await frames_of(keeper, reply.run_id)
    assert [data["status"] for data in told(frames, "tool.finished")] == ["failed", "failed", "done"]


async def test_the_same_effect_twice_at_once_happens_once(keeper: Turnkeeper) -> None:
    world = World()

    @keeper.agent("hasty")
    async def hasty(turn: AgentTurn) -> str:
        async def slowly() -> str:
            await asyncio.sleep(0)
            return world.do("mail")

        return " & ".join(await asyncio.gather(*(turn.once("mail", slowly) for _ in range(3))))

    reply = await keeper.chat("Go", agent="hasty")

    assert reply.text == "mail is done & mail is done & mail is done"
    assert world.done == ["mail"]


async def test_an_effect_in_flight_when_its_run_is_stopped_is_unknown(keeper: Turnkeeper) -> None:
    begun = asyncio.Event()

    @keeper.agent("stuck")
    async def stuck(turn: AgentTurn) -> str:
        async def never() -> None:
            begun.set()
            await asyncio.Event().wait()

        return str(await turn.once("mail", never))

    ticket = await keeper.submit("Go", agent="stuck")
    await begun.wait()
    (during,) = await keeper.effects(ticket.run.id)
    await keeper.cancel(ticket.run.id)
    await ended(keeper, ticket.run.id)

    (after,) = await keeper.effects(ticket.run.id)
    assert (during.status, after.status) == (EffectStatus.STARTED, EffectStatus.UNKNOWN)


@pytest.mark.parametrize("repeatable", [False, True])
async def test_an_effect_that_was_begun_at_a_node_that_went_away(settings: Settings, repeatable: bool) -> None:
    begun, keys, outcomes = asyncio.Event(), list[str](), list[str]()

    async def sender(turn: AgentTurn) -> str:
        async def send(key: str) -> str:
            keys.append(key)
            if len(keys) == 1:
                begun.set()
                await asyncio.Event().wait()
            return "sent"

        try:
            return str(await turn.once("mail", send, turn.effect_key("mail"), repeatable=repeatable))
        except EffectUnknown as unknown:
            outcomes.append(unknown.code)
            return "Please look whether it was sent."

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("sender")(sender)
        ticket = await keeper.submit("Go", agent="sender", **LONG)
        await begun.wait()
        await keeper.close(grace_seconds=0)

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("sender")(sender)
        reply = await keeper.reply_to(await _again(keeper, ticket.run.id))
        (effect,) = await keeper.effects(ticket.run.id)

    expected = {
        False: ("Please look whether it was sent.", ["effect_unknown"], EffectStatus.UNKNOWN, 1),
        True: ("sent", [], EffectStatus.DONE, 2),
    }[repeatable]
    assert (reply.text, outcomes, effect.status, len(keys)) == expected
    assert set(keys) == {f"{ticket.run.id}:mail"}


async def test_a_run_that_is_tried_again_finds_the_effects_of_the_first_attempt(settings: Settings) -> None:
    world, reached, go = World(), asyncio.Event(), asyncio.Event()

    async def sender(turn: AgentTurn) -> str:
        sent = await turn.once("mail", world.do, turn.effect_key("mail"))
        reached.set()
        await go.wait()
        return str(sent)

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("sender", retry_safe=True)(sender)
        ticket = await keeper.submit("Go", agent="sender")
        await reached.wait()
        await keeper.close(grace_seconds=0)
    go.set()

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("sender", retry_safe=True)(sender)
        reply = await keeper.reply_to(await _again(keeper, ticket.run.id))
        (effect,) = await keeper.effects(reply.run_id)

    assert reply.run_id != ticket.run.id
    assert world.done == [f"{ticket.run.id}:mail"]
    assert (reply.text, effect.attempts) == (f"{ticket.run.id}:mail is done", 1)


async def test_an_unknown_effect_that_an_agent_does_not_expect_fails_the_run(keeper: Turnkeeper) -> None:
    @keeper.agent("careless")
    async def careless(turn: AgentTurn) -> str:
        async def interrupted() -> None:
            raise asyncio.CancelledError

        with pytest.raises(asyncio.CancelledError):
            await turn.once("mail", interrupted)
        return str(await turn.once("mail", interrupted))

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="careless")

    assert (failed.value.code, failed.value.http_status) == ("effect_unknown", 409)


@pytest.mark.parametrize("result", [object(), float("nan"), "x" * 70_000])
async def test_what_an_effect_gives_must_be_json_of_a_bearable_size(keeper: Turnkeeper, result: object) -> None:
    @keeper.agent("odd")
    async def odd(turn: AgentTurn) -> str:
        return str(await turn.once("thing", lambda: result))

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="odd")

    (run,) = await keeper.runs((await keeper.sessions())[0].id)
    (effect,) = await keeper.effects(run.id)
    assert failed.value.code == "agent_failed"
    assert (effect.status, effect.result) == (EffectStatus.DONE, None)


@pytest.mark.parametrize("result", [object(), "x" * 70_000])
async def test_an_effect_whose_result_was_lost_says_so_whenever_it_is_asked_for(
    keeper: Turnkeeper, result: object
) -> None:
    heard, times = [], []

    def thing() -> object:
        times.append("done")
        return result

    @keeper.agent("odd")
    async def odd(turn: AgentTurn) -> str:
        for _ in range(2):
            with pytest.raises(AgentFailed) as lost:
                await turn.once("thing", thing)
            heard.append(str(lost.value))
        return f"Well, {await turn.ask('And now?')}."

    asked = await keeper.chat("Go", agent="odd")
    done = await keeper.chat("so be it", session_id=asked.session_id, answers=asked.run_id)

    assert done.text == "Well, so be it."
    assert (len(heard), len(set(heard)), times) == (4, 1, ["done"])


@pytest.mark.parametrize("is_async", [True, False])
async def test_an_effect_that_asks_for_itself_fails_instead_of_waiting_for_ever(
    keeper: Turnkeeper, is_async: bool
) -> None:
    async def in_a_task(turn: AgentTurn) -> str:
        async def outer() -> str:
            return str(await turn.once("mail", lambda: "sent"))

        return str(await turn.once("mail", outer))

    def in_a_thread(turn: AgentTurn) -> str:
        return str(turn.once("mail", lambda: turn.once("mail", lambda: "sent")))

    keeper.agent("circular")(in_a_task if is_async else in_a_thread)

    async with asyncio.timeout(20):
        with pytest.raises(TurnkeeperError) as failed:
            await keeper.chat("Go", agent="circular")

    (run,) = await keeper.runs((await keeper.sessions())[0].id)
    (effect,) = await keeper.effects(run.id)
    assert (failed.value.code, effect.status) == ("agent_failed", EffectStatus.FAILED)
    assert "asks for itself" in failed.value.detail


async def test_a_sync_part_of_an_effect_may_have_effects_of_its_own_but_not_the_same(keeper: Turnkeeper) -> None:
    @keeper.agent("nested")
    async def nested(turn: AgentTurn) -> str:
        def outer() -> str:
            inner = turn.once("inner", lambda: "inner")
            with pytest.raises(AgentFailed):
                turn.once("outer", lambda: "never")
            return f"outer {inner}"

        return f"{await turn.once('outer', outer)}, {await turn.once('outer', outer)}"

    async with asyncio.timeout(20):
        done = await keeper.chat("Go", agent="nested")

    assert done.text == "outer inner, outer inner"


async def test_an_effect_counts_as_a_tool_call(settings: Settings) -> None:
    world = World()
    async with Turnkeeper.open(settings=settings, tool_calls=2) as keeper:

        @keeper.agent("busy")
        async def busy(turn: AgentTurn) -> str:
            for number in range(3):
                await turn.once(f"step-{number}", world.do, str(number))
            return "never"

        with pytest.raises(TurnkeeperError) as failed:
            await keeper.chat("Go", agent="busy")

    assert (failed.value.code, world.done) == ("budget_exceeded", ["0", "1"])


@pytest.mark.parametrize("key", ["", "x" * 201, "a\0b"])
async def test_the_key_of_an_effect_is_a_short_text(keeper: Turnkeeper, key: str) -> None:
    @keeper.agent("odd")
    async def odd(turn: AgentTurn) -> str:
        return str(await turn.once(key, dict))

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="odd")

    assert failed.value.code == "agent_failed"


# --- what verdicts do


@pytest.mark.parametrize("mode", ["stream", "batch", "long_running"])
async def test_a_rejected_turn_fails_with_the_reasons(keeper: Turnkeeper, mode: str) -> None:
    @keeper.agent("strict")
    async def strict(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        yield REFUSED
        yield "never said"

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="strict", mode=mode)

    assert (failed.value.code, failed.value.http_status) == ("verify_rejected", 422)
    assert failed.value.details == ({"kind": "missing_evidence", "message": "Show a receipt."},)
    assert "Show a receipt." in failed.value.detail


@pytest.mark.parametrize("mode", ["stream", "batch"])
async def test_outside_of_long_runs_an_escalation_ends_the_run(keeper: Turnkeeper, mode: str) -> None:
    @keeper.agent("careful")
    async def careful(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        yield UP

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="careful", mode=mode)

    assert (failed.value.code, failed.value.http_status) == ("escalated", 409)


async def careful(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
    """Books once a person has approved the price."""
    yield "I found one. "
    yield UP
    yield await turn.once("book", lambda: "Booked.")


async def test_in_a_long_run_an_escalation_waits_for_a_yes(keeper: Turnkeeper) -> None:
    keeper.agent("careful")(careful)

    asked = await keeper.chat("Go", agent="careful", **LONG)
    pending = (await keeper.checkpoints(asked.run_id))[-1]["pending"]
    unclear = await keeper.chat("Hm?", session_id=asked.session_id, answers=asked.run_id)
    done = await keeper.chat("Yes!", session_id=asked.session_id, answers=asked.run_id)

    assert (asked.status, asked.text) == (RunStatus.WAITING, "I found one. \nIt costs 900 euros.")
    assert (pending["kind"], pending["prompt"]) == ("approval", asked.text)
    assert (unclear.status, unclear.text) == (RunStatus.WAITING, "It costs 900 euros.")
    assert (done.status, done.text) == (RunStatus.COMPLETED, "Booked.")
    assert [message.content for message in await keeper.messages(asked.session_id)] == [
        "Go",
        "I found one. \nIt costs 900 euros.",
        "Hm?",
        "It costs 900 euros.",
        "Yes!",
        "Booked.",
    ]
    frames = await frames_of(keeper, asked.run_id)
    assert len(told(frames, "critic.verdict")) == 1


async def test_in_a_long_run_a_no_to_an_escalation_fails_it(keeper: Turnkeeper) -> None:
    keeper.agent("careful")(careful)
    asked = await keeper.chat("Go", agent="careful", **LONG)

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("deny", session_id=asked.session_id, answers=asked.run_id)

    assert failed.value.code == "escalated"
    assert "denied" in failed.value.detail
    assert await keeper.effects(asked.run_id) == []


async def test_a_long_run_that_asks_holds_its_verdicts_and_goes_on_at_another_node(settings: Settings) -> None:
    world = World()

    async def planner(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        yield f"{await turn.once('look', world.do, 'look')}. "
        yield OK
        guests = await turn.ask("For how many?")
        yield f"{guests} guests. "
        yield GOOD
        yield str(await turn.once("book", world.do, guests))

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("planner")(planner)
        asked = await keeper.chat("Go", agent="planner", **LONG)
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("planner")(planner)
        done = await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)
        documents = await keeper.checkpoints(asked.run_id)

    assert asked.text == "look is done. \nFor how many?"
    assert done.text == "four guests. four is done"
    assert world.done == ["look", "four"]
    assert [document["seq"] for document in documents] == [1, 2, 3, 4]
    assert [document["pending"] is None for document in documents] == [True, False, True, True]


async def test_retry_and_replan_are_told_and_the_agent_goes_on(keeper: Turnkeeper) -> None:
    @keeper.agent("own-judge")
    async def own_judge(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        yield Verdict(phase=Phase.VERIFY, value=Judgement.REPLAN)
        yield Verdict(phase=Phase.SCORE, value=Judgement.RETRY)
        yield "Done."

    reply = await keeper.chat("Go", agent="own-judge")

    assert reply.text == "Done."
    frames = await frames_of(keeper, reply.run_id)
    assert [data["value"] for data in told(frames, "critic.verdict")] == ["replan", "retry"]


async def test_a_cancelled_long_run_does_not_come_back(settings: Settings) -> None:
    begun = asyncio.Event()

    async def endless(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        yield OK
        begun.set()
        await asyncio.Event().wait()

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("endless")(endless)
        ticket = await keeper.submit("Go", agent="endless", **LONG)
        await begun.wait()
        await keeper.cancel(ticket.run.id)
        await ended(keeper, ticket.run.id)

        assert (await keeper.run(ticket.run.id)).status is RunStatus.CANCELLED


async def test_a_long_run_outlives_the_time_of_a_short_one_and_not_its_own(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings, run_seconds=0.01, long_run_seconds=0.5) as keeper:

        @keeper.agent("slow", run_seconds=0.01)
        async def slow(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
            yield OK
            await asyncio.sleep(0.1 if turn.text == "quick" else 60)
            yield "done"

        quick = await keeper.chat("quick", agent="slow", **LONG)
        with pytest.raises(TurnkeeperError) as late:
            await keeper.chat("slow", agent="slow", **LONG)

    assert quick.text == "done"
    assert late.value.code == "run_timed_out"


async def test_a_session_that_its_client_keeps_has_no_long_runs(keeper: Turnkeeper) -> None:
    with pytest.raises(TurnkeeperError) as refused:
        await keeper.chat("Go", custody="client", session_id="mine", **LONG)

    assert [fault["pointer"] for fault in refused.value.details] == ["/mode"]


# --- critics


class Fussy:
    """Lets nothing pass before it was said often enough."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.scored: list[str] = []

    async def score(self, turn: AgentTurn, text: str) -> Verdict:
        self.scored.append(text)
        good = len(self.scored) > self.refusals
        value = Judgement.ACCEPT if good else Judgement.RETRY
        return Verdict(phase=Phase.SCORE, value=value, reasons=() if good else ("too dull",))


async def test_an_answer_that_is_scored_low_is_given_again_and_only_the_good_one_is_seen(
    keeper: Turnkeeper,
) -> None:
    critic, attempts = Fussy(refusals=2), list[int]()

    @keeper.agent("poet", critic=critic)
    async def poet(turn: AgentTurn) -> AsyncIterator[str]:
        attempts.append(len(attempts))
        turn.state["attempts"] = turn.state.get("attempts", 0) + 1
        yield "x" * 3_000
        yield f"verse {attempts[-1]}"

    ticket = await keeper.submit("Go", agent="poet", mode="stream")
    frames = [frame async for frame in keeper.follow_reply(ticket)]

    assert [text[-7:] for text in critic.scored] == ["verse 0", "verse 1", "verse 2"]
    assert told(frames, "output.delta") == []
    assert frames[-1].data["text"] == "x" * 3_000 + "verse 2"
    assert [data["value"] for data in told(frames, "critic.verdict")] == ["retry", "retry", "accept"]
    session = await keeper.session(ticket.run.session_id)
    loaded = await keeper._store.sessions.load(session.tenant, session.id, window=1)
    assert loaded.state == {"attempts": 1}


async def test_an_answer_that_is_never_good_enough_fails_the_run(keeper: Turnkeeper) -> None:
    critic = Fussy(refusals=9)
    keeper.agent("poet", critic=critic)(lambda turn: "verse")

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="poet")

    assert (failed.value.code, len(critic.scored)) == ("answer_rejected", 3)
    assert "too dull" in failed.value.detail


async def test_a_critic_does_not_judge_again_what_it_has_judged_before_a_question(keeper: Turnkeeper) -> None:
    judged: list[str] = []

    class Both:
        async def verify(self, turn: AgentTurn) -> Verdict:
            judged.append("verify")
            return OK

        async def score(self, turn: AgentTurn, text: str) -> Verdict:
            judged.append(text)
            return GOOD

    @keeper.agent("booker", critic=Both())
    async def booker(turn: AgentTurn) -> str:
        return f"For {await turn.ask('How many?')}."

    asked = await keeper.chat("Go", agent="booker", **LONG)
    done = await keeper.chat("four", session_id=asked.session_id, answers=asked.run_id)

    assert (done.text, judged) == ("For four.", ["verify", "For four."])


async def test_what_a_critic_let_pass_is_not_scored_again_after_its_node_went_away(settings: Settings) -> None:
    critic, calls = Fussy(refusals=1), list[int]()

    async def poet(turn: AgentTurn) -> AsyncIterator[str | Verdict]:
        calls.append(len(calls))
        yield f"verse {len(calls)} "
        yield OK
        if len(calls) == 2:
            reached.set()
            await asyncio.Event().wait()
        yield "end"

    reached = asyncio.Event()
    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("poet", critic=critic)(poet)
        ticket = await keeper.submit("Go", agent="poet", **LONG)
        await reached.wait()
        await keeper.close(grace_seconds=0)

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("poet", critic=critic)(poet)
        reply = await keeper.reply_to(await _again(keeper, ticket.run.id))
        documents = await keeper.checkpoints(ticket.run.id)
        frames = await frames_of(keeper, ticket.run.id)

    assert reply.text == "verse 2 end"
    assert [data["text"] for data in told(frames, "run.resumed")] == [""]
    assert critic.scored == ["verse 1 end", "verse 2 end"]
    assert [document["verdict"]["value"] for document in documents] == ["ok", "retry", "ok", "accept"]


async def test_an_answer_that_was_refused_is_forgotten_also_when_its_node_went_away(settings: Settings) -> None:
    critic, calls, reached = Fussy(refusals=1), list[int](), asyncio.Event()

    async def poet(turn: AgentTurn) -> str:
        calls.append(len(calls))
        if len(calls) == 2:
            reached.set()
            await asyncio.Event().wait()
        return f"verse {len(calls)}"

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("poet", critic=critic)(poet)
        ticket = await keeper.submit("Go", agent="poet", **LONG)
        await reached.wait()
        await keeper.close(grace_seconds=0)

    async with Turnkeeper.open(settings=settings) as keeper:
        keeper.agent("poet", critic=critic)(poet)
        reply = await keeper.reply_to(await _again(keeper, ticket.run.id))

    assert (reply.text, critic.scored) == ("verse 4", ["verse 1", "verse 4"])


async def test_a_critic_for_all_judges_whoever_brings_none(keeper: Turnkeeper) -> None:
    class Nobody:
        async def verify(self, turn: AgentTurn) -> Verdict:
            return REFUSED

    keeper.critic = Nobody()
    keeper.agent("own", critic=Fussy(refusals=0))(lambda turn: "mine")

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="echo")

    assert failed.value.code == "verify_rejected"
    assert (await keeper.chat("Go", agent="own")).text == "mine"


async def test_a_critic_that_gives_no_verdict_fails_the_run(keeper: Turnkeeper) -> None:
    class Silent:
        async def verify(self, turn: AgentTurn) -> Any:
            return None

    keeper.agent("judged", critic=Silent())(lambda turn: "never")

    with pytest.raises(TurnkeeperError) as failed:
        await keeper.chat("Go", agent="judged")

    assert failed.value.code == "agent_failed"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (Event(text="pay bob", confidence=0.41), "I did not hear you well. Please say it again."),
        (
            Event(text="pay bob", confidence=0.9, warnings=(EventWarning(code="asr_truncated"),)),
            "The end of what you said was cut off. Please say it again.",
        ),
        (
            Event(text="pay bob", confidence=0.7, warnings=(EventWarning(code="asr_low_confidence"),)),
            "I did not hear you well. Please say it again.",
        ),
    ],
)
async def test_a_voice_turn_that_was_not_heard_well_is_refused(keeper: Turnkeeper, event: Event, reason: str) -> None:
    calls: list[str] = []
    keeper.agent("payer", critic=HeardWell(least=0.6))(lambda turn: calls.append(turn.text))

    with pytest.raises(TurnkeeperError) as refused:
        await keeper.reply_to(await keeper.accept(spoken(event), LOCAL))

    assert refused.value.code == "verify_rejected"
    assert refused.value.details == ({"kind": "low_confidence", "message": reason},)
    assert calls == []


async def test_what_was_odd_about_the_input_is_told_once_before_the_answer(keeper: Turnkeeper) -> None:
    keeper.agent("payer")(lambda turn: f"{turn.ask('How much?')} it is.")
    event = Event(text="pay bob", warnings=(EventWarning(code="asr_not_final"), EventWarning(code="locale_missing")))

    asked = await keeper.reply_to(await keeper.accept(spoken(event), LOCAL))
    await keeper.chat("five", session_id=asked.session_id, answers=asked.run_id)

    frames = await frames_of(keeper, asked.run_id)
    assert [data["code"] for data in told(frames, "event.warning")] == ["asr_not_final", "locale_missing"]
    assert [frame.type.value for frame in frames][:4] == [
        "run.accepted",
        "event.warning",
        "event.warning",
        "run.waiting",
    ]


async def test_a_voice_turn_that_was_heard_well_passes_and_streams(keeper: Turnkeeper) -> None:
    @keeper.agent("payer", critic=HeardWell())
    async def payer(turn: AgentTurn) -> AsyncIterator[str]:
        yield "p" * 3_000

    ticket = await keeper.submit("pay bob", agent="payer", mode="stream")
    frames = [frame async for frame in keeper.follow_reply(ticket)]

    assert len(told(frames, "output.delta")) == 1
    assert [data["value"] for data in told(frames, "critic.verdict")] == ["ok"]


async def test_a_sync_agent_that_is_stopped_in_an_effect_may_not_write_its_end(keeper: Turnkeeper) -> None:
    begun, go, late = asyncio.Event(), threading.Event(), list[str]()
    loop = asyncio.get_running_loop()

    def stubborn() -> str:
        loop.call_soon_threadsafe(begun.set)
        go.wait()
        return "too late"

    @keeper.agent("sync")
    def sync(turn: AgentTurn) -> None:
        try:
            turn.once("mail", stubborn)
        except TurnkeeperError as refused:
            late.append(refused.code)

    ticket = await keeper.submit("Go", agent="sync")
    await begun.wait()
    await keeper.cancel(ticket.run.id)
    await ended(keeper, ticket.run.id)
    go.set()

    async def was_refused() -> bool:
        return late == ["lease_lost"]

    await eventually(was_refused)
    (effect,) = await keeper.effects(ticket.run.id)
    assert effect.status is EffectStatus.UNKNOWN
