"""Exporting, erasing, archiving, and keeping no longer than the class of the data allows."""

import asyncio
import io
import json
import threading
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.contract.backends import TABLES, contents
from tests.story.custodians import backend_of
from tests.story.envelopes import HELPDESK, an_envelope
from turnkeeper import AgentTurn, Principal, Role, Settings, Turnkeeper
from turnkeeper.errors import (
    HistoryErased,
    LastOwner,
    NotAllowed,
    ReceiptNotFound,
    RunNotFound,
    SessionNotFound,
    TurnkeeperError,
    UserNotFound,
)
from turnkeeper.model.band import BANDS
from turnkeeper.model.binding import BindingTerms, Strangers
from turnkeeper.model.ids import AgentId, UnitId, UserId
from turnkeeper.model.pack import Classification
from turnkeeper.model.policy import Policy
from turnkeeper.model.principal import LOCAL
from turnkeeper.model.receipt import BY_THE_HOUSE, ErasureReason
from turnkeeper.model.session import SettingsChange
from turnkeeper.model.thread import ThreadHead, ThreadName
from turnkeeper.model.unit import Unit, UnitRole
from turnkeeper.testing.clock import SteppedClock

MARKER = "quetzalcoatl"
DAY = 86_400.0


def as_user(user: str, role: Role = Role.MEMBER) -> Principal:
    return Principal(tenant=LOCAL.tenant, user=UserId(user), role=role)


def a_note(text: str) -> Unit:
    return Unit(
        id=UnitId("staged::unit-000"),
        source_id="session",
        chunk_id="session::staged",
        role=UnitRole.DESCRIPTION,
        topic="note",
        claim=f"The note is {text}.",
        slot="note",
    )


def register(keeper: Turnkeeper) -> None:
    @keeper.agent("author")
    async def author(turn: AgentTurn) -> str:
        turn.remember(a_note(turn.text))
        turn.state["heard"] = turn.text
        text = await turn.substrate.emit(f"written about {turn.text}".encode(), path=f"{MARKER}.txt")
        await turn.substrate.publish({f"{MARKER}.txt": text}, message=turn.text)
        return f"I wrote about {turn.text}."

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"heard {state['messages'][-1].text}")]}

    keeper.add_graph("graph", StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer"))


async def talked(keeper: Turnkeeper) -> str:
    """A session in which the marker was said, remembered, attached, published, laid out and told to a graph."""
    register(keeper)
    await keeper.packs.push(HELPDESK)
    attached = await keeper.artifacts.keep(f"attached {MARKER}".encode(), name=f"{MARKER}.txt")
    named = {
        "artifact_id": attached.id,
        "media_type": "text/plain",
        "sha256": attached.sha256,
        "uri": f"artifact:{attached.id}",
    }
    envelope = an_envelope(agent__agent_id="author", input__message=MARKER, attachments=[named])
    reply = await keeper.reply_to(await keeper.invoke(envelope))
    await keeper.chat(f"tell the graph of {MARKER}", session_id=reply.session_id, agent="graph")
    await keeper.change_session(reply.session_id, SettingsChange(title=MARKER))
    await keeper.scoping.save_layout(reply.session_id, {"tab": MARKER})
    return reply.session_id


async def read(pieces: AsyncIterator[bytes]) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(b"".join([piece async for piece in pieces])))


def lines_of(archive: zipfile.ZipFile, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in archive.read(path).splitlines()]


async def places_of(word: str, address: str, folder: Path) -> list[str]:
    """Where a word is found: in any file beside the database, or in any column of any table of the server."""
    if not address.startswith("postgres"):
        return [str(path) for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
    connection = await asyncpg.connect(address)
    try:
        tables = await connection.fetch(
            "SELECT table_schema AS s, table_name AS t FROM information_schema.tables "
            "WHERE table_schema IN ('public', 'turnkeeper_graphs') AND table_type = 'BASE TABLE'"
        )
        found = []
        for each in tables:
            table = f'"{each["s"]}"."{each["t"]}"'
            rows = await connection.fetch(f"SELECT x::text AS row FROM {table} x")
            # Bytes are shown in hexadecimal.
            found += [table for row in rows if word in row["row"] or word.encode().hex() in row["row"]]
        return found
    finally:
        await connection.close()


@pytest.fixture
async def archivist(settings: Settings, tmp_path: Path) -> AsyncIterator[Turnkeeper]:
    """A keeper whose content lies in files."""
    async with Turnkeeper.open(settings=replace(settings, artifact_files=str(tmp_path / "content"))) as opened:
        yield opened


async def test_an_export_holds_what_the_api_tells_and_hashes_to_its_index(keeper: Turnkeeper) -> None:
    session_id = await talked(keeper)

    archive = await read(keeper.export_session(session_id))

    index = json.loads(archive.read("index.json"))
    assert {each["path"] for each in index["members"]} | {"index.json"} == set(archive.namelist())
    assert all(sha256(archive.read(each["path"])).hexdigest() == each["sha256"] for each in index["members"])
    assert [(each["seq"], each["content"]) for each in lines_of(archive, "messages.ndjson")] == [
        (message.seq, message.content) for message in await keeper.messages(session_id)
    ]
    assert {each["id"] for each in lines_of(archive, "runs.ndjson")} == {
        run.id for run in await keeper.runs(session_id)
    }
    assert [each["id"] for each in lines_of(archive, "units.ndjson")] == [
        unit.id for _, unit in await keeper.units.list(session_id)
    ]
    session = json.loads(archive.read("session.json"))
    assert (session["title"], session["created_at"][-1]) == (MARKER, "Z")
    assert json.loads(archive.read("layout.json")) == {"tab": MARKER}
    assert MARKER in archive.read("graph.json").decode()
    contents = [archive.read(path) for path in archive.namelist() if path.startswith("artifacts/")]
    assert sorted(contents) == [f"attached {MARKER}".encode(), f"written about {MARKER}".encode()]


async def test_the_archive_of_a_fork_holds_what_it_shares_and_that_of_a_user_holds_its_sessions(
    keeper: Turnkeeper,
) -> None:
    ben = as_user("ben")
    first = await keeper.chat("one", principal=ben)
    fork = await keeper.fork_session(first.session_id, principal=ben)
    await keeper.users.create("ben", role="member", name="Ben")
    await keeper.artifacts.keep(b"kept by Ben", principal=ben)
    others = await keeper.artifacts.keep(b"not of Ben", principal=as_user("eve"))
    await keeper.packs.push(HELPDESK)
    named = {"artifact_id": others.id, "media_type": "text/plain", "sha256": others.sha256, "uri": "elsewhere:1"}
    await keeper.chat("two", session_id=fork.id, principal=ben)
    attaching = an_envelope(agent__agent_id="echo", attachments=[named], user__user_id="ben")
    granted = replace(ben, grants=frozenset({"orders.read", "orders.return"}))
    await keeper.reply_to(await keeper.invoke(attaching, principal=granted))

    archive = await read(keeper.export_user("ben", principal=ben))

    said = [each["content"] for each in lines_of(archive, f"sessions/{fork.id}/messages.ndjson")]
    assert said == [message.content for message in await keeper.messages(fork.id)]
    assert said[0] == "one"
    assert f"sessions/{first.session_id}/session.json" in archive.namelist()
    assert json.loads(archive.read("user.json"))["profile"]["name"] == "Ben"
    assert [archive.read(path) for path in archive.namelist() if "artifacts/" in path] == [b"kept by Ben"]
    with pytest.raises(UserNotFound):
        await read(keeper.export_user("ben", principal=as_user("eve")))
    assert (await read(keeper.export_user("ben", principal=as_user("ben", Role.VIEWER)))).testzip() is None


async def test_what_was_erased_is_nowhere(archivist: Turnkeeper, address: str, tmp_path: Path) -> None:
    session_id = await talked(archivist)
    assert await places_of(MARKER, address, tmp_path)

    receipt = await archivist.erase_session(session_id)

    assert await places_of(MARKER, address, tmp_path) == []
    told = receipt.erased
    assert (told.reason, told.sessions, told.files, told.threads) == (ErasureReason.ASKED, (session_id,), 2, 1)
    assert told.rows["messages"] == 4
    assert {"sessions", "runs", "feed", "turns", "units", "outputs", "layouts", "manifests", "blobs"} <= set(told.rows)
    assert await archivist.erasure.receipt(receipt.id) == receipt
    with pytest.raises(SessionNotFound):
        await archivist.session(session_id)
    assert (await archivist.verify_audit()).holds


async def rows_about(keeper: Turnkeeper, address: str, word: str) -> set[str]:
    """The tables in which an id still stands."""
    if address.startswith("postgres"):
        connection = await asyncpg.connect(address)
        try:
            return {
                table for table in TABLES if any(word in str(row) for row in await connection.fetch(f"TABLE {table}"))
            }
        finally:
            await connection.close()
    database: Any = keeper._store.database
    return {
        table for table in TABLES if any(word in str(tuple(row)) for row in database.read(f"SELECT * FROM {table}", {}))
    }


async def test_a_run_that_goes_on_while_its_session_is_erased_brings_nothing_back(
    settings: Settings, address: str
) -> None:
    began, erased = threading.Event(), threading.Event()
    async with Turnkeeper.open(settings=replace(settings, stop_seconds=0.05)) as keeper:

        @keeper.agent("stubborn")
        def stubborn(turn: AgentTurn) -> str:
            began.set()
            erased.wait()
            turn.remember(a_note("late"))
            return "too late"

        session = await keeper.create_session(agent="stubborn", request_id="begin")
        ticket = await keeper.submit("begin", session_id=session.id)
        queued = await keeper.submit("next", session_id=session.id)
        await asyncio.to_thread(began.wait)
        await keeper.erase_session(session.id)
        erased.set()
        for each in (ticket, queued):
            with pytest.raises(TurnkeeperError):
                await keeper.reply_to(each)
        with pytest.raises(RunNotFound):
            await keeper.run(ticket.run.id)

        assert await rows_about(keeper, address, session.id) == {"leases", "audit", "receipts"}
        assert await rows_about(keeper, address, ticket.run.id) == {"audit"}
        with pytest.raises(SessionNotFound):
            await keeper.chat("again", session_id=session.id, on_missing="error")


async def test_content_that_others_have_stays(keeper: Turnkeeper) -> None:
    session_id = await talked(keeper)
    hers = await keeper.artifacts.keep(f"attached {MARKER}".encode(), principal=as_user("eve"))
    (output, *_) = [each for each in await keeper.substrate.outputs(session_id) if each.kind == "manifest"]
    await keeper.pointers.create("results", manifest=output.ref)

    receipt = await keeper.erase_session(session_id)

    kept = {each.what: each.count for each in receipt.erased.kept}
    assert (kept["manifests"], kept["blobs"]) == (1, 2)
    assert receipt.erased.rows["artifacts"] == 1
    await keeper.substrate.collect()
    (entry,) = await keeper.manifests.entries(output.ref)
    assert await keeper.artifacts.read(entry.sha256) == f"written about {MARKER}".encode()
    assert await keeper.artifacts.read(hers.id, principal=as_user("eve")) == f"attached {MARKER}".encode()


async def test_a_user_is_erased_with_all_that_was_theirs_and_nobody_else(keeper: Turnkeeper, address: str) -> None:
    ben, eve = as_user("ben-the-builder", Role.ADMIN), as_user("eve")
    await keeper.users.create(ben.user, role="admin", name=MARKER)
    said = await keeper.chat(f"mine {MARKER}", principal=ben, request_id="first")
    await keeper.chat(f"carried {MARKER}", principal=ben, custody="client", session_id="mine")
    hers = await keeper.chat("hers", principal=eve)
    await keeper.chat("helping", principal=ben, session_id=hers.session_id)
    await keeper.artifacts.keep(f"file {MARKER}".encode(), principal=ben)
    terms = BindingTerms(name="mail", agent=AgentId("echo"), strangers=Strangers.GUEST)
    binding = await keeper.bindings.create("email", terms, principal=ben)
    await keeper.bindings.put_contact(binding.id, f"{MARKER}@example.org", user=ben.user)

    receipt = await keeper.erase_user(ben.user)

    assert await rows_about(keeper, address, MARKER) == set()
    stays = await rows_about(keeper, address, ben.user)
    assert stays <= {"leases", "audit", "receipts", "runs", "messages", "feed", "explanations"}
    assert receipt.erased.pseudonym is not None
    assert {run.user for run in await keeper.runs(hers.session_id)} == {eve.user, receipt.erased.pseudonym}
    assert (receipt.kind, receipt.subject, receipt.erased.sessions) == ("user", ben.user, (said.session_id,))
    assert receipt.erased.rows["contacts"] == receipt.erased.rows["users"] == 1
    assert (await keeper.messages(hers.session_id, principal=eve))[0].content == "hers"


async def test_who_may_erase_whom(keeper: Turnkeeper) -> None:
    ben, eve, viewer = as_user("ben"), as_user("eve"), as_user("vera", Role.VIEWER)
    for user, role in (("ada", "owner"), ("ben", "member")):
        await keeper.users.create(user, role=role)
    session = await keeper.create_session(principal=ben)

    with pytest.raises(SessionNotFound):
        await keeper.erase_session(session.id, principal=eve)
    with pytest.raises(UserNotFound):
        await keeper.erase_user("ben", principal=eve)
    with pytest.raises(NotAllowed):
        await keeper.erase_user("vera", principal=viewer)
    with pytest.raises(NotAllowed):
        await keeper.erase_user("ada", principal=as_user("al", Role.ADMIN))
    with pytest.raises(LastOwner):
        await keeper.erase_user("ada")
    with pytest.raises(NotAllowed):
        await keeper.erasure.receipts(principal=ben)
    with pytest.raises(ReceiptNotFound):
        await keeper.erasure.receipt("rcpt_nothing")
    assert (await keeper.erase_session(session.id, principal=ben)).erased_by == ben.user
    assert (await keeper.erase_user("ben", principal=ben)).subject == "ben"
    assert len(await keeper.erasure.receipts()) == 2


async def test_a_fork_of_what_was_erased_says_so_and_goes_on(keeper: Turnkeeper) -> None:
    first = await keeper.chat("one")
    await keeper.chat("two", session_id=first.session_id)
    fork = await keeper.fork_session(first.session_id)
    second = await keeper.fork_session(fork.id, at_turn=2)
    await keeper.chat("three", session_id=fork.id)

    await keeper.erase_session(first.session_id)

    again = await keeper.session(fork.id)
    assert again.fork is not None
    assert again.fork.is_erased
    assert [message.seq for message in await keeper.messages(fork.id)] == [5, 6]
    assert await keeper.messages(second.id) == []
    assert (await keeper.state_at(fork.id, 3)).turn == 3
    with pytest.raises(HistoryErased):
        await keeper.state_at(fork.id, 1)
    assert (await keeper.chat("four", session_id=fork.id)).turn == 4
    assert (await read(keeper.export_session(fork.id))).testzip() is None


async def test_threads_that_a_dead_process_left_behind_are_cleared_later(keeper: Turnkeeper) -> None:
    session_id = await talked(keeper)
    threads = keeper._factory.threads(is_needed=True)
    assert threads is not None
    other = await keeper.session((await keeper.chat(MARKER, agent="graph")).session_id)
    gone = await keeper.session(session_id)
    (thread,) = await threads.threads_of(gone.tenant, gone.id)
    head, name = ThreadHead.of(other.agent_head), ThreadName.of(thread)
    assert head is not None
    assert name is not None
    await keeper.erase_session(session_id)
    assert await threads.threads_of(gone.tenant, gone.id) == []
    await threads.copy(head, name)

    assert await keeper.erasure.finish() == 1

    assert await threads.threads_of(gone.tenant, gone.id) == []
    assert len(await threads.threads_of(other.tenant, other.id)) == 1


async def test_nyqst_26_a_session_that_is_long_over_is_archived_as_an_artifact_that_hashes_to_it(
    settings: Settings,
) -> None:
    clock = SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:
        reply = await keeper.chat("hello")
        await keeper.scoping.save_layout(reply.session_id, {"tab": 1})
        await keeper.close_session(reply.session_id, reason="done")
        assert await keeper.archive_sessions() == 0
        clock.step(settings.archive_seconds)

        assert await keeper.archive_sessions() == 1

        session = await keeper.session(reply.session_id)
        assert session.archive is not None
        assert session.archived_at == clock.now()
        await keeper.substrate.collect(grace_seconds=-60)
        content = await keeper.artifacts.read(session.archive)
        assert sha256(content).hexdigest() == session.archive
        told = json.loads(content)
        assert (told["session"]["id"], told["runs"]) == (session.id, [reply.run_id])
        assert [event["what"] for event in told["events"]] == ["started", "closed"]
        assert await keeper.scoping.layout(session.id) is None
        assert await keeper.archive_sessions() == 0
        receipt = await keeper.erase_session(session.id)
        assert (receipt.erased.rows["manifests"], receipt.erased.rows["blobs"]) == (1, 1)


@pytest.mark.parametrize("classification", list(Classification))
async def test_a_session_that_is_over_is_kept_as_long_as_its_class_says(
    settings: Settings, classification: Classification
) -> None:
    clock = SteppedClock()
    bands = dict(BANDS) | {classification: replace(BANDS[classification], keep_seconds=100)}
    async with Turnkeeper.open(settings=settings, clock=clock, policy=Policy(bands=bands)) as keeper:
        files = HELPDESK | {"pack.yaml": HELPDESK["pack.yaml"].replace("INTERNAL", classification.value)}
        await keeper.packs.push(files)
        past, open_one, plain = [
            await keeper.create_session(agent="echo", pack=pack) for pack in ("helpdesk", "helpdesk", None)
        ]
        for each in (past, plain):
            await keeper.close_session(each.id)
        clock.step(99)
        assert await keeper.retain() == 0
        clock.step(1)

        assert await keeper.retain() == 1

        with pytest.raises(SessionNotFound):
            await keeper.session(past.id)
        left = [(await keeper.session(each.id)).id for each in (open_one, plain)]
        assert left == [open_one.id, plain.id]
        (receipt,) = await keeper.erasure.receipts()
        assert (receipt.erased_by, receipt.erased.reason) == (BY_THE_HOUSE, ErasureReason.RETENTION)


async def test_what_a_device_and_its_clients_left_of_a_user_is_exported_and_erased(settings: Settings) -> None:
    ben, ada = as_user("ben"), as_user("ada", Role.OWNER)
    async with Turnkeeper.open(settings=settings, device_memory="kept") as keeper:
        for who in (ben, ada):
            await keeper.chat(MARKER, custody="device", principal=who)
            await keeper.chat("Hello", custody="client", session_id="mine", freshness="strict", principal=who)
        archive = await read(keeper.export_user("ben", principal=ada))
        device = json.loads(archive.read("device.json"))
        revisions = lines_of(archive, "carried_revisions.ndjson")

        receipt = await keeper.erase_user("ben", principal=ada)

        left = await contents(backend_of(settings.database))
        forgotten = keeper.device.read(ben)

    assert MARKER in json.dumps(device)
    assert revisions == [{"session_id": "mine", "revision": 1}]
    assert (receipt.erased.rows["device_sessions"], receipt.erased.rows["carried_revisions"]) == (1, 1)
    assert [row[1] for row in left["device_sessions"] + left["carried_revisions"]] == ["ada", "ada"]
    assert forgotten == {}
