"""Tenants, projects and objectives, and what the sessions below them inherit."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from turnkeeper import AgentTurn, Turnkeeper
from turnkeeper.errors import (
    EnvelopeInvalid,
    InvalidTransition,
    IsolationUnavailable,
    LastOwner,
    LayerNotActive,
    LayerNotFound,
    ModelNotAllowed,
    MountExcluded,
    MountNotFound,
    NotAllowed,
    PolicyRelaxation,
    QuotaExceeded,
    RevisionMoved,
    RunEnded,
    SessionEnded,
    TenantSuspended,
    UserSuspended,
    VersionMoved,
)
from turnkeeper.keeping.scoping import Pin, Wanted
from turnkeeper.model.definition import AgentTraits, ModelTraits
from turnkeeper.model.ids import AgentId, TenantId, UserId
from turnkeeper.model.layer import DefaultMount, LayerTerms
from turnkeeper.model.mount import MountKind, MountRef
from turnkeeper.model.principal import Principal, Role
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.recall import UnitQuery
from turnkeeper.model.run import RunStatus
from turnkeeper.model.session import Session, SessionStatus
from turnkeeper.ports.sessions import Sought

ADA = Principal(tenant=TenantId("acme"), user=UserId("ada"), role=Role.OWNER)
BEN = Principal(tenant=TenantId("acme"), user=UserId("ben"))
GUS = Principal(tenant=TenantId("globex"), user=UserId("gus"), role=Role.OWNER)
KB = MountKind.KNOWLEDGE_BASE


async def a_base(keeper: Turnkeeper, name: str, principal: Principal = ADA) -> MountRef:
    base = await keeper.bases.create(name, principal=principal)
    await keeper.bases.add_source(base.id, name, f"The {name} opens at nine.", principal=principal)
    return MountRef(kind=KB, id=base.id)


async def a_project(keeper: Turnkeeper, *mounts: MountRef, **terms: object) -> str:
    project = await keeper.projects.create("Harbour", terms=with_mounts(*mounts, **terms), principal=ADA)
    return project.id


def with_mounts(*mounts: MountRef, **terms: object) -> LayerTerms:
    defaults = tuple(DefaultMount(kind=ref.kind, id=ref.id) for ref in mounts)
    return LayerTerms(mounts=defaults, **terms)  # type: ignore[arg-type]


async def a_session(keeper: Turnkeeper, project: str | None = None, **asked: object) -> Session:
    return await keeper.create_session(module="research", project_id=project, principal=ADA, **asked)  # type: ignore[arg-type]


async def told(keeper: Turnkeeper, session: Session) -> list[tuple[str, str, str]]:
    now = await keeper.session(session.id, principal=ADA)
    return [(v.mount.id, v.source, v.state) for v in (await keeper.scoping.scope(now)).views]


async def used(keeper: Turnkeeper, session: Session) -> list[str]:
    now = await keeper.session(session.id, principal=ADA)
    return [each.mount.id for each in (await keeper.scoping.scope(now)).mounts]


async def whats(keeper: Turnkeeper, session: Session) -> list[str]:
    return [event.what for event in await keeper.session_events(session.id, principal=ADA)]


def listener(keeper: Turnkeeper, heard: list[AgentTurn]) -> None:
    @keeper.agent("listener")
    async def listen(turn: AgentTurn) -> str:
        heard.append(turn)
        found = await turn.memory.search(UnitQuery(words="when does it open"))
        return " ".join(sorted({each.place for each in found}))


async def test_nyqst_27_28_29_30_31_32_33_a_session_inherits_pins_removes_and_is_rebased(keeper: Turnkeeper) -> None:
    pier, dock, quay, mole = [await a_base(keeper, name) for name in ("pier", "dock", "quay", "mole")]
    project = await a_project(keeper, pier, dock)
    aim = await keeper.objectives.create("Find", project_id=project, terms=with_mounts(dock, quay), principal=ADA)
    session = await a_session(keeper, project, objective_id=aim.id)
    sibling = await a_session(keeper, project, objective_id=aim.id)
    assert await told(keeper, session) == [
        (pier.id, "project", "effective"),
        (dock.id, "project", "effective"),
        (quay.id, "objective", "effective"),
    ]
    assert session.context_sha256 == sibling.context_sha256

    await keeper.scoping.pin(session.id, Pin(kind=KB, id=mole.id), principal=ADA)
    await keeper.scoping.unpin(session.id, pier, principal=ADA)
    assert await used(keeper, session) == [dock.id, quay.id, mole.id]
    assert (pier.id, "project", "removed") in await told(keeper, session)
    assert await used(keeper, sibling) == [pier.id, dock.id, quay.id]

    lift = await a_base(keeper, "lift")
    await keeper.projects.change(project, terms=with_mounts(pier, dock, lift), principal=ADA)
    assert lift.id not in await used(keeper, session)
    rebased = await keeper.rebase_session(session.id, principal=ADA)
    assert await used(keeper, session) == [dock.id, lift.id, quay.id, mole.id]

    await keeper.scoping.pin(session.id, Pin(kind=KB, id=pier.id), principal=ADA)
    assert (pier.id, "project", "effective") in await told(keeper, session)
    events = await keeper.session_events(session.id, principal=ADA)
    changed = next(event for event in events if event.what == "rebased")
    assert changed.data == {
        "old_context_sha256": session.context_sha256,
        "new_context_sha256": rebased.context_sha256,
    }
    assert {event.by for event in events} == {"ada"}
    mounted = [(each.data["pinned"], each.data["removed"]) for each in events if each.what == "mounts_changed"]
    about_mole, about_pier = [{"kind": "knowledge_base", "id": each.id} for each in (mole, pier)]
    assert mounted == [([about_mole], []), ([], [about_pier]), ([about_pier], [])]
    assert [event.what for event in events] == ["started", *["mounts_changed"] * 2, "rebased", "mounts_changed"]


async def test_nyqst_34_35_37_what_a_layer_excludes_is_gone_at_once_and_cannot_be_pinned(keeper: Turnkeeper) -> None:
    pier, dock = await a_base(keeper, "pier"), await a_base(keeper, "dock")
    heard: list[AgentTurn] = []
    listener(keeper, heard)
    project = await a_project(keeper, pier, dock)
    session = await a_session(keeper, project, agent="listener")
    empty = await a_session(keeper, agent="listener")
    before = await keeper.chat("When does it open?", session_id=session.id, principal=ADA)

    await keeper.tenants.change("acme", terms=LayerTerms(excluded=(dock,)), principal=ADA)
    after = await keeper.chat("When does it open?", session_id=session.id, principal=ADA)
    nothing = await keeper.chat("When does it open?", session_id=empty.id, principal=ADA)

    assert (before.text.split(), after.text.split()) == (sorted([pier.id, dock.id]), [pier.id])
    assert nothing.text == ""
    assert [mount.id for mount in heard[1].context.mounts] == [pier.id]
    assert (dock.id, "project", "excluded") in await told(keeper, session)
    with pytest.raises(MountExcluded):
        await keeper.scoping.pin(empty.id, Pin(kind=KB, id=dock.id), principal=ADA)
    with pytest.raises(MountExcluded):
        await keeper.bases.mount(empty.id, dock.id, principal=ADA)


async def test_a_base_that_is_excluded_in_the_middle_of_a_turn_is_out_of_its_reach(keeper: Turnkeeper) -> None:
    pier = await a_base(keeper, "pier")

    @keeper.agent("twice")
    async def twice(turn: AgentTurn) -> str:
        first = await turn.memory.search(UnitQuery(words="when does it open"))
        await keeper.tenants.change("acme", terms=LayerTerms(excluded=(pier,)), principal=ADA)
        return f"{len(first)} {len(await turn.memory.search(UnitQuery(words='when does it open')))}"

    session = await a_session(keeper, await a_project(keeper, pier), agent="twice")

    assert (await keeper.chat("Look", session_id=session.id, principal=ADA)).text == "1 0"


async def test_nyqst_38_the_same_hierarchy_gives_the_same_context_and_nothing_gives_none(keeper: Turnkeeper) -> None:
    plain = await keeper.create_session(principal=GUS)
    project = await a_project(keeper)
    one, two = await a_session(keeper, project), await a_session(keeper, project)
    await keeper.projects.change(project, name="Port", principal=ADA)
    three = await a_session(keeper, project)

    assert plain.context_sha256 is None
    assert one.context_sha256 == two.context_sha256 != three.context_sha256
    context = (await keeper.scoping.scope(three)).context
    assert [(link.level, link.id, link.revision) for link in context.chain] == [("project", project, 2)]


async def test_nyqst_39_40_only_what_is_there_in_the_same_tenant_can_be_pinned(keeper: Turnkeeper) -> None:
    foreign, own = await a_base(keeper, "pier", GUS), await a_base(keeper, "dock")
    session = await a_session(keeper)

    for pin in (Pin(kind=KB, id=foreign.id), Pin(kind=KB, id="kb_none"), Pin(kind=MountKind.POINTER, id="ptr_none")):
        with pytest.raises(MountNotFound):
            await keeper.scoping.pin(session.id, pin, principal=ADA)
    with pytest.raises(MountNotFound):
        await keeper.scoping.pin(session.id, Pin(kind=MountKind.ARTIFACT, id="ab" * 32), principal=ADA)
    with pytest.raises(EnvelopeInvalid):
        await keeper.scoping.pin(session.id, Pin(kind=MountKind.ARTIFACT, id="no-hash"), principal=ADA)
    pinned = await keeper.scoping.pin(session.id, Pin(kind=KB, id=own.id), principal=ADA)
    again = await keeper.scoping.pin(session.id, Pin(kind=KB, id=own.id), principal=ADA)

    assert again == pinned


async def test_whole_lists_become_pins_and_tombstones(keeper: Turnkeeper) -> None:
    pier, dock, quay = [await a_base(keeper, name) for name in ("pier", "dock", "quay")]
    session = await a_session(keeper, await a_project(keeper, pier, dock))

    wanted = Wanted(exactly={KB: (Pin(kind=KB, id=dock.id), Pin(kind=KB, id=quay.id))})
    changed = await keeper.scoping.change(session.id, wanted, principal=ADA)

    assert await used(keeper, session) == [dock.id, quay.id]
    assert (changed.removed, [pin.id for pin in changed.mounts]) == ((pier,), [quay.id])
    with pytest.raises(VersionMoved):
        await keeper.scoping.change(session.id, Wanted(title="x"), expected_version=1, principal=ADA)


async def test_nyqst_41_53_policies_only_tighten_and_models_must_be_allowed(keeper: Turnkeeper) -> None:
    await keeper.tenants.change("acme", terms=LayerTerms(allowed_models=("deep", "quick*")), principal=ADA)
    project = await a_project(keeper, policy=PolicyTemplate.REGULATED, model_profile="deep")
    await keeper.definitions.put_model("deep", ModelTraits(chat_model="deep-thought"), principal=ADA)
    heard: list[AgentTurn] = []
    listener(keeper, heard)

    with pytest.raises(PolicyRelaxation):
        await a_session(keeper, project, policy="standard")
    with pytest.raises(ModelNotAllowed):
        await a_session(keeper, project, model_profile="huge")
    strict = await a_session(keeper, project, policy="audit_critical", agent="listener")
    reply = await keeper.chat("Hello", session_id=strict.id, principal=ADA)
    await keeper.definitions.put_agent("listener", AgentTraits(model_profile="quick"), principal=ADA)
    of_agent = await a_session(keeper, project, agent="listener")
    await keeper.chat("Hello", session_id=of_agent.id, principal=ADA)
    with pytest.raises(RunEnded) as refused:
        await keeper.chat("Hello", session_id=of_agent.id, model="huge", principal=ADA)

    assert heard[0].context.inherited.policy is PolicyTemplate.AUDIT_CRITICAL
    assert [turn.context.preferred.model for turn in heard] == ["deep-thought", "quick"]
    assert refused.value.code == "model_not_allowed"
    run = await keeper.run(reply.run_id, principal=ADA)
    assert run.account is not None
    assert (run.account["context_sha256"], run.account["model_profile"]) == (strict.context_sha256, "deep")
    stage = next(each for each in reply.explanation.stages if each.name == "context")
    assert stage.data["context_sha256"] == strict.context_sha256
    assert stage.data["provenance"]["policy"] == "session"


async def test_nyqst_43_the_run_beyond_the_quota_is_refused_and_audited(keeper: Turnkeeper) -> None:
    operator = replace(ADA, tenant=TenantId("house"), is_operator=True)
    await keeper.tenants.create("Acme", id="acme", terms=LayerTerms(quotas={"runs_monthly": 5}), principal=operator)
    session = await a_session(keeper, agent="echo")

    async def say(number: int) -> str:
        try:
            await keeper.chat(f"m{number}", session_id=session.id if number % 2 else None, principal=ADA)
        except QuotaExceeded as full:
            return f"{full.code} {full.facts['limit']} {full.facts['with_this']}"
        return "answered"

    said = await asyncio.gather(*(say(number) for number in range(9)))

    assert (said.count("answered"), said.count("quota_exceeded 5 6")) == (5, 4)
    refusals = [e async for e in keeper.audit_entries("acme") if b"quota_exceeded" in _bytes(e.body)]
    assert len(refusals) == 4


def _bytes(body: str | bytes) -> bytes:
    return body if isinstance(body, bytes) else body.encode()


async def test_no_more_sessions_live_in_a_tenant_than_its_quota_allows(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    await keeper.tenants.change("default", terms=LayerTerms(quotas={"sessions": 3}))

    async def begin(number: int) -> Session | QuotaExceeded:
        try:
            return await (keeper, other_keeper)[number % 2].create_session(agent="echo", title=str(number))
        except QuotaExceeded as full:
            return full

    made = await asyncio.gather(*(begin(number) for number in range(16)))
    living = [each for each in made if isinstance(each, Session)]
    with pytest.raises(QuotaExceeded, match="may have 3 sessions that live, and would have 4 with this"):
        await keeper.chat("Hello", agent="echo")
    await keeper.close_session(living[0].id)

    assert len(living) == 3
    assert (await keeper.chat("Hello", agent="echo")).created


async def test_no_more_is_kept_of_a_tenant_than_its_quota_allows(keeper: Turnkeeper) -> None:
    await keeper.tenants.change("default", terms=LayerTerms(quotas={"storage_bytes": 10}))

    await keeper.artifacts.keep(b"0123456789", media_type="text/plain")
    await keeper.artifacts.keep(b"0123456789", media_type="text/plain")
    with pytest.raises(QuotaExceeded, match="may have 10 bytes of content, and would have 11 with this"):
        await keeper.artifacts.keep(b"x", media_type="text/plain")


async def test_a_layer_can_be_changed_after_one_of_its_mounts_was_deleted(keeper: Turnkeeper) -> None:
    pointer = await keeper.pointers.create("plan", principal=ADA)
    gone = MountRef(kind=MountKind.POINTER, id=pointer.id)
    project, other = await a_project(keeper, gone), await a_project(keeper)
    await keeper.pointers.delete(pointer.id, principal=ADA)

    archived = await keeper.projects.change(project, status="archived", principal=ADA)

    assert archived.status == "archived"
    with pytest.raises(MountNotFound):
        await keeper.projects.change(other, terms=with_mounts(gone), principal=ADA)


async def test_nobody_pins_what_they_may_not_read(keeper: Turnkeeper) -> None:
    secret = await keeper.artifacts.keep(b"of ada alone", principal=ADA)
    own = await keeper.artifacts.keep(b"of ben", principal=BEN)
    shared = await keeper.artifacts.keep(b"for all", principal=ADA)
    await keeper.manifests.create({"shared": shared}, principal=ADA)
    session = await keeper.create_session(agent="echo", principal=BEN)
    pins = [Pin(kind=MountKind.ARTIFACT, id=each.sha256) for each in (own, shared)]

    pinned = await keeper.scoping.pin(session.id, *pins, principal=BEN)

    assert {mount.id for mount in pinned.mounts} == {own.sha256, shared.sha256}
    pin = Pin(kind=MountKind.ARTIFACT, id=secret.sha256)
    with pytest.raises(MountNotFound):
        await keeper.scoping.pin(session.id, pin, principal=BEN)
    with pytest.raises(MountNotFound):
        await keeper.scoping.change(session.id, Wanted(exactly={MountKind.ARTIFACT: (pin,)}), principal=BEN)
    with pytest.raises(MountNotFound):
        await keeper.create_session(agent="echo", pins=[pin], principal=BEN)
    assert (await keeper.scoping.pin(session.id, pin, principal=ADA)).mounts[-1].id == secret.sha256


async def test_of_uploads_that_come_at_once_only_those_are_kept_that_the_quota_allows(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    await keeper.tenants.change("default", terms=LayerTerms(quotas={"storage_bytes": 100}))
    uploads = [node.artifacts.keep(bytes([no]) * 60) for no in range(5) for node in (keeper, other_keeper)]

    kept = await asyncio.gather(*uploads, return_exceptions=True)

    assert [each for each in kept if isinstance(each, BaseException) and not isinstance(each, QuotaExceeded)] == []
    assert (await keeper.substrate.storage()).blob_bytes == 60


async def test_nyqst_58_steps_and_seconds_of_a_context_end_a_run(keeper: Turnkeeper) -> None:
    project = await a_project(keeper, limits={"max_steps": 2})
    quick = await a_project(keeper, limits={"timeout_seconds": 0.05})

    @keeper.agent("busy")
    async def busy(turn: AgentTurn) -> str:
        if turn.text == "wait":
            await asyncio.Event().wait()
        for _ in range(3):
            turn.context.budget.debit("tool_calls")
        return "done"

    codes = []
    for where, text in ((project, "work"), (quick, "wait")):
        session = await a_session(keeper, where, agent="busy")
        ticket = await keeper.submit(text, session_id=session.id, principal=ADA)
        with pytest.raises(RunEnded):
            await keeper.reply_to(ticket)
        run = await keeper.run(ticket.run.id, principal=ADA)
        codes.append((run.status, run.error and run.error.code))

    assert codes == [(RunStatus.FAILED, "limit_exceeded")] * 2


async def test_nyqst_20_the_most_special_time_to_live_counts(keeper: Turnkeeper) -> None:
    await keeper.tenants.change("acme", terms=LayerTerms(idle_for_seconds=500), principal=ADA)
    project = await a_project(keeper, idle_for_seconds=400)
    aim = await keeper.objectives.create(
        "Find", project_id=project, terms=LayerTerms(idle_for_seconds=300), principal=ADA
    )

    lives = [
        (await keeper.create_session(principal=GUS)).idle_for_seconds,
        (await a_session(keeper)).idle_for_seconds,
        (await a_session(keeper, project)).idle_for_seconds,
        (await a_session(keeper, project, objective_id=aim.id)).idle_for_seconds,
        (await a_session(keeper, project, objective_id=aim.id, idle_for_seconds=200)).idle_for_seconds,
    ]

    assert lives == [86_400, 500, 400, 300, 200]


async def test_what_demands_isolation_is_refused_and_never_run_here(keeper: Turnkeeper) -> None:
    with pytest.raises(IsolationUnavailable):
        await a_session(keeper, backend="bwrap")
    with pytest.raises(IsolationUnavailable):
        await a_session(keeper, await a_project(keeper, needs_isolation=True))
    await keeper.definitions.put_agent("echo", AgentTraits(needs_isolation=True), principal=ADA)
    with pytest.raises(IsolationUnavailable):
        await keeper.chat("Hello", agent="echo", principal=ADA)


async def test_nothing_begins_in_a_project_that_is_over_or_of_somebody_else(keeper: Turnkeeper) -> None:
    project = await a_project(keeper)
    other = await keeper.projects.create("Other", principal=ADA)
    aim = await keeper.objectives.create("Find", project_id=other.id, principal=ADA)
    await keeper.projects.change(project, status="archived", principal=ADA)

    with pytest.raises(LayerNotActive):
        await a_session(keeper, project)
    with pytest.raises(LayerNotFound):
        await keeper.create_session(project_id=other.id, principal=GUS)
    with pytest.raises(LayerNotFound):
        await a_session(keeper, other.id, objective_id="obj_none")
    with pytest.raises(EnvelopeInvalid):
        await a_session(keeper, objective_id=aim.id)


async def test_only_owner_and_admin_change_layers_and_nobody_passes_a_change_by(keeper: Turnkeeper) -> None:
    project = await a_project(keeper)
    first = await keeper.projects.change(project, name="Port", principal=ADA)

    with pytest.raises(RevisionMoved):
        await keeper.projects.change(project, name="Late", expected_revision=first.revision - 1, principal=ADA)
    with pytest.raises(NotAllowed):
        await keeper.projects.change(project, name="Mine", principal=BEN)
    for change in ({"status": "suspended"}, {"terms": LayerTerms(quotas={"sessions": 1})}):
        with pytest.raises(NotAllowed):
            await keeper.tenants.change("acme", principal=ADA, **change)
    with pytest.raises(NotAllowed):
        await keeper.tenants.list(principal=ADA)
    with pytest.raises(LayerNotFound):
        await keeper.tenants.get("acme", principal=GUS)
    assert (await keeper.projects.get(project, principal=BEN)).name == "Port"


async def test_the_role_and_status_that_a_tenant_gave_count_from_the_next_request(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    await keeper.users.create("ada", role="owner", principal=ADA)
    await keeper.users.create("ben", role="viewer", principal=ADA)

    with pytest.raises(NotAllowed):
        await keeper.chat("Hello", agent="echo", principal=BEN)
    with pytest.raises(LastOwner):
        await keeper.users.change("ada", status="suspended", principal=ADA)
    await keeper.users.change("ben", status="suspended", principal=ADA)
    with pytest.raises(UserSuspended):
        await keeper.chat("Hello", agent="echo", principal=BEN)
    await keeper.tenants.change("acme", status="suspended", principal=replace(ADA, is_operator=True))
    with pytest.raises(TenantSuspended):
        await other_keeper.chat("Hello", agent="echo", principal=ADA)


async def test_nobody_raises_anyone_above_their_own_role(keeper: Turnkeeper) -> None:
    admin = replace(BEN, role=Role.ADMIN)
    await keeper.users.create("ada", role="owner", principal=ADA)
    await keeper.users.create("dan", role="owner", principal=ADA)

    with pytest.raises(NotAllowed):
        await keeper.users.create("eve", role="owner", principal=admin)
    with pytest.raises(NotAllowed):
        await keeper.users.change("dan", role="member", principal=admin)
    demoted = await asyncio.gather(
        *(keeper.users.change(user, role="member", principal=ADA) for user in ("ada", "dan")), return_exceptions=True
    )

    assert [type(each) for each in demoted].count(LastOwner) == 1


async def test_agents_are_known_by_their_code_and_by_their_definition(keeper: Turnkeeper) -> None:
    defined = await keeper.definitions.put_agent("later", AgentTraits(capabilities=("search",)), principal=ADA)
    changed = await keeper.definitions.put_agent("later", AgentTraits(), expected_version=1, principal=ADA)

    known = {agent.id: (agent.has_code, agent.definition) for agent in await keeper.definitions.agents(principal=ADA)}

    assert known[AgentId("echo")] == (True, None)
    assert known[AgentId("later")] == (False, changed)
    assert (defined.version, changed.version) == (1, 2)
    with pytest.raises(RevisionMoved):
        await keeper.definitions.put_agent("later", AgentTraits(), expected_version=1, principal=ADA)


async def test_a_model_that_may_call_no_tools_leaves_none(keeper: Turnkeeper) -> None:
    await keeper.definitions.put_model("mute", ModelTraits(chat_model="m", no_tool_calls=True), principal=ADA)

    session = await a_session(keeper, model_profile="mute")

    assert not (await keeper.scoping.scope(session)).context.permits_tool("notes.page.read")


async def test_nyqst_84_who_comes_back_to_a_module_and_project_is_in_the_same_session(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    project = await a_project(keeper)
    both = (keeper, other_keeper)

    found = await asyncio.gather(
        *(each.current_session("research", project_id=project, principal=ADA) for each in both * 4)
    )
    elsewhere = await keeper.current_session("analysis", project_id=project, principal=ADA)
    await keeper.close_session(found[0].id, principal=ADA)
    anew = await asyncio.gather(
        *(each.current_session("research", project_id=project, principal=ADA) for each in both * 4)
    )

    assert [len({session.id for session in each}) for each in (found, anew)] == [1, 1]
    assert len({found[0].id, elsewhere.id, anew[0].id}) == 3


async def test_nyqst_06_the_same_request_begins_one_session(keeper: Turnkeeper, other_keeper: Turnkeeper) -> None:
    both = (keeper, other_keeper)

    made = await asyncio.gather(*(each.create_session(title="Tea", request_id="r-1") for each in both * 4))

    assert len({session.id for session in made}) == 1
    assert await keeper.count_sessions() == 1


async def test_nyqst_83_switching_the_module_keeps_the_session(keeper: Turnkeeper) -> None:
    pier = await a_base(keeper, "pier")
    session = await a_session(keeper, await a_project(keeper, pier), agent="echo")
    await keeper.chat("Hello", session_id=session.id, principal=ADA)

    switched = await keeper.scoping.change(session.id, Wanted(module=Module.ANALYSIS), principal=ADA)

    assert switched.purpose.module is Module.ANALYSIS
    assert await used(keeper, session) == [pier.id]
    assert len(await keeper.runs(session.id, principal=ADA)) == 1
    assert await whats(keeper, session) == ["started", "module_changed"]


async def test_nyqst_13_87_91_idle_is_a_pause_of_its_own_kind(keeper: Turnkeeper) -> None:
    session = await a_session(keeper, agent="echo")

    async def become(status: str) -> Session:
        return await keeper.scoping.change(session.id, Wanted(status=status), principal=ADA)

    idle = await become("idle")
    assert (idle.status, idle.pause_reason) == (SessionStatus.PAUSED, "idle")
    assert await become("idle") == idle
    with pytest.raises(InvalidTransition):
        await become("paused")
    await keeper.chat("I am back", session_id=session.id, principal=ADA)
    await become("paused")
    with pytest.raises(InvalidTransition):
        await become("idle")
    await become("active")
    await become("closed")
    with pytest.raises(InvalidTransition):
        await become("active")
    with pytest.raises(SessionEnded):
        await keeper.scoping.change(session.id, Wanted(module=Module.INSIGHT), principal=ADA)
    with pytest.raises(SessionEnded):
        await keeper.rebase_session(session.id, principal=ADA)

    assert await whats(keeper, session) == ["started", "paused", "resumed", "paused", "resumed", "closed"]


async def test_nyqst_14_closing_cancels_what_is_under_way(keeper: Turnkeeper) -> None:
    began = asyncio.Event()

    @keeper.agent("endless")
    async def endless(turn: AgentTurn) -> str:
        began.set()
        await asyncio.Event().wait()
        return ""

    ticket = await keeper.submit("Go on", agent="endless")
    await began.wait()
    queued = await keeper.submit("And this", session_id=ticket.run.session_id)
    await keeper.close_session(ticket.run.session_id)

    for each in (ticket, queued):
        with pytest.raises(RunEnded):
            await keeper.reply_to(each)
        assert (await keeper.run(each.run.id)).status is RunStatus.CANCELLED


async def test_nyqst_09_82_a_layout_is_kept_apart_and_losing_it_loses_nothing(keeper: Turnkeeper) -> None:
    session = await a_session(keeper, agent="echo", layout={"panes": [1, "\u00e9", None]})
    await keeper.chat("Hello", session_id=session.id, principal=ADA)
    await keeper.pause_session(session.id, principal=ADA)
    await keeper.resume_session(session.id, principal=ADA)
    await keeper.reset(session.id, principal=ADA)
    assert await keeper.scoping.layout(session.id, principal=ADA) == {"panes": [1, "\u00e9", None]}
    before = await keeper.session(session.id, principal=ADA)

    await keeper.scoping.save_layout(session.id, {"panes": []}, principal=ADA)
    await keeper.scoping.drop_layout(session.id, principal=ADA)

    assert await keeper.scoping.layout(session.id, principal=ADA) is None
    assert await keeper.session(session.id, principal=ADA) == before
    assert len(await keeper.messages(session.id, principal=ADA)) == 2


async def test_nyqst_85_86_everything_is_there_for_who_comes_back(keeper: Turnkeeper) -> None:
    pier, dock = await a_base(keeper, "pier"), await a_base(keeper, "dock")
    session = await a_session(keeper, await a_project(keeper, pier), agent="echo", layout={"tab": 1})
    await keeper.scoping.pin(session.id, Pin(kind=KB, id=dock.id), principal=ADA)
    await keeper.scoping.unpin(session.id, pier, principal=ADA)
    for number in range(3):
        await keeper.chat(f"m{number}", session_id=session.id, principal=ADA)

    view = await keeper.resume_view(session.id, messages=2, principal=ADA)
    await keeper.close_session(session.id, principal=ADA)
    next_one = await keeper.create_session(from_session_id=session.id, principal=ADA)

    assert [message.content for message in view.messages] == [
        "m2",
        "You said 'm2'. This is turn 3 of our conversation.",
    ]
    assert (view.layout, len(view.runs), view.outputs, view.approvals) == ({"tab": 1}, 3, [], [])
    assert [(v.mount.id, v.state) for v in view.scope.views] == [(pier.id, "removed"), (dock.id, "effective")]
    assert (next_one.from_session_id, next_one.status, next_one.agent_head) == (session.id, "active", None)
    assert next_one.context_sha256 == session.context_sha256
    assert await used(keeper, next_one) == [dock.id]
    assert next_one.purpose == session.purpose


async def test_nyqst_89_sessions_are_listed_by_what_they_are_for(keeper: Turnkeeper) -> None:
    project = await a_project(keeper)
    mine: Sequence[Session] = [await a_session(keeper, project) for _ in range(2)]
    await keeper.create_session(module="insight", principal=ADA)
    await keeper.close_session(mine[0].id, principal=ADA)
    sought = Sought(module=Module.RESEARCH, status=SessionStatus.ACTIVE)

    found = await keeper.sessions(principal=ADA, sought=sought)

    assert [session.id for session in found] == [mine[1].id]
    assert await keeper.count_sessions(principal=ADA, sought=sought) == 1
    assert await keeper.count_sessions(principal=ADA, sought=Sought(project_id=mine[0].purpose.project_id)) == 2


async def test_a_plain_session_costs_no_read_for_what_it_does_not_inherit(keeper: Turnkeeper) -> None:
    session = await keeper.create_session(agent="echo")
    reads: list[str] = []
    scopes = keeper._world.scopes

    class Counting:
        async def above(self, *asked: object) -> Sequence[object]:
            reads.append("layers")
            return ()

    counted = replace(scopes, layers=Counting(), contexts=Counting())  # type: ignore[arg-type]

    scope = await counted.of(session)

    assert (scope.mounts, reads) == ((), [])
