"""May this session do this to that, right now? The one function that everyone asks.

Discovery asks it what to offer, the wrapper of every tool before it calls, the services when a session-bound agent
calls them, and whoever builds a sandbox what to put into it.
"""

from dataclasses import dataclass

from turnkeeper.model.gate import TEMPLATES, GateKind, GateRule, gate_of
from turnkeeper.model.mount import Mount, MountKind, MountRef
from turnkeeper.model.policy import Policy
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.scope import SessionScope, matches
from turnkeeper.model.tool import Denial, Resource, ResourceKind, ToolSpec
from turnkeeper.ports.scopes import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """It may happen; with a `rule` a person is told of it, or asked to look at it afterwards."""

    rule: GateRule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """It may not happen. `resource` is what was out of reach, where that is why."""

    denial: Denial
    resource: Resource | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """It may happen once a person has approved."""

    rule: GateRule


Answer = Allowed | Refused | Gated

_MOUNTED = {ResourceKind.POINTER: MountKind.POINTER, ResourceKind.KNOWLEDGE_BASE: MountKind.KNOWLEDGE_BASE}


@dataclass(frozen=True, slots=True)
class ScopeCheck:
    reach: Reach
    policy: Policy

    async def __call__(
        self,
        scope: SessionScope,
        action: str,
        *resources: Resource,
        tool: ToolSpec | None = None,
        own_tools: tuple[str, ...] | None = None,
        safety_mode: SafetyMode = SafetyMode.DESTRUCTIVE,
    ) -> Answer:
        """`own_tools` are patterns of those that the agent was registered with; None is every one."""
        if scope.is_suspended:
            return Refused(denial=Denial.SESSION_NOT_ACTIVE)
        if tool is not None and not permits(scope, tool.name, own_tools):
            return Refused(denial=Denial.TOOL_NOT_PERMITTED)
        for resource in resources:
            if not await self.reaches(scope, resource):
                return Refused(denial=Denial.OUT_OF_SCOPE, resource=resource)
        if tool is not None and not safety_mode.allows(tool.safety_mode):
            return Refused(denial=Denial.POLICY_DENIED)
        rule = gate_of(action, self.rules(scope))
        if rule is not None and rule.kind is GateKind.APPROVE:
            return Gated(rule=rule)
        return Allowed(rule=rule)

    async def reaches(self, scope: SessionScope, resource: Resource) -> bool:
        """Whether the session has this at all: mounted, behind what is mounted, or its own output."""
        if kind := _MOUNTED.get(resource.kind):
            return scope.mount(MountRef(kind=kind, id=resource.id)) is not None
        pointers = scope.of_kind(MountKind.POINTER)
        if resource.kind is ResourceKind.MANIFEST:
            return await self.reach.holds_manifest(scope.tenant, scope.session_id, pointers, resource.id)
        if scope.mount(MountRef(kind=MountKind.ARTIFACT, id=resource.id)) is not None:
            return True
        return await self.reach.holds_artifact(scope.tenant, scope.session_id, pointers, resource.id)

    def rules(self, scope: SessionScope) -> tuple[GateRule, ...]:
        """Those of its template, and those that the operator adds; a rule can only make another one stricter."""
        return TEMPLATES[scope.context.policy] + self.policy.gates_of(scope.tenant)

    def for_sandbox(self, scope: SessionScope) -> tuple[Mount, ...]:
        """What a sandbox of this session may see: what the check lets through, and nothing else."""
        return () if scope.is_suspended else tuple(each.mount for each in scope.mounts)


def permits(scope: SessionScope, tool: str, own_tools: tuple[str, ...] | None) -> bool:
    return (own_tools is None or matches(tool, own_tools)) and scope.context.permits_tool(tool)


def lacks(scope: SessionScope, kinds: frozenset[ResourceKind]) -> bool:
    """Whether the session has nothing at all of a kind that a tool cannot do without."""
    return any(kind in _MOUNTED and not scope.of_kind(_MOUNTED[kind]) for kind in kinds)
