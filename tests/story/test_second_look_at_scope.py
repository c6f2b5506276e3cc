"""What a session may reach, where somebody looked for a way around it."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.story.test_hierarchy import ADA, KB, a_base, a_project, a_session, told, used
from turnkeeper import AgentTurn, Settings, Turnkeeper
from turnkeeper.errors import EnvelopeInvalid, LayerNotActive, NotAllowed, PolicyRelaxation, RunEnded
from turnkeeper.keeping.scoping import Pin, Wanted
from turnkeeper.model.definition import AgentTraits
from turnkeeper.model.ids import UserId
from turnkeeper.model.layer import DefaultMount, LayerTerms
from turnkeeper.model.principal import Principal, Role
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.session import Session
from turnkeeper.testing.clock import SteppedClock


async def closed(keeper: Turnkeeper, session: Session) -> Session:
    return await keeper.close_session(session.id, principal=ADA)


async def test_who_goes_on_asks_for_one_thing_and_keeps_the_rest(keeper: Turnkeeper) -> None:
    pier, dock, mole = [await a_base(keeper, name) for name in ("pier", "dock", "mole")]
    project = await a_project(keeper, pier, dock, policy=PolicyTemplate.REGULATED, blocked_tools=("crm.*",))
    aim = await keeper.objectives.create("Find", project_id=project, principal=ADA)
    session = await a_session(keeper, project, objective_id=aim.id, pins=[Pin(kind=KB, id=mole.id)])
    await keeper.scoping.unpin(session.id, pier, principal=ADA)
    before = await closed(keeper, session)

    module = await keeper.create_session(from_session_id=session.id, module="analysis", principal=ADA)
    model = await keeper.create_session(from_session_id=session.id, model_profile="deep", principal=ADA)
    bare = await keeper.create_session(from_session_id=session.id, without=[KB], principal=ADA)

    assert module.purpose.module is Module.ANALYSIS
    assert (module.context_sha256, module.removed) == (before.context_sha256, before.removed)
    assert (module.purpose.project_id, module.purpose.objective_id) == (project, aim.id)
    inherited = (await keeper.scoping.scope(model)).context
    assert (inherited.policy, inherited.model_profile) == (PolicyTemplate.REGULATED, "deep")
    assert not inherited.permits_tool("crm.write")
    for each in (module, model):
        assert (pier.id, "project", "removed") in await told(keeper, each)
        assert await used(keeper, each) == [dock.id, mole.id]
    assert await used(keeper, bare) == [dock.id]


async def test_who_goes_on_elsewhere_takes_the_strictness_along(keeper: Turnkeeper) -> None:
    strict = await a_project(keeper, policy=PolicyTemplate.REGULATED)
    lax, stricter = await a_project(keeper), await a_project(keeper, policy=PolicyTemplate.AUDIT_CRITICAL)
    session = await closed(keeper, await a_session(keeper, strict))

    async def policy_in(project: str) -> PolicyTemplate:
        went = await keeper.create_session(from_session_id=session.id, project_id=project, principal=ADA)
        return (await keeper.scoping.scope(went)).context.policy

    assert await policy_in(lax) is PolicyTemplate.REGULATED
    assert await policy_in(stricter) is PolicyTemplate.AUDIT_CRITICAL
    for project in (None, lax):
        with pytest.raises(PolicyRelaxation, match="'exploratory' is laxer than the inherited 'regulated'"):
            await a_session(keeper, project, from_session_id=session.id, policy="exploratory")


async def test_nothing_goes_on_where_nothing_may_begin(keeper: Turnkeeper) -> None:
    project = await a_project(keeper)
    session = await closed(keeper, await a_session(keeper, project))
    await keeper.projects.change(project, status="archived", principal=ADA)

    with pytest.raises(LayerNotActive):
        await keeper.create_session(from_session_id=session.id, principal=ADA)
    with pytest.raises(LayerNotActive):
        await keeper.fork_session(session.id, principal=ADA)


async def test_another_agent_that_answers_is_held_to_its_own_definition(keeper: Turnkeeper) -> None:
    async def speak(turn: AgentTurn) -> str:
        called = await turn.call("crm.write", line="x")
        inherited = turn.context.inherited
        return f"{called.status} {called.code} {inherited.policy} {inherited.limits}"

    @keeper.tool("crm.write")
    async def write(line: str) -> str:
        """Writes it down."""
        return line

    for name in ("lax", "strict", "boxed"):
        keeper.agent(name)(speak)
    traits = AgentTraits(allowed_tools=("crm.read",), policy=PolicyTemplate.REGULATED, limits={"max_steps": 5})
    await keeper.definitions.put_agent("strict", traits, principal=ADA)
    await keeper.definitions.put_agent("boxed", AgentTraits(needs_isolation=True), principal=ADA)
    session = await a_session(keeper, agent="lax")

    own = await keeper.chat("Hello", session_id=session.id, principal=ADA)
    other = await keeper.chat("Hello", session_id=session.id, agent="strict", principal=ADA)
    with pytest.raises(RunEnded) as refused:
        await keeper.chat("Hello", session_id=session.id, agent="boxed", principal=ADA)
    await closed(keeper, session)
    went_on = await keeper.create_session(agent="strict", from_session_id=session.id, principal=ADA)
    later = await keeper.chat("Hello", session_id=went_on.id, principal=ADA)

    assert own.text == "ok None standard {}"
    assert other.text == later.text == "denied tool_not_permitted regulated {'max_steps': 5.0}"
    assert refused.value.code == "isolation_unavailable"


async def test_nobody_is_lowered_who_is_an_owner_by_a_token_alone(keeper: Turnkeeper) -> None:
    admin = Principal(tenant=ADA.tenant, user=UserId("dan"), role=Role.ADMIN)

    for principal, role in ((admin, "member"), (ADA, "member")):
        with pytest.raises(NotAllowed):
            await keeper.users.create("ada", role=role, principal=principal)
    with pytest.raises(NotAllowed):
        await keeper.users.create("dan", role="admin", principal=admin)

    assert (await keeper.users.create("ada", role="owner", principal=ADA)).role is Role.OWNER
    await keeper.users.create("eve", principal=ADA)
    assert (await keeper.users.change("eve", role="viewer", principal=admin)).role is Role.VIEWER


@pytest.mark.parametrize(
    "terms",
    [
        {"policy": "zz"},
        {"allowed_tools": "crm.*"},
        {"blocked_tools": "crm.*"},
        {"limits": {"max_steps": "many"}},
        {"limits": {"max_steps": float("inf")}},
        {"limits": {"timeout_seconds": 1e15}},
        {"idle_for_seconds": 1e15},
        {"retrieval": {"k": object()}},
        {"mounts": ({"kind": "zz", "id": "kb_1"},)},
    ],
)
async def test_terms_that_could_not_be_read_back_are_refused(keeper: Turnkeeper, terms: dict[str, Any]) -> None:
    project = await a_project(keeper)

    with pytest.raises(EnvelopeInvalid):
        await keeper.projects.create("Pier", terms=LayerTerms(**terms), principal=ADA)
    with pytest.raises(EnvelopeInvalid):
        await keeper.projects.change(project, terms=LayerTerms(**terms), principal=ADA)


async def test_terms_in_plain_python_are_kept_as_what_they_mean(keeper: Turnkeeper) -> None:
    pier = await a_base(keeper, "pier")
    plain: dict[str, Any] = {"mounts": [{"kind": "knowledge_base", "id": pier.id}], "policy": "regulated"}

    made = await keeper.projects.create("Pier", terms=LayerTerms(**plain), principal=ADA)

    assert made == await keeper.projects.get(made.id, principal=ADA)
    assert made.terms.mounts == (DefaultMount(kind=KB, id=pier.id),)
    with pytest.raises(EnvelopeInvalid):
        await keeper.definitions.put_agent("echo", AgentTraits(allowed_tools="crm.*"), principal=ADA)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="list of patterns"):
        keeper.agent("careless", tools="crm.*")


async def test_of_several_who_change_a_layer_at_once_all_are_heard(
    keeper: Turnkeeper, other_keeper: Turnkeeper
) -> None:
    project = await a_project(keeper)

    await asyncio.gather(
        keeper.projects.change(project, terms=lambda terms: replace(terms, prompt="Be brief."), principal=ADA),
        other_keeper.projects.change(project, terms=lambda terms: replace(terms, model_profile="deep"), principal=ADA),
        keeper.tenants.change("acme", terms=lambda terms: replace(terms, prompt="Be kind."), principal=ADA),
        other_keeper.tenants.change("acme", terms=lambda terms: replace(terms, model_profile="deep"), principal=ADA),
    )

    for layer in (await keeper.projects.get(project, principal=ADA), await keeper.tenants.get("acme", principal=ADA)):
        assert layer.revision in (2, 3)
        assert (bool(layer.terms.prompt), layer.terms.model_profile) == (True, "deep")


async def test_the_current_session_is_the_one_that_was_used_last_however_it_came_there(keeper: Turnkeeper) -> None:
    project = await a_project(keeper)
    first, second = await a_session(keeper, project, agent="echo"), await a_session(keeper, project, agent="echo")
    await a_session(keeper, agent="echo")
    await keeper.chat("Hello", session_id=first.id, principal=ADA)

    async def entered(module: str) -> tuple[str, bool]:
        session, is_new = await keeper.enter_session(module, project_id=project, principal=ADA)
        assert (session.purpose.module, session.purpose.project_id) == (module, project)
        return session.id, is_new

    assert await entered("research") == (first.id, False)
    await keeper.scoping.change(first.id, Wanted(module=Module.ANALYSIS), principal=ADA)
    assert await entered("analysis") == (first.id, False)
    assert await entered("research") == (second.id, False)
    await closed(keeper, second)
    made, is_new = await entered("research")
    assert (made not in (first.id, second.id), is_new) == (True, True)
    assert await entered("research") == (made, False)


async def test_what_is_suspended_is_named_and_stops_also_where_nobody_had_described_it(keeper: Turnkeeper) -> None:
    operator = replace(ADA, is_operator=True)

    @keeper.tool("crm.read")
    async def read(line: str) -> str:
        """Reads it."""
        return line

    @keeper.agent("reader")
    async def reader(turn: AgentTurn) -> str:
        one = await turn.call("crm.read", line="1")
        await keeper.tenants.change("acme", status="suspended", principal=operator)
        two = await turn.call("crm.read", line="2")
        return f"{one.status} {two.status} {two.code}"

    project = await a_project(keeper)
    session = await a_session(keeper, project, agent="reader")
    await keeper.projects.change(project, status="suspended", principal=ADA)
    with pytest.raises(RunEnded) as refused:
        await keeper.chat("Hello", session_id=session.id, principal=ADA)
    reply = await keeper.chat("Hello", agent="reader", principal=operator)
    with pytest.raises(RunEnded) as stopped:
        await keeper.chat("Hello", session_id=reply.session_id, principal=operator)

    assert (refused.value.code, stopped.value.code) == ("layer_suspended", "tenant_suspended")
    assert f"The project '{project}' is suspended" in refused.value.detail
    assert reply.text == "ok denied session_not_active"


async def test_what_is_due_in_a_suspended_tenant_waits_and_writes_nothing(settings: Settings) -> None:
    operator, clock = replace(ADA, is_operator=True), SteppedClock()
    async with Turnkeeper.open(settings=settings, clock=clock) as keeper:

        @keeper.tool("connector.crm.write")
        async def write(line: str) -> str:
            """Writes it down."""
            return line

        @keeper.agent("writer")
        async def writer(turn: AgentTurn) -> str:
            return f"{(await turn.call('connector.crm.write', line='x')).status}"

        await keeper.chat("Hello", agent="writer", principal=ADA)
        await keeper.tenants.change("acme", status="suspended", principal=operator)
        clock.step(25 * 3600)
        before = [entry async for entry in keeper.audit_entries("acme")]
        settled = [await keeper.approvals.settle_what_is_due() for _ in range(2)]
        after = [entry async for entry in keeper.audit_entries("acme")]
        waiting = await keeper.approvals.list(principal=ADA, status="pending")

        assert (settled, len(after), len(waiting)) == ([0, 0], len(before), 1)


async def test_a_session_is_rebased_under_a_layer_that_is_stricter_by_now(keeper: Turnkeeper) -> None:
    project = await a_project(keeper)
    session = await a_session(keeper, project, policy="standard")
    await keeper.projects.change(project, terms=LayerTerms(policy=PolicyTemplate.REGULATED), principal=ADA)

    rebased = await keeper.rebase_session(session.id, principal=ADA)

    assert (await keeper.scoping.scope(rebased)).context.policy is PolicyTemplate.REGULATED
    events = await keeper.session_events(session.id, principal=ADA)
    assert events[-1].data["policy"] == "regulated"


async def test_a_session_that_its_client_keeps_is_held_to_what_its_tenant_and_agent_say(keeper: Turnkeeper) -> None:
    @keeper.tool("crm.write")
    async def write(line: str) -> str:
        """Writes it down."""
        return line

    @keeper.agent("writer")
    async def writer(turn: AgentTurn) -> str:
        called = await turn.call("crm.write", line="x")
        return f"{called.code} {turn.context.inherited.policy} {turn.context.inherited.limits}"

    before = await keeper.chat("Hello", agent="writer", custody="client", principal=ADA)
    terms = LayerTerms(policy=PolicyTemplate.REGULATED, blocked_tools=("crm.*",))
    await keeper.tenants.change("acme", terms=terms, principal=ADA)
    await keeper.definitions.put_agent("writer", AgentTraits(limits={"max_steps": 5}), principal=ADA)
    after = await keeper.chat("Hello", agent="writer", custody="client", principal=ADA)

    assert before.text == "None standard {}"
    assert after.text == "tool_not_permitted regulated {'max_steps': 5.0}"
