"""The one function that says whether a session may do this to that."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from turnkeeper.model.gate import GateKind, GateRule
from turnkeeper.model.ids import SessionId, TenantId
from turnkeeper.model.mount import Mount, MountKind
from turnkeeper.model.policy import Policy
from turnkeeper.model.purpose import PolicyTemplate
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.scope import Context, EffectiveMount, Level, SessionScope
from turnkeeper.model.tool import Denial, Resource, ResourceKind, ToolSpec
from turnkeeper.scope.check import Allowed, Gated, Refused, ScopeCheck
from turnkeeper.testing.clock import NOON

ACME = TenantId("acme")
TOOL = ToolSpec(name="docs.file.read", description="", parameters={}, action="docs.file.read")


class Shelf:
    """A Reach: pointer `ptr_1` has held the manifest `m1`, which has the artifact `a1`."""

    async def holds_manifest(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], manifest: str
    ) -> bool:
        return manifest == "m1" and "ptr_1" in {mount.id for mount in pointers}

    async def holds_artifact(
        self, tenant: TenantId, session_id: SessionId, pointers: Sequence[Mount], sha256: str
    ) -> bool:
        return sha256 == "a1" and "ptr_1" in {mount.id for mount in pointers}


CHECK = ScopeCheck(Shelf(), Policy())


def a_scope(*mounts: tuple[MountKind, str], context: Context | None = None, suspended: bool = False) -> SessionScope:
    return SessionScope(
        tenant=ACME,
        session_id=SessionId("sess_1"),
        context=context or Context(),
        mounts=tuple(
            EffectiveMount(mount=Mount(kind=kind, id=id, mounted_at=NOON + timedelta(seconds=no)), source=Level.SESSION)
            for no, (kind, id) in enumerate(mounts)
        ),
        is_suspended=suspended,
    )


def of(kind: ResourceKind, id: str) -> Resource:
    return Resource(kind=kind, id=id)


POINTER = (MountKind.POINTER, "ptr_1")


@pytest.mark.parametrize(
    "resource",
    [
        of(ResourceKind.POINTER, "ptr_1"),
        of(ResourceKind.MANIFEST, "m1"),
        of(ResourceKind.ARTIFACT, "a1"),
        of(ResourceKind.ARTIFACT, "pinned"),
        of(ResourceKind.KNOWLEDGE_BASE, "kb_1"),
    ],
)
async def test_nyqst_44_48_what_is_mounted_and_what_lies_behind_it_is_in_reach(resource: Resource) -> None:
    scope = a_scope(POINTER, (MountKind.ARTIFACT, "pinned"), (MountKind.KNOWLEDGE_BASE, "kb_1"))

    assert await CHECK(scope, "docs.file.read", resource, tool=TOOL) == Allowed()


@pytest.mark.parametrize("kind", list(ResourceKind))
@pytest.mark.parametrize("id", ["ptr_1", "m1", "a1", "kb_1", "nowhere"])
async def test_nyqst_37_with_nothing_mounted_nothing_is_in_reach(kind: ResourceKind, id: str) -> None:
    assert await CHECK(a_scope(), "docs.file.read", of(kind, id)) == Refused(
        denial=Denial.OUT_OF_SCOPE, resource=of(kind, id)
    )


async def test_a_knowledge_base_gives_its_units_and_not_the_artifacts_behind_it() -> None:
    scope = a_scope((MountKind.KNOWLEDGE_BASE, "kb_1"))

    assert await CHECK(scope, "docs.file.read", of(ResourceKind.ARTIFACT, "a1")) != Allowed()


async def test_of_several_resources_one_that_is_out_of_reach_is_enough() -> None:
    out = of(ResourceKind.POINTER, "ptr_2")

    answer = await CHECK(a_scope(POINTER), "docs.file.read", of(ResourceKind.POINTER, "ptr_1"), out, tool=TOOL)

    assert answer == Refused(denial=Denial.OUT_OF_SCOPE, resource=out)


async def test_a_suspended_tenant_stops_everything() -> None:
    answer = await CHECK(a_scope(POINTER, suspended=True), "docs.file.read", tool=TOOL)

    assert answer == Refused(denial=Denial.SESSION_NOT_ACTIVE)
    assert CHECK.for_sandbox(a_scope(POINTER, suspended=True)) == ()
    assert [mount.id for mount in CHECK.for_sandbox(a_scope(POINTER))] == ["ptr_1"]


@pytest.mark.parametrize(
    ("context", "own"),
    [
        (Context(allowed_tools=(("mail.*",),)), None),
        (Context(allowed_tools=(("docs.*",), ("docs.file.write",))), None),
        (Context(blocked_tools=("docs.*.read",)), None),
        (Context(), ("mail.*",)),
        (Context(), ()),
    ],
)
async def test_nyqst_42_a_tool_must_be_allowed_by_every_layer_and_blocked_by_none(
    context: Context, own: tuple[str, ...] | None
) -> None:
    answer = await CHECK(a_scope(context=context), "docs.file.read", tool=TOOL, own_tools=own)

    assert answer == Refused(denial=Denial.TOOL_NOT_PERMITTED)


async def test_a_tool_needs_a_run_that_may_go_that_far() -> None:
    far = ToolSpec(name="a.b", description="", parameters={}, action="a.b", safety_mode=SafetyMode.NETWORK)

    near = await CHECK(a_scope(), "a.b", tool=far, safety_mode=SafetyMode.LOCAL_WRITE)
    enough = await CHECK(a_scope(), "a.b", tool=far, safety_mode=SafetyMode.NETWORK)

    assert near == Refused(denial=Denial.POLICY_DENIED)
    assert enough == Allowed()


async def test_nyqst_55_the_template_of_the_session_gates_and_the_operator_adds_to_it() -> None:
    critical = a_scope(POINTER, context=Context(policy=PolicyTemplate.AUDIT_CRITICAL))
    lax = a_scope(POINTER, context=Context(policy=PolicyTemplate.EXPLORATORY))
    rule = GateRule(action="substrate.pointer.*", kind=GateKind.APPROVE)
    pointer = of(ResourceKind.POINTER, "ptr_1")

    for action in ("substrate.pointer.advance", "substrate.pointer.promote", "substrate.pointer.reset"):
        assert isinstance(await CHECK(critical, action, pointer), Gated)
        assert await CHECK(lax, action, pointer) == Allowed()
        stricter = ScopeCheck(Shelf(), Policy(gates=(rule,)))
        assert await stricter(lax, action, pointer) == Gated(rule=rule)
        elsewhere = ScopeCheck(Shelf(), Policy(tenant_gates={TenantId("globex"): (rule,)}))
        assert await elsewhere(lax, action, pointer) == Allowed()


async def test_what_is_out_of_scope_is_never_asked_of_a_person() -> None:
    critical = a_scope(context=Context(policy=PolicyTemplate.AUDIT_CRITICAL))

    answer = await CHECK(critical, "substrate.pointer.advance", of(ResourceKind.POINTER, "ptr_1"))

    assert isinstance(answer, Refused)
