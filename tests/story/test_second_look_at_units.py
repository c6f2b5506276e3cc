"""What a second look at units, mounts and commands has found: each was wrong once."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

import pytest

from tests.eventually import eventually
from tests.story.test_units import known_in, scribe, unit_saying
from turnkeeper import AgentTurn, Settings, Turnkeeper
from turnkeeper.errors import EnvelopeInvalid, RunEnded, SessionClosed, UnitNotCurrent
from turnkeeper.knowledge.carried import CarriedUnits
from turnkeeper.knowledge.settling import settle
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import AgentId, SessionId, TenantId, UnitId
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.recall import UnitQuery
from turnkeeper.model.session import SettingsChange
from turnkeeper.model.unit import Unit, UnitPlace, UnitStatus
from turnkeeper.ports.agent import AgentPolicy
from turnkeeper.ports.plugins import KnowledgeEvent
from turnkeeper.ports.units import UnitView
from turnkeeper.testing.agents import HeldAgent
from turnkeeper.testing.clock import NOON, SteppedClock


@pytest.mark.parametrize("way", [DoubleText.MERGE, DoubleText.ROLLBACK, DoubleText.INTERRUPT, DoubleText.REJECT])
async def test_a_command_takes_its_turn_whatever_the_session_does_with_double_texts(
    keeper: Turnkeeper, way: DoubleText
) -> None:
    agent = HeldAgent()
    keeper.agent("held")(agent)
    session = await keeper.create_session(agent="held")
    await keeper.change_session(session.id, SettingsChange(double_text=way))
    answering = asyncio.create_task(keeper.chat("Hello", session_id=session.id))
    await agent.begun.get()

    importing = asyncio.create_task(keeper.units.import_text(session.id, "The ferry takes cars."))
    await eventually(partial(has_taken_in, keeper, session.id, 2))
    agent.let_go()

    assert (await answering).text == "[Hello]"
    assert len((await importing).units["added"]) == 1
    assert await known_in(keeper, session.id) == [("The ferry takes cars.", UnitStatus.COMMITTED)]


async def has_taken_in(keeper: Turnkeeper, session_id: str, runs: int) -> bool:
    return len(await keeper.runs(session_id)) == runs


class Slow:
    """Never comes to an end of listening."""

    id = AgentId("slow")
    policy = AgentPolicy()

    async def answer(self, turn: AgentTurn) -> AsyncGenerator[str, None]:
        yield "here"

    async def heard(self, event: KnowledgeEvent) -> None:
        await asyncio.Event().wait()


async def test_an_agent_that_never_ends_listening_holds_nobody_up(settings: Settings) -> None:
    async with Turnkeeper.open(settings=replace(settings, grace_seconds=0.1)) as keeper:
        keeper.add_agent(Slow())
        base = await keeper.bases.create("Handbook")

        session = await keeper.create_session(agent="slow")
        mounted = await keeper.bases.mount(session.id, base.id)

        assert len(mounted.mounts) == 1
        assert (await keeper.chat("Hello", agent="slow")).text == "here"


async def test_of_several_who_mount_at_once_all_are_heard(keeper: Turnkeeper, other_keeper: Turnkeeper) -> None:
    session = await keeper.create_session()
    bases = [await keeper.bases.create(f"Base {number}") for number in range(4)]

    await asyncio.gather(
        *(node.bases.mount(session.id, base.id) for base, node in zip(bases, [keeper, other_keeper] * 2, strict=True))
    )

    assert {mount.id for mount in (await keeper.session(session.id)).mounts} == {base.id for base in bases}


async def test_what_is_unmounted_is_out_of_reach_of_a_turn_that_runs(keeper: Turnkeeper) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    @keeper.agent("slow")
    async def slow(turn: AgentTurn) -> str:
        begun.set()
        await go.wait()
        found = await turn.memory.search(UnitQuery(words="ferry"))
        return " ".join(each.unit.content for each in found) or "Nothing."

    session = await keeper.create_session(agent="slow")
    base = await keeper.bases.create("Handbook")
    await keeper.bases.add_source(base.id, "one", "The ferry takes cars.")
    await keeper.bases.mount(session.id, base.id)
    answering = asyncio.create_task(keeper.chat("Hello", session_id=session.id))
    await begun.wait()

    await keeper.bases.unmount(session.id, base.id)
    go.set()

    assert (await answering).text == "Nothing."


async def test_nothing_is_mounted_to_a_session_that_is_over(keeper: Turnkeeper) -> None:
    session = await keeper.create_session()
    base = await keeper.bases.create("Handbook")
    await keeper.close_session(session.id)

    with pytest.raises(SessionClosed):
        await keeper.bases.mount(session.id, base.id)


async def test_the_audit_names_the_base_and_what_was_done_to_it(keeper: Turnkeeper) -> None:
    session = await keeper.create_session()
    base = await keeper.bases.create("Handbook")
    _, source = await keeper.bases.add_source(base.id, "one", "The ferry takes cars.")
    await keeper.bases.mount(session.id, base.id)
    await keeper.bases.unmount(session.id, base.id)
    await keeper.bases.remove_source(base.id, source.id)

    bodies = [entry.body async for entry in keeper._store.audit.entries(TenantId("default"))]

    verbs = ["create_knowledge_base", "add_source", "mount", "unmount", "remove_source"]
    about = [body for body in bodies if base.id in body]
    assert [verb for verb in verbs if any(f'"verb":"{verb}"' in body for body in about)] == verbs


async def test_every_base_that_has_changed_is_told(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")
    bases = [await keeper.bases.create(name) for name in ("One", "Two")]
    for base in bases:
        await keeper.bases.mount(session.id, base.id)
        await keeper.bases.add_source(base.id, "one", "The ferry takes cars.")

    reply = await keeper.chat("Hello", session_id=session.id)

    changed = reply.explanation.details["knowledge_base_changed"]["changed"]
    assert {each["knowledge_base"] for each in changed} == {base.id for base in bases}


@pytest.mark.parametrize("said", [["81", "80"], ["80", "81", "80"], ["81", "82", "80", "80"]])
async def test_of_what_is_said_in_one_breath_the_last_holds(said: list[str]) -> None:
    view = UnitView(tenant=TenantId("acme"), session_id=SessionId("sess_one"), epoch=1)
    first = await settle([port("80")], UnitPlace(chunk_id="session::t0001", at=NOON), CarriedUnits(()), view, most=9)
    known = first.applied_to(())

    changes = await settle(
        [port(value) for value in said],
        UnitPlace(chunk_id="session::t0002", at=NOON),
        CarriedUnits(known),
        view,
        most=9,
    )

    assert [unit.claim for unit in changes.applied_to(known)] == ["The port is 80."]


def port(value: str) -> Unit:
    return unit_saying(f"The port is {value}.", slot="port")


async def test_what_is_forgotten_and_said_again_in_one_turn_is_known(keeper: Turnkeeper) -> None:
    @keeper.agent("fickle")
    async def fickle(turn: AgentTurn) -> str:
        turn.forget(*(unit.id for unit in await turn.memory.newest(limit=1)))
        turn.remember(port("80"))
        return "Done."

    session_id = (await keeper.chat("one", agent="fickle")).session_id
    await keeper.chat("two", session_id=session_id)

    assert await known_in(keeper, session_id) == [
        ("", UnitStatus.FORGOTTEN),
        ("The port is 80.", UnitStatus.COMMITTED),
    ]


async def test_only_a_unit_that_is_in_use_can_be_edited(settings: Settings) -> None:
    async with Turnkeeper.open(settings=replace(settings, session_units=1)) as keeper:
        scribe(keeper)
        session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
        await keeper.chat("keep lamp=on", session_id=session_id)
        await keeper.reset(session_id)

        for unit_id in ("session::t0001::unit-000", "session::t0002::unit-000"):
            with pytest.raises(RunEnded) as refused:
                await keeper.units.edit(session_id, unit_id, {"claim": "The port is 443."})
            assert refused.value.code == UnitNotCurrent.code


async def test_an_edit_into_a_slot_that_is_taken_leaves_one_unit_in_it(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    await keeper.chat("keep lamp=on", session_id=session_id)

    edited = await keeper.units.edit(session_id, "session::t0002::unit-000", {"slot": "port"})

    assert edited.id == "session::e0003::unit-000"
    assert await known_in(keeper, session_id) == [
        ("The port is 80.", UnitStatus.SUPERSEDED),
        ("The lamp is on.", UnitStatus.SUPERSEDED),
        ("The lamp is on.", UnitStatus.COMMITTED),
    ]


async def test_an_edit_into_what_is_known_already_gives_way_to_it(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")
    await keeper.units.import_text(session.id, "The ferry takes cars. The ferry takes dogs.")
    first, second = [kept for _, kept in await keeper.units.list(session.id)]

    edited = await keeper.units.edit(session.id, second.id, {"claim": "The ferry takes cars."})

    assert edited.id == first.id
    now = [claim for claim, status in await known_in(keeper, session.id) if status is UnitStatus.COMMITTED]
    assert now == ["The ferry takes cars."]


@pytest.mark.parametrize("change", [{"claim": "a\x00b"}, {"topic": "\ud800"}, {"lifetime": "turn"}, {"a/b~c": 1}])
async def test_what_no_store_can_keep_is_refused(keeper: Turnkeeper, change: dict[str, object]) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id

    with pytest.raises(EnvelopeInvalid):
        await keeper.units.edit(session_id, "session::t0001::unit-000", change)


async def test_an_agent_cannot_remember_what_no_store_can_keep(keeper: Turnkeeper) -> None:
    @keeper.agent("odd")
    async def odd(turn: AgentTurn) -> str:
        turn.remember(unit_saying("a\x00b"))
        return "Done."

    with pytest.raises(RunEnded) as refused:
        await keeper.chat("Hello", agent="odd")

    assert refused.value.code == "agent_failed"


async def test_a_request_that_met_an_expired_session_can_be_sent_again(settings: Settings) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        session = await keeper.create_session(agent="echo")
        clock.step(86_400)

        first = await keeper.chat("Hello", session_id=session.id, request_id="one")
        again = await keeper.chat("Hello", session_id=session.id, request_id="one")

        assert (first.session_id, first.run_id) == (again.session_id, again.run_id)
        assert (again.replaced_session_id, again.replaced_reason) == (session.id, "expired")


async def test_a_session_with_queued_messages_takes_more(settings: Settings) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=replace(settings, queue_seconds=10 * 86_400), clock=clock) as keeper:
        agent = HeldAgent()
        keeper.agent("held", run_seconds=10 * 86_400)(agent)
        session = await keeper.create_session(agent="held")
        first = await keeper.submit("one", session_id=session.id)
        await agent.begun.get()
        second = await keeper.submit("two", session_id=session.id)
        clock.step(2 * 86_400)

        third = await keeper.submit("three", session_id=session.id)
        agent.let_go()

        assert third.replaced_session_id is None
        assert [(await keeper.reply_to(ticket)).turn for ticket in (first, second, third)] == [1, 2, 3]


async def test_what_a_client_is_given_is_never_more_than_is_taken_back(settings: Settings) -> None:
    async with Turnkeeper.open(settings=replace(settings, carried_bytes=20_000)) as keeper:

        @keeper.agent("big")
        async def big(turn: AgentTurn) -> str:
            turn.remember(unit_saying(f"{turn.number} " + "x" * 900))
            return "y" * 3_000

        carried, warnings = None, set()
        for number in range(30):
            reply = await keeper.chat(f"message {number}", agent="big", custody="client", carried=carried)
            carried = reply.carried
            warnings |= set(reply.warnings)

        assert reply.turn == 30
        assert "carried_cut" in warnings


async def test_a_first_message_that_fails_leaves_no_preference(keeper: Turnkeeper) -> None:
    with pytest.raises(RunEnded) as refused:
        await keeper.chat("Hello", agent="symbolic", plugins={"gs-plugin": "nobody"})

    assert refused.value.code == "plugin_not_found"
    (session,) = await keeper.sessions()
    assert session.preferences == Preferences()


async def test_an_edit_that_is_sent_again_much_later_is_told_the_same(settings: Settings) -> None:
    async with Turnkeeper.open(settings=replace(settings, explanations=1)) as keeper:
        scribe(keeper)
        session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
        edit = {"claim": "The port is 90."}
        first = await keeper.units.edit(session_id, "session::t0001::unit-000", edit, request_id="one")
        for number in range(64):
            await keeper.chat(f"tell {number}", session_id=session_id)

        again = await keeper.units.edit(session_id, "session::t0001::unit-000", edit, request_id="one")

        assert again.id == first.id


async def test_a_lowered_cap_is_reached_with_the_next_unit(settings: Settings) -> None:
    async with Turnkeeper.open(settings=settings) as keeper:
        scribe(keeper)
        session_id = (await keeper.chat("keep one=1", agent="scribe")).session_id
        for number in range(2, 7):
            await keeper.chat(f"keep lamp{number}={number}", session_id=session_id)
    async with Turnkeeper.open(settings=replace(settings, session_units=2)) as keeper:
        scribe(keeper)
        await keeper.chat("keep last=9", session_id=session_id)

        now = [claim for claim, status in await known_in(keeper, session_id) if status is UnitStatus.COMMITTED]

        assert now == ["The lamp6 is 6.", "The last is 9."]


async def test_a_continued_session_lives_as_long_as_the_one_before(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(idle_for_seconds=77)
    await keeper.close_session(session.id)

    assert (await keeper.create_session(from_session_id=session.id)).idle_for_seconds == 77
    assert (await keeper.create_session(from_session_id=session.id, idle_for_seconds=5)).idle_for_seconds == 5


@pytest.mark.parametrize("choice", [{"level": 1.0}, {"level": True}, {"model": "\ud800"}, {"model": "a\x00"}])
async def test_a_choice_that_cannot_be_kept_is_refused(keeper: Turnkeeper, choice: dict[str, object]) -> None:
    with pytest.raises(EnvelopeInvalid):
        await keeper.chat("Hello", **choice)


def test_a_session_lives_for_a_second_and_knows_one_thing_at_least() -> None:
    for wrong in ({"idle_seconds": 0}, {"session_units": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            Settings(**wrong)  # type: ignore[arg-type]


async def test_an_import_that_finds_nothing_changes_nothing(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")

    reply = await keeper.units.import_text(session.id, "Hello! How are you?")

    assert reply.units == {}
    assert (await keeper.session(session.id)).revision == 0


async def test_a_long_list_of_what_was_dropped_is_cut(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")
    text = "\n\n".join(f"The lamp number {number} is green." for number in range(40))
    await keeper.units.import_text(session.id, text)

    again = await keeper.units.import_text(session.id, text)

    assert (len(again.units["dropped"]), again.units["dropped_beside"]) == (20, 20)


async def test_a_forgotten_unit_may_not_be_found_by_a_listening_index(keeper: Turnkeeper) -> None:
    heard: list[tuple[UnitId, ...]] = []

    class Index(Slow):
        id = AgentId("index")

        async def heard(self, event: KnowledgeEvent) -> None:
            if event.gone:
                heard.append(event.gone)

    keeper.add_agent(Index())
    session = await keeper.create_session(agent="index")
    (unit_id,) = (await keeper.units.import_text(session.id, "The ferry takes cars.")).units["added"]

    await keeper.units.forget(session.id, unit_id)
    await keeper.close()

    assert heard == [(unit_id,)]
