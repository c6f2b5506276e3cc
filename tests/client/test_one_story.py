"""One program, beside the engine and at a distance: every verb does the same, and is told under the same names."""

from __future__ import annotations

import json
import zipfile
from contextlib import aclosing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.client.house import TOKEN
from turnkeeper import errors
from turnkeeper.keeping.audit import AuditQuery
from turnkeeper.keeping.scoping import Pin, Wanted
from turnkeeper.model.artifact import sha256_of
from turnkeeper.model.binding import BindingTerms, Strangers
from turnkeeper.model.blob import ByteRange
from turnkeeper.model.definition import AgentTraits, ModelTraits
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import AgentId
from turnkeeper.model.layer import LayerTerms
from turnkeeper.model.mount import MountKind, MountRef
from turnkeeper.model.output import OutputKind
from turnkeeper.model.pointer import Expected
from turnkeeper.model.policy import Rate
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import SessionStatus, SettingsChange
from turnkeeper.packs.demos import demo_packs
from turnkeeper.ports.channels import Raw
from turnkeeper.ports.sessions import Sought

MAIL = b"From: ann@home.example\r\nMessage-ID: <1@home.example>\r\nSubject: Hi\r\n\r\nHello\r\n"
ENVELOPE = {
    "request_id": "req_0001",
    "tenant_id": "default",
    "user": {"user_id": "local", "delegation": {"auth_type": "oauth2", "scopes": [], "subject": "u:local"}},
    "agent": {"agent_id": "parrot", "workload_identity": "spiffe://demo/agents/parrot"},
    "context_pack_refs": [],
    "input": {"intent": "", "message": "hello", "channel": "app_chat", "locale": "en-GB"},
    "runtime": {"plan_timeout_ms": 15000},
    "trace": {"trace_id": "0af7651916cd43dd8448eb211c80319c", "span_id": "b7ad6b7169203331"},
}


async def heard(frames: Any) -> list[Any]:
    async with aclosing(frames):
        return [frame async for frame in frames]


async def test_a_message_is_answered_and_everything_about_it_can_be_asked_for(keeper: Any) -> None:
    reply = await keeper.chat("milk", agent="parrot", request_id="order-7")
    again = await keeper.chat("milk", agent="parrot", request_id="order-7")

    assert (reply.text, reply.status, reply.turn, reply.created) == ("You said: milk", RunStatus.COMPLETED, 1, True)
    assert (again.run_id, again.session_id) == (reply.run_id, reply.session_id)
    run = await keeper.run(reply.run_id)
    assert (run.status, run.agent, run.session_id, run.custody) == ("completed", "parrot", reply.session_id, "engine")
    assert [each.id for each in await keeper.runs(reply.session_id)] == [run.id]
    assert [(each.role, each.content) for each in await keeper.messages(reply.session_id)] == [
        ("user", "milk"),
        ("assistant", "You said: milk"),
    ]
    told = await keeper.reply_of(run)
    assert (told.text, told.turn, told.warnings) == (reply.text, 1, reply.warnings)
    explanation = await keeper.explanation(run.id)
    assert (explanation.status, explanation.turn, explanation.error) == (RunStatus.COMPLETED, 1, None)
    assert {stage.name for stage in explanation.stages} >= {"hand_off"}
    assert {node.label for node in explanation.graph.nodes} >= {"hand_off"}
    explained = await keeper.explained(run.id)
    assert (explained.asked, explained.preview) == ("milk", "You said: milk")
    assert [each.explanation.run_id for each in await keeper.explanations(reply.session_id)] == [run.id]
    assert [each.preview for each in await keeper.summaries(reply.session_id)] == ["You said: milk"]
    assert (await keeper.checkpoints(run.id), list(await keeper.effects(run.id))) == ([], [])


PROGRAM = """
from {where} import Turnkeeper

async def tell(address):
    async with Turnkeeper.open(address) as keeper:
        saying = keeper.say("A table for two", agent="echo")
        pieces = [piece async for piece in saying]
        reply = await saying.reply()
        session = await keeper.session(reply.session_id)
        await keeper.close_session(session.id, reason="said")
        said = [(message.role, message.content) for message in await keeper.messages(session.id)]
        return pieces, reply.text, reply.turn, session.agent, session.epoch.number, said
"""


async def test_one_program_runs_beside_the_engine_and_at_a_distance(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNKEEPER_TOKEN", TOKEN)
    told = []
    for where, address in (("turnkeeper", tmp_path / "own.db"), ("turnkeeper.client", url)):
        names: dict[str, Any] = {}
        exec(PROGRAM.format(where=where), names)
        told.append(await names["tell"](address))

    beside, at_a_distance = told
    assert beside == at_a_distance
    assert ("".join(beside[0]), beside[2]) == (beside[1], 1)


async def test_an_answer_is_heard_as_it_is_said(keeper: Any) -> None:
    saying = keeper.say("ode", agent="poet")

    pieces = [piece async for piece in saying]

    reply = await saying.reply()
    assert "".join(pieces) == saying.text == reply.text
    assert len(pieces) > 1
    assert reply.created
    frames = await heard(keeper.stream("ode", agent="poet", session_id=reply.session_id))
    assert (frames[0].type, frames[-1].type) == (FeedType.RUN_ACCEPTED, FeedType.RUN_COMPLETED)
    assert [frame.prev for frame in frames[1:]] == [frame.no for frame in frames[:-1]]
    run = await keeper.run(frames[0].run_id)
    ends = await heard(keeper.follow(run, after=frames[-2].no))
    assert [(frame.no, frame.type) for frame in ends] == [(frames[-1].no, FeedType.RUN_COMPLETED)]
    assert await heard(keeper.follow(run, after=frames[-1].no)) == []


async def test_a_reply_can_be_waited_for_without_iterating(keeper: Any) -> None:
    saying = keeper.say("hello", agent="parrot")

    assert (await saying.reply()).text == "You said: hello"
    with pytest.raises(RuntimeError, match="once"):
        [piece async for piece in saying]


async def test_a_question_comes_back_and_is_answered(keeper: Any) -> None:
    ticket = await keeper.submit("A table", agent="asking")
    asked = await keeper.reply_to(ticket)
    before = await heard(keeper.follow_reply(ticket))

    answer = await keeper.submit("four", session_id=asked.session_id, answers=asked.run_id)
    reply = await keeper.reply_to(answer)
    frames = await heard(keeper.follow_reply(answer))

    assert (asked.status, asked.text, asked.run_id) == (RunStatus.WAITING, "For how many?", ticket.run.id)
    assert ticket.created
    assert not answer.created
    assert before[-1].type is FeedType.RUN_WAITING
    assert (reply.text, answer.is_answer) == ("A table for four.", True)
    assert (frames[0].type, frames[-1].type) == (FeedType.RUN_ANSWERED, FeedType.RUN_COMPLETED)


async def test_what_goes_wrong_is_the_same_error(keeper: Any) -> None:
    session = await keeper.create_session(agent="waiting")
    ticket = await keeper.submit("go", session_id=session.id)

    with pytest.raises(errors.SessionBusy) as busy:
        await keeper.chat("me too", session_id=session.id, double_text="reject")
    with pytest.raises(errors.SessionNotFound) as missing:
        await keeper.session("sess_nobody")
    with pytest.raises(errors.RunEnded) as failed:
        await keeper.chat("go", agent="failing")
    with pytest.raises(errors.RunEnded) as said:
        await keeper.say("go", agent="failing").reply()
    with pytest.raises(errors.EnvelopeInvalid) as invalid:
        await keeper.chat("go", agent="parrot", level=9)

    assert (busy.value.code, busy.value.retryable, busy.value.http_status) == ("session_busy", True, 409)
    assert (missing.value.code, missing.value.retryable) == ("session_not_found", False)
    assert "sess_nobody" in missing.value.detail
    assert (failed.value.code, failed.value.facts["run_status"]) == ("agent_failed", "failed")
    assert (said.value.code, said.value.detail, said.value.stage) == ("agent_failed", failed.value.detail, "hand_off")
    assert [fault["pointer"] for fault in invalid.value.details] == ["/level"]
    stopped = await keeper.cancel(ticket.run.id)
    assert stopped.id == ticket.run.id
    with pytest.raises(errors.RunEnded) as cancelled:
        await keeper.reply_to(ticket)
    assert cancelled.value.code == "run_cancelled"


async def test_a_session_is_begun_changed_and_closed(keeper: Any) -> None:
    session = await keeper.create_session(agent="parrot", title="One", module="research", request_id="first")
    same = await keeper.create_session(agent="parrot", title="One", module="research", request_id="first")
    assert (same.id, session.title, session.purpose.module) == (session.id, "One", Module.RESEARCH)
    assert (session.status, session.epoch.number, session.turns, session.mounts) == (SessionStatus.ACTIVE, 1, 0, ())

    paused = await keeper.pause_session(session.id, expected_version=session.version)
    with pytest.raises(errors.VersionMoved):
        await keeper.resume_session(session.id, expected_version=session.version)
    resumed = await keeper.resume_session(session.id)
    titled = await keeper.change_session(session.id, SettingsChange(title="Two"), expected_version=resumed.version)
    rebased = await keeper.rebase_session(session.id)
    aimed = await keeper.scoping.change(session.id, Wanted(objective="Rest", double_text=None))
    assert (paused.status, resumed.status, titled.title) == (SessionStatus.PAUSED, SessionStatus.ACTIVE, "Two")
    assert (rebased.title, aimed.purpose.objective) == ("Two", "Rest")
    events = await keeper.session_events(session.id)
    assert [event.what for event in events][:3] == ["started", "paused", "resumed"]

    await keeper.chat("one", session_id=session.id)
    epoch = await keeper.reset(session.id)
    await keeper.chat("two", session_id=session.id)
    then = await keeper.state_at(session.id, 1)
    fork = await keeper.fork_session(session.id, at_turn=1, title="Fork", request_id="fork-1")
    assert epoch.session_id == session.id
    assert ([message.content for message in then.messages], then.epoch.number) == (["one", "You said: one"], 1)
    assert then.state == {"heard": ["one"]}
    assert (fork.title, fork.fork.session_id, fork.fork.turn) == ("Fork", session.id, 1)
    assert (await keeper.dialogue(session.id)).intent == "UNKNOWN"
    assert dict(await keeper.counts_of(session)) == {"runs": 3, "artifacts": 0}
    view = await keeper.resume_view(session.id, messages=2)
    assert [message.content for message in view.messages] == ["two", "You said: two"]
    assert (view.session.id, len(view.runs), view.layout, view.outputs) == (session.id, 3, None, [])

    closed = await keeper.close_session(session.id, reason="done")
    again = await keeper.close_session(session.id)
    assert (closed.status, closed.closed_reason, again.closed_at) == (SessionStatus.CLOSED, "done", closed.closed_at)
    later = await keeper.create_session(from_session_id=session.id)
    assert (later.from_session_id, later.agent) == (session.id, "parrot")


async def test_the_session_one_was_in_last_is_found_again(keeper: Any) -> None:
    first, began = await keeper.enter_session("analysis", agent="parrot")
    second, began_again = await keeper.enter_session("analysis")
    third = await keeper.current_session("analysis")

    assert (began, began_again) == (True, False)
    assert first.id == second.id == third.id


async def test_lists_come_newest_first_and_page_by_page(keeper: Any) -> None:
    made = [await keeper.create_session(agent="parrot", title=str(number)) for number in range(5)]
    module = await keeper.create_session(agent="parrot", module="insight")

    newest = await keeper.sessions(limit=2)
    rest = await keeper.sessions(before=newest[-1].id)

    # Ids of one millisecond are in no order.
    assert [each.id for each in (*newest, *rest)] == sorted([each.id for each in (*made, module)], reverse=True)
    assert await keeper.count_sessions() == 6
    sought = Sought(module=Module.INSIGHT)
    assert [each.id for each in await keeper.sessions(sought=sought)] == [module.id]
    assert await keeper.count_sessions(sought=sought) == 1
    early = Sought(title="3", created_from=made[3].created_at, status=SessionStatus.ACTIVE)
    assert [each.title for each in await keeper.sessions(sought=early, limit=500)] == ["3"]


async def test_units_are_imported_edited_and_forgotten(keeper: Any) -> None:
    session = await keeper.create_session(agent="parrot")
    imported = await keeper.units.import_text(session.id, "Milk is in the fridge. Bread is in the box.", name="kitchen")
    listed = await keeper.units.list(session.id)
    (no, kept), *_ = listed

    edited = await keeper.units.edit(session.id, kept.id, {"claim": "Milk is on the table."})
    forgotten = await keeper.units.forget(session.id, edited.id)

    assert imported.units["added"] == [each.id for _, each in listed]
    assert [each.id for _, each in await keeper.units.list(session.id, after=no)] != [kept.id]
    assert (await keeper.units.get(session.id, kept.id)).superseded_by == edited.id
    assert edited.unit.claim == "Milk is on the table."
    assert (forgotten.status, forgotten.unit) == ("forgotten", None)
    with pytest.raises(errors.UnitNotFound):
        await keeper.units.get(session.id, "no-such-unit")


async def test_knowledge_bases_are_filled_and_mounted(keeper: Any) -> None:
    base = await keeper.bases.create("Kitchen")
    base, source = await keeper.bases.add_source(base.id, "notes", "Milk is in the fridge.")
    session = await keeper.create_session(agent="parrot")
    await keeper.units.import_text(session.id, "Bread is in the box.")
    saved, journal = await keeper.bases.save_session(base.id, session.id, expected_revision=base.revision)

    with pytest.raises(errors.RevisionMoved):
        await keeper.bases.remove_source(base.id, source.id, expected_revision=base.revision)
    mounted = await keeper.bases.mount(session.id, base.id, expected_version=session.version)
    taken = await keeper.bases.unmount(session.id, base.id)

    assert (saved.revision, saved.sources) == (2, 2)
    assert {each.name: each.kind for each in await keeper.bases.sources(base.id)}["notes"] == "plain-text"
    assert (await keeper.bases.source(base.id, source.id)).content == "Milk is in the fridge."
    assert [unit.claim for _, unit in await keeper.bases.units(base.id, limit=1)] == ["Milk is in the fridge."]
    assert [(mount.kind, mount.id) for mount in mounted.mounts] == [(MountKind.KNOWLEDGE_BASE, base.id)]
    assert taken.mounts == ()
    assert (await keeper.bases.remove_source(base.id, journal.id)).sources == 1
    assert [each.id for each in await keeper.bases.list()] == [base.id]
    assert (await keeper.bases.get(base.id)).name == "Kitchen"
    assert (await keeper.bases.create("Copy", parent_id=base.id)).parent_id == base.id


async def test_packs_are_pushed_and_configured(keeper: Any) -> None:
    files = demo_packs()["table-booking"]
    push = await keeper.packs.push(files)
    session = await keeper.create_session(agent="parrot")

    pinned = await keeper.packs.repin(session.id, "table-booking")
    override = await keeper.packs.override("table-booking", "MIN_CONFIDENCE", 0.7)
    config, overrides = await keeper.packs.config("table-booking")
    await keeper.packs.drop_override("table-booking", "MIN_CONFIDENCE")

    assert (push.pushed.id, push.warnings) == ("table-booking", ())
    assert [pin.ref for pin in pinned.packs] == [push.pushed.pin.ref]
    assert (override.value, config.min_confidence, [*overrides]) == (0.7, 0.7, ["MIN_CONFIDENCE"])
    assert (await keeper.packs.config("table-booking"))[0].min_confidence == 0.55
    assert [each.pin.ref for each in await keeper.packs.list()] == [push.pushed.pin.ref]
    assert (await keeper.packs.get("table-booking")).files["pack.yaml"] == files["pack.yaml"]
    read = await keeper.packs.read(push.pushed.pin.ref)
    assert (read.id, "BOOK_TABLE" in [intent.code for intent in read.intents]) == ("table-booking", True)
    with pytest.raises(errors.PackInvalid) as faults:
        await keeper.packs.push({"pack.yaml": "id: ?\n"})
    assert faults.value.details


async def test_artifacts_manifests_and_pointers_stand_for_content(keeper: Any) -> None:
    artifact = await keeper.artifacts.keep(b"0123456789", media_type="text/plain", name="digits.txt")
    manifest, is_duplicate = await keeper.manifests.create({"digits.txt": artifact})
    pointer = await keeper.pointers.create("release", manifest=manifest.sha256)
    session = await keeper.create_session(agent="parrot")

    with pytest.raises(errors.PointerMoved):
        await keeper.pointers.advance(pointer.id, manifest.sha256, expected=Expected(manifest=None))
    emptied = await keeper.pointers.reset("default/release", None, reason="again")
    published = await keeper.substrate.publish(
        session.id, {"digits.txt": artifact}, pointer=pointer.id, expected=Expected(manifest=None)
    )
    newer, _ = await keeper.manifests.create([("more.txt", artifact.sha256, {"by": "me"})], parent=manifest.sha256)
    moved = await keeper.pointers.advance(pointer.id, newer.sha256)

    assert (artifact.sha256, artifact.size, artifact.name) == (sha256_of(b"0123456789"), 10, "digits.txt")
    assert (await keeper.artifacts.get(artifact.sha256)).sha256 == artifact.sha256
    assert await keeper.artifacts.read(artifact.id) == b"0123456789"
    part = keeper.artifacts.pieces(artifact, ByteRange(first=2, last=4))
    assert b"".join([piece async for piece in part]) == b"234"
    assert (is_duplicate, manifest.entry_count, manifest.total_size) == (False, 1, 10)
    assert (await keeper.manifests.get(manifest.sha256)).sha256 == manifest.sha256
    assert [entry.path for entry in await keeper.manifests.entries(newer.sha256)] == ["more.txt"]
    assert [each.sha256 for each in await keeper.manifests.history(newer.sha256)] == [newer.sha256, manifest.sha256]
    diff = await keeper.manifests.diff(newer.sha256, manifest.sha256)
    assert ([entry.path for entry in diff.added], [entry.path for entry in diff.removed]) == (
        ["more.txt"],
        ["digits.txt"],
    )
    assert (emptied.manifest, published.manifest.sha256, moved.manifest) == (None, manifest.sha256, newer.sha256)
    assert published.is_duplicate
    assert await keeper.pointers.resolve("default/release") == newer.sha256
    assert (await keeper.pointers.get(pointer.id)).id == (await keeper.pointers.named("default", "release")).id
    history = await keeper.pointers.history(pointer.id, limit=2)
    assert [(move.kind, move.new) for move in history] == [("advance", newer.sha256), ("advance", manifest.sha256)]
    assert [each.name for each in await keeper.pointers.list(namespace="default")] == ["release"]
    outputs = await keeper.substrate.outputs(session.id)
    assert {output.kind for output in outputs} >= {OutputKind.ARTIFACT, OutputKind.POINTER}
    assert (await keeper.substrate.counts(session.id))[OutputKind.POINTER] == 1
    assert (await keeper.substrate.cost(session.id)).session_id == session.id
    storage = await keeper.substrate.storage()
    assert (storage.blobs, storage.artifacts, len(storage.sessions)) == (1, 1, 1)
    pinned = await keeper.scoping.pin(session.id, Pin(kind=MountKind.POINTER, id=pointer.id))
    assert [mount.id for mount in pinned.mounts] == [pointer.id]
    unpinned = await keeper.scoping.unpin(session.id, MountRef(kind=MountKind.POINTER, id=pointer.id))
    assert unpinned.mounts == ()
    assert (await keeper.pointers.delete(pointer.id)).deleted_at is not None


async def test_layers_and_users_are_looked_after(keeper: Any) -> None:
    tenant = await keeper.tenants.get("default")
    project = await keeper.projects.create(
        "Garden", id="garden", terms=LayerTerms(policy=PolicyTemplate.EXPLORATORY, limits={"tokens": 100.0})
    )
    objective = await keeper.objectives.create("Roses", project_id="garden")
    changed = await keeper.projects.change(
        "garden", name="Gardens", terms=LayerTerms(limits={"tokens": 50.0}), expected_revision=project.revision
    )
    session = await keeper.create_session(agent="parrot", project_id="garden")

    assert (tenant.level, tenant.id) == ("tenant", "default")
    assert [each.id for each in await keeper.tenants.list()] == []
    assert (project.terms.policy, project.terms.limits) == (PolicyTemplate.EXPLORATORY, {"tokens": 100.0})
    assert (changed.name, changed.terms.policy, changed.terms.limits) == ("Gardens", None, {"tokens": 50.0})
    with pytest.raises(errors.RevisionMoved):
        await keeper.projects.change("garden", name="Late", expected_revision=project.revision)
    assert [each.id for each in await keeper.objectives.list(project_id="garden")] == [objective.id]
    scope = await keeper.scoping.scope(session)
    assert (scope.context.limits, [link.id for link in scope.context.chain][-1]) == ({"tokens": 50.0}, "garden")
    assert (await keeper.scoping.rebase(session.id)).id == session.id
    await keeper.scoping.save_layout(session.id, {"panes": 2})
    assert await keeper.scoping.layout(session.id) == {"panes": 2}
    await keeper.scoping.drop_layout(session.id)
    assert await keeper.scoping.layout(session.id) is None
    user = await keeper.users.create("bea", name="Bea")
    promoted = await keeper.users.change("bea", role="admin", expected_version=user.version)
    assert (user.role, promoted.role, promoted.name) == ("member", "admin", "Bea")
    assert (await keeper.users.get("bea")).version == 2
    assert [each.id for each in await keeper.users.list()] == ["bea"]


async def test_agents_and_models_are_defined(keeper: Any) -> None:
    definition = await keeper.definitions.put_agent("parrot", AgentTraits(capabilities=("talk",)))
    model = await keeper.definitions.put_model("small", ModelTraits(chat_model="tiny", params={"t": 0}))

    assert (definition.id, definition.version, definition.traits.capabilities) == ("parrot", 1, ("talk",))
    known = await keeper.definitions.agent("parrot")
    assert (known.has_code, known.definition.version) == (True, 1)
    assert "poet" in [each.id for each in await keeper.definitions.agents()]
    assert (model.traits.chat_model, (await keeper.definitions.model("small")).traits.params) == ("tiny", {"t": 0})
    assert [each.id for each in await keeper.definitions.models()] == ["small"]
    await keeper.definitions.remove_agent("parrot")
    await keeper.definitions.remove_model("small")
    with pytest.raises(errors.DefinitionNotFound):
        await keeper.definitions.model("small")


async def test_people_allow_what_a_tool_wants_to_do(keeper: Any) -> None:
    session = await keeper.create_session(agent="clerk")
    tools = await keeper.tools_of(session.id)
    ticket = await keeper.submit("a line", session_id=session.id)
    asked = await keeper.reply_to(ticket)
    (approval,) = await keeper.approvals.list(session_id=session.id, status="pending")

    decided = await keeper.approvals.decide(approval.id, approve=True, reason="fine")
    frames = await heard(keeper.follow(ticket.run))

    assert [(tool.name, tool.gate) for tool in tools] == [("connector.crm.write", "approve")]
    assert asked.status is RunStatus.WAITING
    assert (approval.action, approval.rule.kind, approval.run_id) == ("connector.crm.write", "approve", ticket.run.id)
    assert (decided.status, decided.reason) == ("approved", "fine")
    assert (await keeper.approvals.get(approval.id)).status == "approved"
    assert frames[-1].data["text"] == "ok wrote 6"
    assert {effect.key: effect.status for effect in await keeper.effects(ticket.run.id)}["stamp"] == "done"


async def test_channels_have_bindings_contacts_and_deliveries(keeper: Any) -> None:
    terms = BindingTerms(name="Door", agent=AgentId("parrot"), strangers=Strangers.GUEST)
    binding = await keeper.bindings.create("email", terms)
    contact = await keeper.bindings.put_contact(binding.id, "bea@home.example", user="bea")

    delivered = await keeper.channels.deliver("email", binding.id, Raw(body=MAIL, media_type="message/rfc822"))
    changed = await keeper.bindings.change(binding.id, BindingTerms(name="Gate", agent=AgentId("parrot")))

    assert (await keeper.reply_to(delivered.ticket)).text.startswith("You said:")
    assert (binding.terms.name, binding.channel, changed.terms.name) == ("Door", "email", "Gate")
    assert (await keeper.bindings.get(binding.id)).terms.strangers == "refuse"
    assert [each.id for each in await keeper.bindings.list()] == [binding.id]
    assert (contact.user, contact.binding) == ("bea", binding.id)
    assert "bea@home.example" in [each.address for each in await keeper.bindings.contacts(binding.id)]
    with pytest.raises(errors.ChannelPayloadInvalid):
        await keeper.channels.deliver("email", binding.id, Raw(body=b"", media_type="message/rfc822"))
    assert list(await keeper.deliveries.list()) == []
    with pytest.raises(errors.DeliveryNotFound):
        await keeper.deliveries.retry("dlv_nothing")
    await keeper.bindings.remove_contact(binding.id, "bea@home.example")
    await keeper.bindings.remove(binding.id)
    with pytest.raises(errors.BindingNotFound):
        await keeper.bindings.get(binding.id)


async def test_everything_is_audited_exported_and_erased(keeper: Any) -> None:
    reply = await keeper.chat("milk", agent="parrot")

    found = await keeper.audit.find(AuditQuery(facts={"session_id": reply.session_id}), limit=5)
    lines = [json.loads(line) async for line in keeper.audit.export()]
    archive = b"".join([piece async for piece in keeper.export_session(reply.session_id)])
    mine = b"".join([piece async for piece in keeper.export_user("local")])

    assert [each.facts["verb"] for each in found] == ["chat"]
    assert len(lines) >= 1
    assert "index.json" in zipfile.ZipFile(BytesIO(archive)).namelist()
    assert len(mine) > len(archive)
    receipt = await keeper.erase_session(reply.session_id)
    assert (receipt.subject, receipt.kind, receipt.erased.sessions) == (
        reply.session_id,
        "session",
        (reply.session_id,),
    )
    assert (await keeper.erasure.receipt(receipt.id)).id == receipt.id
    assert [each.id for each in await keeper.erasure.receipts()] == [receipt.id]
    other = await keeper.create_session(agent="parrot")
    assert (await keeper.erasure.session(other.id)).subject == other.id
    await keeper.users.create("bea")
    assert (await keeper.erase_user("bea")).kind == "user"
    await keeper.users.create("cleo")
    assert (await keeper.erasure.user("cleo")).subject == "cleo"
    with pytest.raises(errors.SessionNotFound):
        await keeper.session(reply.session_id)
    await keeper.ping()


async def test_keys_are_made_and_revoked(keeper: Any) -> None:
    made = await keeper.keys.create("ci", role="member", limited_to=["sessions:read"], rate=Rate(per_second=5, burst=9))

    revoked = await keeper.keys.revoke(made.key.id)

    assert made.token
    assert (made.key.role, made.key.limited_to, made.key.rate.burst) == ("member", {"sessions:read"}, 9)
    assert revoked.revoked_at is not None
    assert (await keeper.keys.get(made.key.id)).revoked_at == revoked.revoked_at
    assert [key.name for key in await keeper.keys.list()] == ["ci"]
    with pytest.raises(errors.KeyNotFound):
        await keeper.keys.get("key_nobody")


async def test_seals_are_rotated_and_retired(keeper: Any) -> None:
    first = await keeper.seals.rotate()
    second = await keeper.seals.rotate()

    await keeper.seals.retire(first.id)

    assert [(key.id, key.retired_at is None) for key in await keeper.seals.keys()] == [
        (first.id, False),
        (second.id, True),
    ]


async def test_a_session_changes_hands(keeper: Any) -> None:
    one = await keeper.chat("one", agent="parrot", custody="client", session_id="mine")
    two = await keeper.chat("two", agent="parrot", custody="client", session_id="mine", carried=one.carried)

    kept = await keeper.adopt_session("mine", two.carried, agent="parrot", title="Kept", request_id="adopt-1")
    released = await keeper.release_session(kept.id)
    three = await keeper.chat(
        "three", agent="parrot", custody="client", session_id=kept.id, carried=released.carried, freshness="strict"
    )

    assert (two.turn, kept.turns, kept.title, released.session.status) == (2, 2, "Kept", "closed")
    assert three.turn == 3


@pytest.mark.parametrize("mode", ["batch", "stream", "long_running"])
async def test_a_full_envelope_is_taken(keeper: Any, mode: str) -> None:
    push = await keeper.packs.push(demo_packs()["table-booking"])
    refs = [push.pushed.pin.ref]

    ticket = await keeper.invoke({**ENVELOPE, "context_pack_refs": refs, "mode": mode})

    reply = await keeper.reply_to(ticket)
    assert (ticket.run.mode, reply.run_id, reply.status) == (mode, ticket.run.id, RunStatus.COMPLETED)


async def test_a_session_is_followed_from_now_on(keeper: Any) -> None:
    session = await keeper.create_session(agent="parrot")
    await keeper.chat("before", session_id=session.id)
    newest = await keeper.newest_feed_no(session.id)
    frames = keeper.follow_session(session.id, after=newest)

    reply = await keeper.chat("after", session_id=session.id)
    seen = [await anext(frames)]
    while not seen[-1].type.ends_a_run:
        seen.append(await anext(frames))
    await frames.aclose()

    assert seen[0].prev == newest
    assert {frame.run_id for frame in seen} == {reply.run_id}
