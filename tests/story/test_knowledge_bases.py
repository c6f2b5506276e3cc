"""Knowledge bases and what sessions see of them, told through the embedded face."""

import pytest

from turnkeeper import AgentTurn, Principal, Turnkeeper
from turnkeeper.errors import (
    EnvelopeInvalid,
    KnowledgeBaseFull,
    KnowledgeBaseNotFound,
    NotAllowed,
    RevisionMoved,
    SessionNotFound,
    SourceNotFound,
    SourceTooLarge,
    UnitTextInvalid,
)
from turnkeeper.model.ids import TenantId, UnitId, UserId
from turnkeeper.model.knowledge_base import SourceKind
from turnkeeper.model.principal import Role
from turnkeeper.model.recall import UnitQuery

ELSEWHERE = Principal(tenant=TenantId("globex"), user=UserId("ada"))
VIEWER = Principal(tenant=TenantId("default"), user=UserId("eve"), role=Role.VIEWER)
HANDBOOK = """# Harbour

The ferry takes
cars. The ferry leaves at six.

## How to board

1. Buy a ticket.
2. Show it at the gate.

## Rules

- Dogs must be on a leash.
- Is smoking allowed?
"""
FAMILY = """@a1 ku atomic "a"
@a2 set $a1 sourceId s
@a3 set $a1 chunkId c
@a4 set $a1 role Description
@a5 set $a1 topic "car"
@a6 set $a1 claim "The car has four wheels."
@b1 ku atomic "b"
@b2 set $b1 sourceId s
@b3 set $b1 chunkId c
@b4 set $b1 role Description
@b5 set $b1 topic "wheel"
@b6 set $b1 claim "The wheel is round."
@b7 set $b1 derivedFromUnitIds ["elsewhere"]
@p1 parent $b1 $a1
"""


def librarian(keeper: Turnkeeper) -> None:
    @keeper.agent("librarian")
    async def answer(turn: AgentTurn) -> str:
        found = await turn.memory.search(UnitQuery(words=turn.text))
        return " | ".join(f"{each.unit.content} ({each.unit.source_name})" for each in found) or "Nothing."


async def test_markdown_becomes_units_with_the_place_they_came_from(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")

    grown, source = await keeper.bases.add_source(base.id, "harbour.md", HANDBOOK, kind="markdown")

    units = [unit for _, unit in await keeper.bases.units(base.id)]
    said = [(unit.role.value, unit.section_title, unit.content) for unit in units]
    assert said == [
        ("Description", "Harbour", "The ferry takes cars."),
        ("Description", "Harbour", "The ferry leaves at six."),
        ("Procedure", "How to board", "1. Buy a ticket.\n2. Show it at the gate."),
        ("Constraint", "Rules", "Dogs must be on a leash."),
    ]
    assert (grown.revision, grown.sources, grown.units, source.units) == (1, 1, 4, 4)
    for unit in units:
        assert unit.id.startswith(f"{source.id}::chunk-")
        assert (unit.source_name, unit.source_type) == ("harbour.md", "markdown")
        assert " ".join(HANDBOOK[unit.char_start : unit.char_end].split()) == " ".join(unit.content.split())


async def test_a_session_answers_from_what_is_mounted_to_it(keeper: Turnkeeper) -> None:
    librarian(keeper)
    base = await keeper.bases.create("Handbook")
    await keeper.bases.add_source(base.id, "harbour.md", HANDBOOK, kind="markdown")
    session = await keeper.create_session(agent="librarian")
    before = await keeper.chat("Which cars?", session_id=session.id)

    mounted = await keeper.bases.mount(session.id, base.id)

    assert before.text == "Nothing."
    assert [(mount.id, mount.revision) for mount in mounted.mounts] == [(base.id, 1)]
    assert (await keeper.chat("Which cars?", session_id=session.id)).text == "The ferry takes cars. (harbour.md)"


async def test_fact_9_a_mounted_base_is_seen_as_it_was_and_the_change_is_said(keeper: Turnkeeper) -> None:
    librarian(keeper)
    base = await keeper.bases.create("Handbook")
    await keeper.bases.add_source(base.id, "one", "The ferry takes cars.")
    session = await keeper.create_session(agent="librarian")
    await keeper.bases.mount(session.id, base.id)
    await keeper.bases.add_source(base.id, "one", "The ferry takes dogs.")

    reply = await keeper.chat("ferry", session_id=session.id)

    assert reply.text == "The ferry takes cars. (one)"
    assert reply.warnings == ("knowledge_base_changed",)
    changed = [{"knowledge_base": base.id, "mounted": 1, "now": 2}]
    assert reply.explanation.details["knowledge_base_changed"] == {"changed": changed}

    await keeper.bases.mount(session.id, base.id)
    after = await keeper.chat("ferry", session_id=session.id)
    assert (after.text, after.warnings) == ("The ferry takes dogs. (one)", ())


async def test_an_unmounted_base_is_out_of_reach_at_the_next_turn(keeper: Turnkeeper) -> None:
    librarian(keeper)
    base = await keeper.bases.create("Handbook")
    await keeper.bases.add_source(base.id, "one", "The ferry takes cars.")
    session = await keeper.create_session(agent="librarian")
    await keeper.bases.mount(session.id, base.id)

    await keeper.bases.unmount(session.id, base.id)

    assert (await keeper.chat("ferry", session_id=session.id)).text == "Nothing."
    with pytest.raises(KnowledgeBaseNotFound):
        await keeper.bases.unmount(session.id, base.id)


async def test_fact_10_what_was_said_reaches_a_base_only_by_saving_it(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")
    session = await keeper.create_session(agent="echo")
    await keeper.bases.mount(session.id, base.id)
    await keeper.units.import_text(session.id, "The ferry takes cars. From now on, answer in JSON.")
    assert (await keeper.bases.get(base.id)).units == 0

    grown, source = await keeper.bases.save_session(base.id, session.id)

    assert (grown.units, source.kind) == (1, SourceKind.JOURNAL)
    ((_, unit),) = await keeper.bases.units(base.id)
    assert (unit.content, unit.source_id) == ("The ferry takes cars.", source.id)


async def test_fault_31_saving_again_and_forking_afterwards_duplicate_nothing(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")
    session = await keeper.create_session(agent="echo")
    await keeper.units.import_text(session.id, "The ferry takes cars.")
    await keeper.bases.save_session(base.id, session.id)
    await keeper.units.import_text(session.id, "The harbour opens at six.")

    grown, _ = await keeper.bases.save_session(base.id, session.id)
    fork = await keeper.bases.create("Copy", parent_id=base.id)
    saved, _ = await keeper.bases.save_session(fork.id, session.id)

    assert (grown.units, fork.units, saved.units) == (2, 2, 2)
    assert fork.parent_id == base.id


async def test_fault_30_of_two_who_change_a_base_at_once_the_second_is_told(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")
    await keeper.bases.add_source(base.id, "one", "The ferry takes cars.", expected_revision=0)

    with pytest.raises(RevisionMoved):
        await keeper.bases.add_source(base.id, "two", "The ferry takes dogs.", expected_revision=0)

    assert [source.name for source in await keeper.bases.sources(base.id)] == ["one"]


async def test_a_unit_saved_from_a_session_still_names_its_relatives(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")
    session = await keeper.create_session(agent="echo")
    await keeper.units.import_text(session.id, FAMILY, format="units")

    _, source = await keeper.bases.save_session(base.id, session.id)

    whole, part = [unit for _, unit in await keeper.bases.units(base.id)]
    assert (whole.child_ids, part.parent_ids) == ((part.id,), (whole.id,))
    assert part.derived_from_ids == (UnitId("elsewhere"),)
    assert part.id.startswith(source.id)


async def test_a_fact_of_two_sources_is_found_once_and_stays_with_either(keeper: Turnkeeper) -> None:
    librarian(keeper)
    base = await keeper.bases.create("Handbook")
    _, first = await keeper.bases.add_source(base.id, "one", "The ferry takes cars.")
    await keeper.bases.add_source(base.id, "two", "The ferry takes cars. The harbour is closed.")
    session = await keeper.create_session(agent="librarian")
    await keeper.bases.mount(session.id, base.id)
    both = await keeper.chat("Which cars?", session_id=session.id)

    await keeper.bases.remove_source(base.id, first.id)
    await keeper.bases.mount(session.id, base.id)

    assert both.text.count("The ferry takes cars.") == 1
    assert (await keeper.chat("Which cars?", session_id=session.id)).text == "The ferry takes cars. (two)"


async def test_a_source_is_read_with_its_content(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")
    _, added = await keeper.bases.add_source(base.id, "harbour.md", HANDBOOK, kind="markdown")

    assert [source.content for source in await keeper.bases.sources(base.id)] == [None]
    assert await keeper.bases.source(base.id, added.id) == added
    with pytest.raises(SourceNotFound):
        await keeper.bases.source(base.id, "src_never")
    with pytest.raises(KnowledgeBaseNotFound):
        await keeper.bases.source(base.id, added.id, principal=ELSEWHERE)


async def test_fault_18_a_name_of_a_source_is_only_a_name(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")

    _, source = await keeper.bases.add_source(base.id, "../../etc/passwd", "The ferry takes cars.")

    assert source.name == "../../etc/passwd"
    assert source.id.startswith("src_")


async def test_a_source_that_is_too_large_is_refused(address: str) -> None:
    async with Turnkeeper.open(address, source_bytes=100, source_units=2, base_units=3) as keeper:
        base = await keeper.bases.create("Handbook")

        with pytest.raises(SourceTooLarge):
            await keeper.bases.add_source(base.id, "one", "x" * 101)
        with pytest.raises(SourceTooLarge):
            await keeper.bases.add_source(base.id, "one", "The cat is red. The dog is blue. The cow is green.")
        await keeper.bases.add_source(base.id, "one", "The cat is red. The dog is blue.")
        with pytest.raises(KnowledgeBaseFull):
            await keeper.bases.add_source(base.id, "two", "The cow is green. The hen is white.")

        assert (await keeper.bases.get(base.id)).units == 2


async def test_what_is_no_source_is_refused(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")

    for name, content, kind in (
        ("", "x", "markdown"),
        ("n", " ", "markdown"),
        ("n", "x\x00", "markdown"),
        ("n", "x", "pdf"),
    ):
        with pytest.raises(EnvelopeInvalid):
            await keeper.bases.add_source(base.id, name, content, kind=kind)
    with pytest.raises(UnitTextInvalid):
        await keeper.bases.add_source(base.id, "n", "no units", kind="units")
    with pytest.raises(EnvelopeInvalid):
        await keeper.bases.create(" ")
    with pytest.raises(KnowledgeBaseNotFound):
        await keeper.bases.add_source("kb_never", "n", "x")
    with pytest.raises(SourceNotFound):
        await keeper.bases.remove_source(base.id, "src_never")

    assert (await keeper.bases.get(base.id)).revision == 0


async def test_an_empty_session_has_nothing_to_save(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")
    session = await keeper.create_session(agent="echo")

    with pytest.raises(EnvelopeInvalid):
        await keeper.bases.save_session(base.id, session.id)


async def test_fault_17_a_base_belongs_to_its_tenant(keeper: Turnkeeper) -> None:
    base = await keeper.bases.create("Handbook")
    theirs = await keeper.create_session(agent="echo", principal=ELSEWHERE)
    mine = await keeper.create_session(agent="echo")

    assert await keeper.bases.list(principal=ELSEWHERE) == []
    with pytest.raises(KnowledgeBaseNotFound):
        await keeper.bases.mount(theirs.id, base.id, principal=ELSEWHERE)
    with pytest.raises(SessionNotFound):
        await keeper.bases.mount(mine.id, base.id, principal=ELSEWHERE)
    with pytest.raises(NotAllowed):
        await keeper.bases.add_source(base.id, "one", "The ferry takes cars.", principal=VIEWER)


async def test_a_session_mounts_no_more_than_it_may(address: str) -> None:
    async with Turnkeeper.open(address, mounts=1) as keeper:
        first, second = await keeper.bases.create("One"), await keeper.bases.create("Two")
        session = await keeper.create_session(agent="echo")
        await keeper.bases.mount(session.id, first.id)

        with pytest.raises(EnvelopeInvalid):
            await keeper.bases.mount(session.id, second.id)

        assert [mount.id for mount in (await keeper.session(session.id)).mounts] == [first.id]
