"""What a store promises about knowledge bases: sources come and go, a mount sees what was there when it was made."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.contract.backends import Backend, contents
from tests.contract.builders import TENANT, USER, a_kept_session, a_unit, audit_of, clock, knowing, view_of
from turnkeeper.errors import KnowledgeBaseFull, KnowledgeBaseNotFound, RevisionMoved, SourceNotFound
from turnkeeper.model.ids import KnowledgeBaseId, SourceId, TenantId
from turnkeeper.model.knowledge_base import BaseLimits, KnowledgeBase, NewSource, Source, SourceKind
from turnkeeper.model.recall import SESSION_PLACE
from turnkeeper.model.session import Session
from turnkeeper.model.unit import PhaseScope, Relation
from turnkeeper.ports.store import Store
from turnkeeper.testing.clock import NOON

LIMITS = BaseLimits(sources=3, units=5)


async def a_base(store: Store, **changes: Any) -> KnowledgeBase:
    base = KnowledgeBase(
        tenant=TENANT,
        id=KnowledgeBaseId(clock.new_id("kb").replace("_", "")),
        name="Handbook",
        created_by=USER,
        created_at=NOON,
        updated_at=NOON,
    )
    base = replace(base, **changes)
    return await store.bases.create(base, audit_of("create_knowledge_base", base.tenant))


def a_source(*claims: str, name: str = "notes") -> NewSource:
    source = Source(
        id=SourceId(clock.new_id("src")),
        name=name,
        kind=SourceKind.TEXT,
        hash=" ".join(claims),
        content=" ".join(claims),
        added_at=NOON + timedelta(minutes=1),
        units=len(claims),
    )
    return NewSource(source=source, units=tuple(a_unit(claim, source_id=source.id) for claim in claims))


async def add(
    store: Store, base: KnowledgeBase, new: NewSource, expected: int | None = None
) -> tuple[KnowledgeBase, Source]:
    return await store.bases.add_source(
        base.tenant, base.id, new, expected_revision=expected, limits=LIMITS, audit=audit_of("add_source")
    )


async def remove(store: Store, base: KnowledgeBase, source: SourceId, expected: int | None = None) -> KnowledgeBase:
    return await store.bases.remove_source(
        base.tenant, base.id, source, expected_revision=expected, audit=audit_of("remove_source")
    )


async def found_in(store: Store, session: Session, base: KnowledgeBase, revision: int, word: str) -> list[str]:
    view = view_of(session, **{base.id: revision})
    found = await store.units.search(view, [word], scope=PhaseScope.KNOWLEDGE, limit=9)
    return sorted(each.unit.content for each in found)


async def test_a_base_is_listed_and_read_by_its_tenant_alone(store: Store) -> None:
    base = await a_base(store)
    later = await a_base(store, name="Menu")

    assert await store.bases.get(TENANT, base.id) == base
    assert await store.bases.list(TENANT, before=None, limit=9) == [later, base]
    assert await store.bases.list(TENANT, before=later.id, limit=9) == [base]
    assert await store.bases.list(TenantId("globex"), before=None, limit=9) == []
    with pytest.raises(KnowledgeBaseNotFound):
        await store.bases.get(TenantId("globex"), base.id)


async def test_a_source_is_kept_with_its_units(store: Store) -> None:
    base = await a_base(store)
    new = a_source("The harbour opens at six.", "The ferry takes cars.")

    grown, source = await add(store, base, new)

    assert (grown.revision, grown.sources, grown.units) == (1, 1, 2)
    assert await store.bases.get(TENANT, base.id) == grown
    assert source == new.source
    assert await store.bases.sources(TENANT, base.id) == [replace(source, content=None)]
    assert await store.bases.source(TENANT, base.id, source.id) == source
    units = await store.bases.units(TENANT, base.id, after=0, limit=9)
    assert tuple(unit for _, unit in units) == new.units
    assert await store.bases.units(TENANT, base.id, after=units[0][0], limit=9) == units[1:]


async def test_what_is_mounted_is_found_beside_what_the_session_knows(store: Store) -> None:
    session, base = await a_kept_session(store), await a_base(store)
    await add(store, base, a_source("The ferry takes cars."))
    await knowing(store, session, a_unit("We take the ferry on Monday."))

    view = view_of(session, **{base.id: 1})
    found = await store.units.search(view, ["ferry"], scope=PhaseScope.KNOWLEDGE, limit=9)

    assert {each.place: each.unit.claim for each in found} == {
        SESSION_PLACE: "We take the ferry on Monday.",
        base.id: "The ferry takes cars.",
    }
    unmounted = await store.units.search(view_of(session), ["ferry"], scope=PhaseScope.KNOWLEDGE, limit=9)
    assert [each.place for each in unmounted] == [SESSION_PLACE]


async def test_a_mount_sees_the_base_as_it_was_when_it_was_mounted(store: Store) -> None:
    session, base = await a_kept_session(store), await a_base(store)
    _, first = await add(store, base, a_source("The ferry takes cars.", name="one"))
    await add(store, base, a_source("The ferry takes dogs.", name="two"))
    await remove(store, base, first.id)

    assert await found_in(store, session, base, 0, "ferry") == []
    assert await found_in(store, session, base, 1, "ferry") == ["The ferry takes cars."]
    assert await found_in(store, session, base, 2, "ferry") == ["The ferry takes cars.", "The ferry takes dogs."]
    assert await found_in(store, session, base, 3, "ferry") == ["The ferry takes dogs."]


async def test_guidance_and_triples_of_a_base_are_seen_through_its_mount(store: Store) -> None:
    session, base = await a_kept_session(store), await a_base(store)
    new = a_source("Be polite.", "The ferry uses diesel.")
    polite, ferry = new.units
    units = (
        replace(polite, phase_scopes=(PhaseScope.SOLVE,)),
        a_unit(ferry.content, source_id=ferry.source_id, subject="ferry", relation=Relation.USES, object="diesel"),
    )
    await add(store, base, replace(new, units=units))
    view = view_of(session, **{base.id: 1})

    guidance = await store.units.guidance(view, PhaseScope.SOLVE, limit=5)
    about = await store.units.about(view, ["diesel"], limit=5)

    assert [each.unit.claim for each in guidance] == ["Be polite."]
    assert [each.unit.claim for each in about] == ["The ferry uses diesel."]
    assert await store.units.guidance(view_of(session), PhaseScope.SOLVE, limit=5) == []


async def test_a_source_of_the_same_name_gives_way(store: Store) -> None:
    session, base = await a_kept_session(store), await a_base(store)
    await add(store, base, a_source("The ferry leaves at six.", "The ferry takes cars."))

    grown, _ = await add(store, base, a_source("The ferry leaves at seven."))

    assert (grown.revision, grown.sources, grown.units) == (2, 1, 1)
    assert await found_in(store, session, base, 2, "ferry") == ["The ferry leaves at seven."]
    assert len(await found_in(store, session, base, 1, "ferry")) == 2


async def test_the_same_source_again_changes_nothing(store: Store) -> None:
    base = await a_base(store)
    first, kept = await add(store, base, a_source("The ferry takes cars."))

    again, source = await add(store, base, a_source("The ferry takes cars."))

    assert (again, source) == (first, kept)
    assert len(await store.bases.units(TENANT, base.id, after=0, limit=9)) == 1


async def test_what_two_sources_state_is_kept_for_both_and_found_once(store: Store) -> None:
    session, base = await a_kept_session(store), await a_base(store)
    await add(store, base, a_source("The ferry takes cars.", name="one"))

    grown, source = await add(store, base, a_source("The ferry takes cars.", "The ferry takes dogs.", name="two"))

    assert (grown.units, source.units) == (3, 2)
    assert len(await store.bases.units(TENANT, base.id, after=0, limit=9)) == 3
    assert await found_in(store, session, base, 2, "ferry") == ["The ferry takes cars.", "The ferry takes dogs."]


async def test_a_fact_stays_while_one_source_still_states_it(store: Store) -> None:
    session, base = await a_kept_session(store), await a_base(store)
    _, first = await add(store, base, a_source("The ferry takes cars.", name="one"))
    await add(store, base, a_source("The ferry takes cars.", name="two"))

    left = await remove(store, base, first.id)

    assert (left.sources, left.units) == (1, 1)
    assert await found_in(store, session, base, 3, "ferry") == ["The ferry takes cars."]
    await add(store, base, a_source("The harbour is closed.", name="two"))
    assert await found_in(store, session, base, 4, "ferry") == []
    assert await found_in(store, session, base, 3, "ferry") == ["The ferry takes cars."]


async def test_guidance_and_triples_that_two_sources_state_are_told_once(store: Store) -> None:
    session, base = await a_kept_session(store), await a_base(store)
    for name in ("one", "two"):
        new = a_source("Be polite.", "The ferry uses diesel.", name=name)
        units = (
            a_unit("Be polite.", source_id=new.source.id, phase_scopes=(PhaseScope.SOLVE,)),
            a_unit(
                "The ferry uses diesel.",
                source_id=new.source.id,
                subject="ferry",
                relation=Relation.USES,
                object="diesel",
            ),
        )
        await add(store, base, replace(new, units=units))
    view = view_of(session, **{base.id: 2})

    guidance = await store.units.guidance(view, PhaseScope.SOLVE, limit=5)
    about = await store.units.about(view, ["ferry", "diesel"], limit=5)

    assert [each.unit.claim for each in guidance] == ["Be polite."]
    assert [each.unit.claim for each in about] == ["The ferry uses diesel."]


async def test_a_source_is_read_with_its_content_by_its_tenant_alone(store: Store) -> None:
    base = await a_base(store)
    _, source = await add(store, base, a_source("The ferry takes cars."))

    assert (await store.bases.source(TENANT, base.id, source.id)).content == "The ferry takes cars."
    with pytest.raises(SourceNotFound):
        await store.bases.source(TenantId("globex"), base.id, source.id)
    await remove(store, base, source.id)
    with pytest.raises(SourceNotFound):
        await store.bases.source(TENANT, base.id, source.id)


async def test_a_base_that_has_moved_is_not_changed(store: Store, backend: Backend) -> None:
    base = await a_base(store)
    _, source = await add(store, base, a_source("The ferry takes cars."), expected=0)
    before = await contents(backend)

    with pytest.raises(RevisionMoved):
        await add(store, base, a_source("The ferry takes dogs."), expected=0)
    with pytest.raises(RevisionMoved):
        await remove(store, base, source.id, expected=0)

    assert await contents(backend) == before


async def test_a_full_base_takes_nothing_more_and_stays_as_it_was(store: Store, backend: Backend) -> None:
    base = await a_base(store)
    for name in ("one", "two", "three"):
        await add(store, base, a_source(f"Fact {name}.", name=name))
    before = await contents(backend)

    with pytest.raises(KnowledgeBaseFull):
        await add(store, base, a_source("Fact four.", name="four"))
    with pytest.raises(KnowledgeBaseFull):
        await add(store, base, a_source(*(f"Fact {number}." for number in range(9)), name="one"))

    assert await contents(backend) == before


async def test_a_source_that_is_not_there_cannot_be_removed(store: Store, backend: Backend) -> None:
    base = await a_base(store)
    before = await contents(backend)

    with pytest.raises(SourceNotFound):
        await remove(store, base, SourceId("src_unknown"))
    with pytest.raises(KnowledgeBaseNotFound):
        await add(store, replace(base, id=KnowledgeBaseId("kb_unknown")), a_source("Fact."))

    assert await contents(backend) == before


async def test_a_fork_begins_with_what_its_parent_has_and_goes_its_own_way(store: Store) -> None:
    session, parent = await a_kept_session(store), await a_base(store)
    parent, gone = await add(store, parent, a_source("The ferry takes cars.", name="one"))
    parent, _ = await add(store, parent, a_source("The ferry takes dogs.", name="two"))
    parent = await remove(store, parent, gone.id)

    fork = await a_base(store, parent_id=parent.id, revision=1)
    await add(store, fork, a_source("The ferry takes cats.", name="three"))

    assert await found_in(store, session, fork, 1, "ferry") == ["The ferry takes dogs."]
    assert await found_in(store, session, fork, 2, "ferry") == ["The ferry takes cats.", "The ferry takes dogs."]
    assert await found_in(store, session, parent, 9, "ferry") == ["The ferry takes dogs."]


async def test_a_fork_counts_what_it_holds_and_not_what_somebody_saw_before(store: Store) -> None:
    seen = await a_base(store)
    await add(store, seen, a_source("The ferry takes cars.", "The ferry takes dogs."))

    fork = await a_base(store, parent_id=seen.id, revision=1, sources=seen.sources, units=seen.units)

    assert (fork.sources, fork.units) == (1, 2)
    assert await store.bases.get(TENANT, fork.id) == fork
    (copied,) = await store.bases.sources(TENANT, fork.id)
    assert (await store.bases.source(TENANT, fork.id, copied.id)).content is not None
    assert len(await store.bases.units(TENANT, fork.id, after=0, limit=9)) == 2


async def test_a_base_is_not_forked_from_one_of_another_tenant(store: Store, backend: Backend) -> None:
    theirs = await a_base(store, tenant=TenantId("globex"))
    before = await contents(backend)

    with pytest.raises(KnowledgeBaseNotFound):
        await a_base(store, parent_id=theirs.id)

    assert await contents(backend) == before


async def test_revisions_are_told_of_the_bases_that_are_there(store: Store) -> None:
    base, other = await a_base(store), await a_base(store)
    await add(store, base, a_source("The ferry takes cars."))

    asked = [base.id, other.id, KnowledgeBaseId("kb_unknown")]

    assert await store.bases.revisions(TENANT, asked) == {base.id: 1, other.id: 0}
    assert await store.bases.revisions(TenantId("globex"), asked) == {}
