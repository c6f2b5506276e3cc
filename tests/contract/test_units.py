"""What a store promises about units: kept with their turn, found by their words, and seen by nobody else."""

import contextlib
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.contract.backends import Backend, SqliteBackend, contents
from tests.contract.builders import (
    OTHER_NODE,
    TENANT,
    a_kept_session,
    a_unit,
    claim,
    end_as,
    explanation_of,
    held,
    knowing,
    load,
    reset,
    turn_answering,
    view_of,
)
from turnkeeper.errors import LeaseLost, SessionMoved, UnitNotFound
from turnkeeper.knowledge.carried import CarriedUnits
from turnkeeper.model.ids import RunId, SessionId, TenantId, UnitId
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Session
from turnkeeper.model.unit import Lifetime, PhaseScope, Relation, Unit, UnitChanges, UnitRole, UnitStatus
from turnkeeper.ports.store import Store

PORT = a_unit("The port is 80.", slot="port")
COFFEE = a_unit("The kitchen has a coffee machine.", topic="kitchen")


async def search(
    store: Store,
    session: Session,
    *words: str,
    scope: PhaseScope = PhaseScope.KNOWLEDGE,
    epoch: int = 1,
    limit: int = 9,
) -> list[str]:
    found = await store.units.search(view_of(session, epoch), words, scope=scope, limit=limit)
    return said(found)


def said(found: Iterable[FoundUnit]) -> list[str]:
    return [each.unit.content for each in found]


def carried(*units: Unit) -> CarriedUnits:
    return CarriedUnits(units)


async def test_a_unit_comes_back_as_it_was_kept(store: Store) -> None:
    session = await a_kept_session(store)
    unit = a_unit(
        "The billing worker depends on the ledger.",
        topic="billing worker",
        subject="billing worker",
        relation=Relation.DEPENDS_ON,
        object="ledger",
        confidence=0.9,
        phase_scopes=(PhaseScope.KNOWLEDGE, PhaseScope.SOLVE),
        acts=(),
        lifetime=Lifetime.SESSION,
        parent_ids=(UnitId("a"), UnitId("b")),
        char_start=3,
    )

    run = await knowing(store, session, unit)

    kept = await store.units.get(TENANT, session.id, unit.id)
    assert kept.unit == unit
    assert (kept.status, kept.turn, kept.epoch, kept.run_id) == (UnitStatus.COMMITTED, 1, 1, run.id)


async def test_a_unit_is_found_by_its_words_in_any_of_their_forms(store: Store) -> None:
    session = await a_kept_session(store)
    await knowing(store, session, PORT, COFFEE)

    assert await search(store, session, "ports") == [PORT.claim]
    assert await search(store, session, "machines", "kitchens") == [COFFEE.claim]
    assert await search(store, session, "elephant") == []


async def test_what_matches_in_its_topic_comes_first(store: Store) -> None:
    session = await a_kept_session(store)
    beside = a_unit("Whoever asks about lunch hears of the garden.", topic="weather")
    about = a_unit("Whoever asks about rain hears of the weather.", topic="garden")
    await knowing(store, session, beside, about)

    assert (await search(store, session, "garden"))[0] == about.claim


async def test_no_more_units_are_found_than_were_asked_for(store: Store) -> None:
    session = await a_kept_session(store)
    await knowing(store, session, *(a_unit(f"The port {number} is open.") for number in range(7)))

    assert len(await search(store, session, "port", limit=3)) == 3


@pytest.mark.parametrize("words", [['port"'], ["port*"], ["(port"], ["NEAR", "port"], ["-port", "'"], ["OR", "port"]])
async def test_words_that_look_like_operators_are_only_words(store: Store, words: list[str]) -> None:
    session = await a_kept_session(store)
    near = a_unit("Near or not.", topic="place")
    await knowing(store, session, PORT, near)

    assert PORT.claim in await search(store, session, *words)
    assert await search(store, session, "NEAR") == [near.claim]
    assert await search(store, session, "%", "_", "a:b", "") == []


@pytest.mark.parametrize(
    ("claim", "asked"),
    [
        ("The Hauptstraße is closed.", "hauptstraße"),
        ("The Hauptstraße is closed.", "HAUPTSTRASSE"),
        ("The \uff21\uff22\uff23 bank is open.", "ABC"),
        ("The \ufb01le is lost.", "file"),
        ("The café opens at six.", "cafe"),
        ("The cafe opens at six.", "cafe\u0301"),
        ("The config is in /etc/nginx/nginx.conf now.", "nginx"),
        ("Mail goes to help@example.org always.", "example"),
        ("The site is docs.example.org today.", "docs"),
        ("See http://a.example.org/path/x.html there.", "path"),
        ("Will owns the ledger.", "Will"),
        ("The Who is a band.", "who"),
        ("The temperature is -5 degrees.", "5"),
        ("The host is db-01.", "01"),
        ("The host is db-01.", "db-01"),
        ("The key is default_agent.", "agent"),
        ("The server's door is open.", "server"),
        ("The server\u2019s door is open.", "servers"),
        ("The door of the server is open.", "server's"),
        ("The rule is 10,000 items.", "10,000"),
        ("日本 is far.", "日本"),
        ("We like \U0001f680 very much.", "\U0001f680"),
        ("It was deployed yesterday.", "deploying"),
        ("The word is " + "x" * 5000 + ".", "x" * 5000),
    ],
)
async def test_a_unit_is_found_however_its_words_are_written(store: Store, claim: str, asked: str) -> None:
    session = await a_kept_session(store)
    unit = a_unit(claim, topic="zebra")
    await knowing(store, session, unit, a_unit("The lamp is green.", topic="lamp"))

    found = await search(store, session, asked)

    assert found == [claim]
    assert said(await carried(unit).search(view_of(session), [asked], scope=PhaseScope.KNOWLEDGE, limit=9)) == found


async def test_both_stores_and_what_a_client_carries_are_ranked_alike(store: Store) -> None:
    session = await a_kept_session(store)
    in_more = a_unit("It is far away.", topic="coast", note="The harbour has a ferry.")
    in_content = a_unit("The harbour has a ferry.", topic="coast")
    older, newer = a_unit("A ferry is slow.", topic="speed"), a_unit("A ferry is safe.", topic="speed")
    in_topic = a_unit("It is old.", topic="ferry")
    of_both = a_unit("The ferry takes the harbour in.", topic="harbour")
    units = (in_topic, older, in_more, of_both, newer, in_content)
    await knowing(store, session, *units)

    found = await search(store, session, "harbours", "ferries", "elephants")

    best_first = (of_both, in_content, in_topic, in_more, newer, older)
    assert found == [unit.claim for unit in best_first]
    beside = await carried(*units).search(
        view_of(session), ["harbours", "ferries", "elephants"], scope=PhaseScope.KNOWLEDGE, limit=9
    )
    assert said(beside) == found


async def test_what_others_know_changes_nothing_in_a_search(store: Store) -> None:
    mine, yours = await a_kept_session(store), await a_kept_session(store, tenant=TenantId("globex"))
    await knowing(store, mine, PORT, COFFEE)
    asked = ("port", "machine", "kitchen")
    before = await store.units.search(view_of(mine), asked, scope=PhaseScope.KNOWLEDGE, limit=9)

    await knowing(store, yours, *(a_unit(f"The port {number} has a machine.") for number in range(50)))

    after = await store.units.search(view_of(mine), asked, scope=PhaseScope.KNOWLEDGE, limit=9)
    assert list(after) == list(before)


async def test_long_names_and_very_many_words_are_kept_and_found(store: Store) -> None:
    session = await a_kept_session(store)
    name = "".join(f"{number:04x}" for number in range(3000))
    told = a_unit("It uses a lamp.", subject=name, relation=Relation.USES, object=name + "z", slot=name + "y")
    words = a_unit(" ".join(f"w{number:05d}" for number in range(200_000)), topic="words")
    await knowing(store, session, told, words)

    known = await store.units.known(view_of(session), hashes=[], slots=[name + "y"], ids=[], oldest=1)

    assert known.same == [told]
    for key in (name, name + "z"):
        assert said(await store.units.about(view_of(session), [key], limit=5)) == [told.claim]
    assert await store.units.about(view_of(session), [name + "x"], limit=5) == []
    assert await search(store, session, "w00001") == [words.claim]


async def test_units_of_one_scope_are_not_found_for_another(store: Store) -> None:
    session = await a_kept_session(store)
    guidance = a_unit("Answer about the port in JSON.", phase_scopes=(PhaseScope.SOLVE,))
    await knowing(store, session, PORT, guidance)

    assert await search(store, session, "port") == [PORT.claim]
    assert await search(store, session, "port", scope=PhaseScope.SOLVE) == [guidance.claim]


async def test_guidance_is_given_newest_first_and_only_for_its_phase(store: Store) -> None:
    session = await a_kept_session(store)
    await knowing(store, session, PORT, a_unit("Answer in JSON.", phase_scopes=(PhaseScope.SOLVE,)))
    await knowing(store, session, a_unit("Be brief.", phase_scopes=(PhaseScope.SOLVE, PhaseScope.KNOWLEDGE)))

    guidance = await store.units.guidance(view_of(session), PhaseScope.SOLVE, limit=5)

    assert said(guidance) == ["Be brief.", "Answer in JSON."]
    assert await store.units.guidance(view_of(session), PhaseScope.PLAN, limit=5) == []


async def test_two_sessions_never_see_each_others_units(store: Store) -> None:
    mine, yours = await a_kept_session(store), await a_kept_session(store)
    await knowing(store, mine, PORT)

    assert await search(store, yours, "port") == []
    assert await store.units.newest(view_of(yours), limit=5) == []
    assert await store.units.about(view_of(yours), ["port"], limit=5) == []
    with pytest.raises(UnitNotFound):
        await store.units.get(TENANT, yours.id, PORT.id)


async def test_two_tenants_never_see_each_others_units(store: Store) -> None:
    mine = await a_kept_session(store)
    yours = await a_kept_session(store, tenant=TenantId("globex"), id=mine.id)
    await knowing(store, mine, PORT)

    assert await search(store, yours, "port") == []
    with pytest.raises(UnitNotFound):
        await store.units.get(yours.tenant, yours.id, PORT.id)


async def test_a_reset_puts_units_out_of_reach_and_leaves_them_readable(store: Store) -> None:
    session = await a_kept_session(store)
    await knowing(store, session, PORT, a_unit("Be brief.", phase_scopes=(PhaseScope.SOLVE,)))
    run, lease = await held(store, "Again", session)
    await reset(store, session, lease, revision=1)
    await store.runs.end(lease, end_as(run, RunStatus.COMPLETED))

    assert await search(store, session, "port", epoch=2) == []
    assert await store.units.guidance(view_of(session, 2), PhaseScope.SOLVE, limit=5) == []
    assert await store.units.newest(view_of(session, 2), limit=5) == []
    assert (await store.units.get(TENANT, session.id, PORT.id)).unit == PORT


async def test_a_superseded_unit_is_out_of_reach_and_says_what_took_its_place(store: Store) -> None:
    session = await a_kept_session(store)
    newer = a_unit("The port is 81.", slot="port", supersedes=PORT.id)
    await knowing(store, session, PORT)

    await knowing(store, session, newer, superseded=((PORT.id, newer.id),))

    assert await search(store, session, "port") == [newer.claim]
    old = await store.units.get(TENANT, session.id, PORT.id)
    assert (old.status, old.superseded_by, old.unit) == (UnitStatus.SUPERSEDED, newer.id, PORT)


async def test_a_unit_that_was_pushed_out_is_out_of_reach_and_still_readable(store: Store) -> None:
    session = await a_kept_session(store)
    await knowing(store, session, PORT)

    await knowing(store, session, COFFEE, pushed_out=(PORT.id,))

    assert await search(store, session, "port") == []
    kept = await store.units.get(TENANT, session.id, PORT.id)
    assert (kept.status, kept.unit) == (UnitStatus.PUSHED_OUT, PORT)


async def test_nothing_of_a_forgotten_unit_is_left_but_that_there_was_one(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    secret = a_unit("The password is xyzzy.", subject="password", relation=Relation.ABOUT, object="xyzzy", slot="xyzzy")
    await knowing(store, session, secret)

    await knowing(store, session, forgotten=(secret.id,))

    kept = await store.units.get(TENANT, session.id, secret.id)
    assert (kept.status, kept.unit) == (UnitStatus.FORGOTTEN, None)
    assert await search(store, session, "password") == []
    assert "xyzzy" not in repr(await contents(backend))


async def test_no_word_of_a_forgotten_unit_is_left_in_a_file_of_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    store = SqliteBackend(path).store()
    await store.database.open()
    session = await a_kept_session(store)
    long = " ".join(f"xylophone{number}" for number in range(2000))
    secrets = [a_unit("The password is xylophone.", topic="xylophone", slot="xylophone"), a_unit(long)]
    others = [a_unit(f"The port {number} is open.") for number in range(40)]
    await knowing(store, session, *others[:20], *secrets, *others[20:])

    await knowing(store, session, forgotten=tuple(secret.id for secret in secrets))
    await store.database.close()

    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"xylophone" not in path.read_bytes()


async def test_units_of_a_triple_are_found_by_either_name(store: Store) -> None:
    session = await a_kept_session(store)
    wheel = a_unit("The wheel is part of the car.", subject="The Wheel", relation=Relation.PART_OF, object="car")
    await knowing(store, session, wheel, PORT)

    assert said(await store.units.about(view_of(session), ["wheel"], limit=5)) == [wheel.claim]
    assert said(await store.units.about(view_of(session), ["car", "port"], limit=5)) == [wheel.claim]


async def test_the_newest_units_come_newest_first(store: Store) -> None:
    session = await a_kept_session(store)
    await knowing(store, session, PORT)
    await knowing(store, session, COFFEE)

    assert await store.units.newest(view_of(session), limit=5) == [COFFEE, PORT]
    assert await store.units.newest(view_of(session), limit=1) == [COFFEE]


async def test_what_is_known_is_told_by_hash_slot_and_id(store: Store) -> None:
    session = await a_kept_session(store)
    other = a_unit("The lamp is green.", topic="lamp")
    await knowing(store, session, PORT, COFFEE, other)
    assert COFFEE.hash is not None

    known = await store.units.known(
        view_of(session), hashes=[COFFEE.hash, "unknown"], slots=["port"], ids=[other.id], oldest=2
    )

    assert known.same == [PORT, COFFEE, other]
    assert (known.count, known.oldest) == (3, [PORT.id, COFFEE.id])


async def test_units_are_listed_in_their_order_page_by_page(store: Store) -> None:
    session = await a_kept_session(store)
    units = [a_unit(f"Fact {number}.") for number in range(5)]
    await knowing(store, session, *units[:3])
    await knowing(store, session, *units[3:])

    first = await store.units.list(TENANT, session.id, epoch=1, after=0, limit=3)
    rest = await store.units.list(TENANT, session.id, epoch=1, after=first[-1][0], limit=3)

    assert [kept.unit for _, kept in (*first, *rest)] == units
    assert await store.units.list(TENANT, session.id, epoch=2, after=0, limit=3) == []


async def test_a_commit_that_lost_its_lease_keeps_no_unit(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session, lease_seconds=-1.0)
    await claim(store, session, node=OTHER_NODE)
    before = await contents(backend)
    turn = replace(turn_answering(run, await load(store, session), "Noted"), units=UnitChanges(added=(PORT,)))

    with pytest.raises(LeaseLost):
        await store.runs.commit(
            turn, lease, session_id=session.id, expected_revision=0, explanation=explanation_of(run)
        )

    assert await contents(backend) == before


async def test_a_turn_on_an_older_revision_keeps_no_unit(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "First", session)
    before = await contents(backend)
    turn = replace(turn_answering(run, await load(store, session), "Noted"), units=UnitChanges(added=(PORT,)))

    with pytest.raises(SessionMoved):
        await store.runs.commit(
            turn, lease, session_id=session.id, expected_revision=7, explanation=explanation_of(run)
        )

    assert await contents(backend) == before


async def test_a_command_changes_units_and_ends_its_run_in_one_write(store: Store) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Import", session)

    done = await store.runs.change_units(
        lease, UnitChanges(added=(PORT,)), end_as(run, RunStatus.COMPLETED), session=session
    )

    loaded = await load(store, session)
    assert (done.revision, loaded.session.revision, loaded.session.turns) == (1, 1, 0)
    assert await search(store, session, "port") == [PORT.claim]
    assert (await store.runs.get(TENANT, run.id)).status is RunStatus.COMPLETED


async def test_a_command_on_an_older_revision_changes_nothing(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Import", session)
    before = await contents(backend)

    with pytest.raises(SessionMoved):
        await store.runs.change_units(
            lease, UnitChanges(added=(PORT,)), end_as(run, RunStatus.COMPLETED), session=replace(session, revision=5)
        )

    assert await contents(backend) == before


async def test_a_command_that_lost_its_lease_changes_nothing(store: Store, backend: Backend) -> None:
    session = await a_kept_session(store)
    run, lease = await held(store, "Import", session, lease_seconds=-1.0)
    await claim(store, session, node=OTHER_NODE)
    before = await contents(backend)

    with pytest.raises(LeaseLost):
        await store.runs.change_units(
            lease, UnitChanges(added=(PORT,)), end_as(run, RunStatus.COMPLETED), session=session
        )

    assert await contents(backend) == before


async def test_preferences_are_kept_with_the_turn_and_gone_after_a_reset(store: Store) -> None:
    session = await a_kept_session(store, preferences=Preferences(level=1))
    assert (await load(store, session)).session.preferences == Preferences(level=1)
    run, lease = await held(store, "First", session)
    wanted = Preferences(model="small", plugins={"gs-plugin": "gs-symbolic"}, level=2)
    turn = replace(turn_answering(run, await load(store, session), "Noted"), preferences=wanted)
    await store.runs.commit(turn, lease, session_id=session.id, expected_revision=0, explanation=explanation_of(run))

    assert (await load(store, session)).session.preferences == wanted

    run, lease = await held(store, "Again", session)
    await reset(store, session, lease, revision=1)
    assert (await load(store, session)).session.preferences == Preferences()


async def test_a_turn_that_prefers_nothing_new_leaves_the_preferences_alone(store: Store) -> None:
    session = await a_kept_session(store, preferences=Preferences(model="small"))

    await knowing(store, session, PORT)

    assert (await load(store, session)).session.preferences == Preferences(model="small")


async def test_a_unit_that_nobody_kept_is_not_found(store: Store) -> None:
    session = await a_kept_session(store)

    with pytest.raises(UnitNotFound):
        await store.units.get(TENANT, session.id, UnitId("session::t0001::unit-000"))
    with pytest.raises(UnitNotFound):
        await store.units.get(TENANT, SessionId("sess_nobody"), PORT.id)


async def test_roles_and_runs_of_units_survive(store: Store) -> None:
    session = await a_kept_session(store)
    told = a_unit("It is done like this.", topic="restart")
    steps = replace(told, role=UnitRole.PROCEDURE, claim=None, procedure="1. Stop it.\n2. Start it.")

    run = await knowing(store, session, steps)

    kept = await store.units.get(TENANT, session.id, steps.id)
    assert kept.unit == steps
    assert kept.run_id == RunId(run.id)
    assert await search(store, session, "restart") == ["1. Stop it.\n2. Start it."]


async def test_what_stands_for_a_word_in_sqlite_belongs_to_one_place_and_goes_with_its_unit(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path / "conversations.db")
    store = backend.store()
    await store.database.open()
    mine, yours = await a_kept_session(store), await a_kept_session(store)
    await knowing(store, mine, PORT)
    await knowing(store, yours, a_unit(PORT.content, slot="port"))

    indexed = await backend.execute("SELECT place, topic || ' ' || said FROM unit_search")
    newer = a_unit("The port is 81.", slot="port")
    await knowing(store, mine, newer, superseded=((PORT.id, newer.id),))
    await knowing(store, mine, forgotten=(newer.id,))
    left = await backend.execute("SELECT place FROM unit_search")
    await store.database.close()

    (_, first), (_, second) = indexed
    assert len(first.split()) == len(second.split()) > 2
    assert set(first.split()).isdisjoint(second.split())
    assert left == [(yours.id,)]
