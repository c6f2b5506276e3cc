"""What a session knows, told through the embedded face."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

from turnkeeper import AgentTurn, Principal, Turnkeeper
from turnkeeper.errors import (
    EnvelopeInvalid,
    RunEnded,
    SessionNotFound,
    UnitNotCurrent,
    UnitNotFound,
    UnitTextInvalid,
)
from turnkeeper.knowledge.carried import CarriedUnits
from turnkeeper.knowledge.settling import settle
from turnkeeper.model.ids import SessionId, TenantId, UnitId, UserId
from turnkeeper.model.recall import UnitQuery
from turnkeeper.model.unit import Lifetime, PhaseScope, Unit, UnitPlace, UnitRole, UnitStatus
from turnkeeper.ports.units import UnitView
from turnkeeper.testing.clock import NOON

STRANGER = Principal(tenant=TenantId("default"), user=UserId("stranger"))


def unit_saying(claim: str, **changes: object) -> Unit:
    said = {"topic": "port", "role": UnitRole.DESCRIPTION, "claim": claim} | changes
    return Unit(id=UnitId("staged::unit-000"), source_id="session", chunk_id="session::staged", **said)  # type: ignore[arg-type]


def scribe(keeper: Turnkeeper) -> None:
    """An agent that keeps what it is told word by word, tells what it knows, and fails on demand."""

    @keeper.agent("scribe")
    async def answer(turn: AgentTurn) -> str:
        verb, _, rest = turn.text.partition(" ")
        if verb == "keep":
            slot, _, value = rest.partition("=")
            turn.remember(unit_saying(f"The {slot} is {value}.", topic=slot, slot=slot))
            return "Kept."
        if verb == "once":
            turn.remember(unit_saying(rest, lifetime=Lifetime.TURN))
            return "Done."
        if verb == "forget":
            turn.forget(UnitId(rest))
            return "Forgotten."
        if verb == "fail":
            turn.remember(unit_saying(rest))
            turn.forget(UnitId("session::t0001::unit-000"))
            raise RuntimeError
        found = await turn.memory.search(UnitQuery(words=rest))
        return " ".join(each.unit.content for each in found) or "Nothing."


async def known_in(keeper: Turnkeeper, session_id: str) -> list[tuple[str, UnitStatus]]:
    return [(kept.unit.content if kept.unit else "", kept.status) for _, kept in await keeper.units.list(session_id)]


async def test_facts_of_two_turns_can_both_be_asked_for(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    await keeper.chat("keep colour=green", session_id=session_id)

    assert (await keeper.chat("tell port", session_id=session_id)).text == "The port is 80."
    assert (await keeper.chat("tell colour", session_id=session_id)).text == "The colour is green."


async def test_fault_2_units_of_different_turns_never_share_an_id(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    await keeper.chat("keep colour=green", session_id=session_id)
    await keeper.reset(session_id)
    await keeper.chat("keep port=80", session_id=session_id)

    ids = [kept.id for _, kept in await keeper.units.list(session_id, all_epochs=True)]

    assert ids == ["session::t0001::unit-000", "session::t0002::unit-000", "session::t0003::unit-000"]


async def test_fault_4_the_same_fact_three_times_is_one_unit(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    again = [await keeper.chat("keep port=80", session_id=session_id) for _ in range(2)]

    assert await known_in(keeper, session_id) == [("The port is 80.", UnitStatus.COMMITTED)]
    assert again[-1].explanation.units == {"dropped": [{"content": "The port is 80.", "reason": "known"}]}


async def test_a_corrected_fact_answers_with_the_new_value_and_shows_the_old_one(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id

    corrected = await keeper.chat("keep port=81", session_id=session_id)

    assert (await keeper.chat("tell port", session_id=session_id)).text == "The port is 81."
    assert await known_in(keeper, session_id) == [
        ("The port is 80.", UnitStatus.SUPERSEDED),
        ("The port is 81.", UnitStatus.COMMITTED),
    ]
    new_id = "session::t0002::unit-000"
    old = await keeper.units.get(session_id, "session::t0001::unit-000")
    assert old.superseded_by == new_id
    assert corrected.explanation.units["superseded"] == [{"unit": old.id, "by": new_id}]


async def test_a_fact_may_return_to_its_first_value(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    await keeper.chat("keep port=81", session_id=session_id)

    await keeper.chat("keep port=80", session_id=session_id)

    assert (await keeper.chat("tell port", session_id=session_id)).text == "The port is 80."


async def test_fault_3_two_sessions_never_see_each_others_units(keeper: Turnkeeper) -> None:
    scribe(keeper)
    mine = (await keeper.chat("keep port=80", agent="scribe")).session_id
    yours = (await keeper.chat("keep port=8080", agent="scribe")).session_id

    assert (await keeper.chat("tell port", session_id=mine)).text == "The port is 80."
    assert (await keeper.chat("tell port", session_id=yours)).text == "The port is 8080."


async def test_a_failed_turn_keeps_none_of_its_units(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id

    with pytest.raises(RunEnded):
        await keeper.chat("fail The port is 81.", session_id=session_id)

    assert await known_in(keeper, session_id) == [("The port is 80.", UnitStatus.COMMITTED)]
    assert len(await keeper.messages(session_id)) == 2


async def test_a_unit_for_one_turn_is_not_kept_and_that_is_said(keeper: Turnkeeper) -> None:
    scribe(keeper)
    reply = await keeper.chat("once Answer this one in French.", agent="scribe")

    assert await known_in(keeper, reply.session_id) == []
    assert reply.explanation.units["dropped"] == [{"content": "Answer this one in French.", "reason": "turn"}]


async def test_a_reset_puts_what_was_known_out_of_reach(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id

    await keeper.reset(session_id)

    assert (await keeper.chat("tell port", session_id=session_id)).text == "Nothing."
    assert await known_in(keeper, session_id) == []
    assert len(await keeper.units.list(session_id, all_epochs=True)) == 1


async def test_a_session_that_knows_too_much_lets_the_oldest_go_and_says_so(address: str) -> None:
    async with Turnkeeper.open(address, session_units=2) as keeper:
        scribe(keeper)
        session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
        await keeper.chat("keep colour=green", session_id=session_id)

        reply = await keeper.chat("keep lamp=on", session_id=session_id)

        assert reply.warnings == ("units_pushed_out",)
        assert reply.explanation.details["units_pushed_out"] == {"units": ["session::t0001::unit-000"]}
        assert await known_in(keeper, session_id) == [
            ("The port is 80.", UnitStatus.PUSHED_OUT),
            ("The colour is green.", UnitStatus.COMMITTED),
            ("The lamp is on.", UnitStatus.COMMITTED),
        ]
        assert (await keeper.chat("tell port", session_id=session_id)).text == "Nothing."


async def test_a_client_that_keeps_its_session_keeps_its_units_too(keeper: Turnkeeper) -> None:
    scribe(keeper)
    carried = None
    for message in ("keep port=80", "keep colour=green", "keep port=81"):
        reply = await keeper.chat(message, agent="scribe", custody="client", carried=carried)
        carried = reply.carried

    told = await keeper.chat("tell port", agent="scribe", custody="client", carried=carried)

    assert told.text == "The port is 81."
    assert [unit["claim"] for unit in carried["units"]] == ["The colour is green.", "The port is 81."]  # type: ignore[index]


async def test_plain_text_is_imported_as_if_it_had_been_said(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session = await keeper.create_session(agent="scribe")

    reply = await keeper.units.import_text(session.id, "The port is 80. The system must run on CPU only.", name="notes")

    units = [kept.unit for _, kept in await keeper.units.list(session.id) if kept.unit]
    assert [(unit.claim, unit.source_name, unit.source_type) for unit in units] == [
        ("The port is 80.", "notes", "import"),
        ("The system must run on CPU only.", "notes", "import"),
    ]
    assert reply.explanation.units["added"] == [unit.id for unit in units]
    assert await keeper.messages(session.id) == []
    loaded = await keeper.session(session.id)
    assert (loaded.revision, loaded.turns) == (1, 0)


async def test_a_long_text_is_imported_to_its_end(address: str) -> None:
    text = "\n\n".join(f"The lamp number {number} is green." for number in range(120))
    async with Turnkeeper.open(address, session_units=500) as keeper:
        session = await keeper.create_session(agent="echo")

        reply = await keeper.units.import_text(session.id, text)

        assert len(reply.explanation.units["added"]) == 120


async def test_units_are_imported_in_their_text_form(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")
    text = (
        '@k1 ku atomic "session::turn::unit-000"\n@k2 set $k1 sourceId session\n@k3 set $k1 chunkId session::turn\n'
        '@k4 set $k1 role Constraint\n@k5 set $k1 topic "deployment environment"\n'
        '@k6 set $k1 claim "The system must run on CPU only."\n@k7 set $k1 utilityActs [verify]\n'
        "@k8 set $k1 phaseScopes [kb-plugin gs-plugin]\n"
    )

    await keeper.units.import_text(session.id, text, format="units")

    ((_, kept),) = await keeper.units.list(session.id)
    assert kept.unit is not None
    assert kept.unit.claim == "The system must run on CPU only."
    assert kept.unit.phase_scopes == (PhaseScope.KNOWLEDGE, PhaseScope.SOLVE)


async def test_imported_units_still_name_their_relatives(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")
    said = "".join(
        f'@{name}1 ku atomic "{name}"\n@{name}2 set ${name}1 sourceId s\n@{name}3 set ${name}1 chunkId c\n'
        f'@{name}4 set ${name}1 role Description\n@{name}5 set ${name}1 topic "{topic}"\n'
        f'@{name}6 set ${name}1 claim "The {topic} is round."\n'
        for name, topic in (("a", "car"), ("b", "wheel"))
    )
    text = said + '@b7 set $b1 derivedFromUnitIds ["elsewhere"]\n@p1 parent $b1 $a1\n'

    await keeper.units.import_text(session.id, text, format="units")

    whole, part = [kept.unit for _, kept in await keeper.units.list(session.id) if kept.unit]
    assert (whole.child_ids, part.parent_ids) == ((part.id,), (whole.id,))
    assert part.derived_from_ids == (UnitId("elsewhere"),)
    await keeper.close_session(session.id)
    again = await keeper.create_session(from_session_id=session.id)
    whole, part = [kept.unit for _, kept in await keeper.units.list(again.id) if kept.unit]
    assert (whole.child_ids, part.parent_ids) == ((part.id,), (whole.id,))
    assert part.derived_from_ids == (UnitId("elsewhere"),)


async def test_a_text_with_a_fault_changes_nothing(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")

    with pytest.raises(UnitTextInvalid) as refused:
        await keeper.units.import_text(session.id, '@k1 ku atomic "a"\n@k2 set $k9 role Constraint\n', format="units")

    assert {fault["line"] for fault in refused.value.details} == {1, 2}
    assert await keeper.units.list(session.id) == []
    assert await keeper.runs(session.id) == []
    assert (await keeper.session(session.id)).revision == 0


async def test_an_edited_unit_takes_the_place_of_the_old_one(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id

    edited = await keeper.units.edit(session_id, "session::t0001::unit-000", {"claim": "The port is 443."})

    assert edited.unit is not None
    assert (edited.unit.claim, edited.unit.supersedes) == ("The port is 443.", "session::t0001::unit-000")
    assert (await keeper.chat("tell port", session_id=session_id)).text == "The port is 443."
    assert (await keeper.units.get(session_id, "session::t0001::unit-000")).status is UnitStatus.SUPERSEDED


async def test_an_edit_that_makes_no_unit_is_refused(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    unit_id = "session::t0001::unit-000"

    for change in ({"claim": None}, {"role": "Gossip"}, {"id": "mine"}, {"subject": "port"}, {}):
        with pytest.raises(EnvelopeInvalid):
            await keeper.units.edit(session_id, unit_id, change)
    with pytest.raises(UnitNotFound):
        await keeper.units.edit(session_id, "session::t0009::unit-000", {"claim": "x"})

    assert await known_in(keeper, session_id) == [("The port is 80.", UnitStatus.COMMITTED)]


async def test_a_superseded_unit_cannot_be_edited(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    await keeper.chat("keep port=81", session_id=session_id)

    with pytest.raises(RunEnded) as refused:
        await keeper.units.edit(session_id, "session::t0001::unit-000", {"claim": "The port is 82."})

    assert refused.value.code == UnitNotCurrent.code


async def test_a_forgotten_unit_is_gone_for_good(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id

    forgotten = await keeper.units.forget(session_id, "session::t0001::unit-000")

    assert (forgotten.status, forgotten.unit) == (UnitStatus.FORGOTTEN, None)
    assert (await keeper.chat("tell port", session_id=session_id)).text == "Nothing."
    await keeper.chat("keep port=80", session_id=session_id)
    assert (await keeper.chat("tell port", session_id=session_id)).text == "The port is 80."


async def test_an_agent_forgets_with_its_turn(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id

    reply = await keeper.chat("forget session::t0001::unit-000", session_id=session_id)

    assert reply.explanation.units == {"forgotten": ["session::t0001::unit-000"]}
    assert await known_in(keeper, session_id) == [("", UnitStatus.FORGOTTEN)]


async def test_what_a_client_carries_is_forgotten_too(keeper: Turnkeeper) -> None:
    scribe(keeper)
    kept = await keeper.chat("keep port=80", agent="scribe", custody="client")

    forgot = await keeper.chat(
        "forget session::t0001::unit-000", agent="scribe", custody="client", carried=kept.carried
    )

    assert forgot.carried is not None
    assert len(forgot.carried["units"]) == 0


@pytest.mark.parametrize("forged", [{}, {"id": ""}, {"role": "Gossip"}, {"relation": "uses"}])
async def test_a_carried_unit_that_is_none_is_refused(keeper: Turnkeeper, forged: dict[str, str]) -> None:
    scribe(keeper)
    kept = await keeper.chat("keep port=80", agent="scribe", custody="client")
    assert kept.carried is not None
    (unit,) = kept.carried["units"]
    units = [{**unit, **forged} if forged else {}]

    with pytest.raises(EnvelopeInvalid):
        await keeper.chat("tell port", agent="scribe", custody="client", carried={**kept.carried, "units": units})


async def test_nobody_else_reads_or_changes_the_units_of_a_session(keeper: Turnkeeper) -> None:
    scribe(keeper)
    session_id = (await keeper.chat("keep port=80", agent="scribe")).session_id
    unit_id = "session::t0001::unit-000"

    with pytest.raises(SessionNotFound):
        await keeper.units.list(session_id, principal=STRANGER)
    with pytest.raises(SessionNotFound):
        await keeper.units.get(session_id, unit_id, principal=STRANGER)
    with pytest.raises(SessionNotFound):
        await keeper.units.import_text(session_id, "The port is 81.", principal=STRANGER)
    with pytest.raises(SessionNotFound):
        await keeper.units.edit(session_id, unit_id, {"claim": "x"}, principal=STRANGER)
    with pytest.raises(SessionNotFound):
        await keeper.units.forget(session_id, unit_id, principal=STRANGER)


async def test_the_same_import_again_is_the_same_request(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")

    first = await keeper.units.import_text(session.id, "The port is 80.", request_id="one")
    again = await keeper.units.import_text(session.id, "The port is 80.", request_id="one")

    assert first.run_id == again.run_id
    assert first.explanation.units == again.explanation.units


claims = st.sampled_from(["80", "81", "82"])
slots = st.sampled_from([None, "port", "lamp", "Port"])
staged = st.lists(
    st.builds(lambda value, slot: unit_saying(f"It is {value}.", slot=slot, topic=slot or "it"), claims, slots)
)


@given(batches=st.lists(staged, max_size=5), most=st.integers(1, 4))
@with_settings(deadline=None)
async def test_however_units_come_there_is_one_for_each_slot_and_never_too_many(
    batches: Sequence[Sequence[Unit]], most: int
) -> None:
    view = UnitView(tenant=TenantId("acme"), session_id=SessionId("sess_one"), epoch=1)
    kept: tuple[Unit, ...] = ()

    for number, batch in enumerate(batches):
        place = UnitPlace(chunk_id=f"session::t{number:04d}", at=NOON)
        changes = await settle(batch, place, CarriedUnits(kept), view, most=most)
        kept = changes.applied_to(kept)

        ids = [unit.id for unit in kept]
        taken = [unit.slot.casefold() for unit in kept if unit.slot]
        assert len(set(ids)) == len(ids) <= most
        assert len(set(taken)) == len(taken)
        assert len({unit.hash for unit in kept}) == len(kept)
        assert len(changes.added) + len(changes.dropped) == len(batch)
