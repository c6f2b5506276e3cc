"""Calling the tools of a run: validate, scope, policy, approval, execute, record."""

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from turnkeeper.errors import ScopeDenied
from turnkeeper.model.approval import Approval, ApprovalStatus, ApprovalWish
from turnkeeper.model.checkpoint import Ask, AskKind
from turnkeeper.model.feed import FeedType
from turnkeeper.model.gate import GateKind, GateRule
from turnkeeper.model.graph import NodeType
from turnkeeper.model.ids import ApprovalId, RunId, SessionId, TenantId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.model.mount import Mount, MountKind, MountRef
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.run import Run
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.scope import SessionScope
from turnkeeper.model.session import Session
from turnkeeper.model.tool import MEANINGS, Denial, Resource, ResourceKind, ToolResult, ToolSpec, ToolStatus
from turnkeeper.ports.agent import AgentTurn, Suspended
from turnkeeper.ports.approvals import ApprovalStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.effects import Effects
from turnkeeper.ports.feed import FeedStore, Wakes
from turnkeeper.ports.scopes import Scopes
from turnkeeper.ports.sessions import SessionStore
from turnkeeper.ports.substrate import Check, Mounted, Substrate
from turnkeeper.ports.tools import Tool, Tools
from turnkeeper.scope.check import Allowed, Answer, Gated, Refused, ScopeCheck, lacks

SHOWN_CHARS = 2_000
MOVES = ("substrate.pointer.advance", "substrate.pointer.promote")
"""What an agent that may only read does not do, whatever is mounted."""

Search = Callable[[TenantId, Mount, str, int], Awaitable[Sequence[FoundUnit]]]
"""What a mounted knowledge base knows of some words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDesk:
    """What every call of a tool needs of the world."""

    tools: Tools
    check: ScopeCheck
    scopes: Scopes
    sessions: SessionStore
    approvals: ApprovalStore
    feed: FeedStore
    wakes: Wakes
    clock: Clock
    search: Search


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfTools:
    """The run that calls: what is true of it does not come from any argument."""

    run: Run
    lease: Lease
    session: Session
    context: RunContext
    effects: Effects
    own_tools: tuple[str, ...] | None
    own_mode: SafetyMode | None
    substrate: Callable[[Check, Mounted], Substrate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """Something that a run is about to do, as a person is asked about it. `key` is the same in every walk."""

    key: str
    action: str
    what: str
    arguments: Mapping[str, Any]
    resources: Sequence[Resource]
    risk: SafetyMode

    @property
    def question(self) -> str:
        return f"May I do this: {self.what} ({self.action})?"


class CalledTools:
    """The tools of one run. The session is looked at anew for every call: what was taken away is out of reach."""

    def __init__(self, desk: ToolDesk, of: RunOfTools) -> None:
        self._desk, self._of = desk, of
        self._loop = asyncio.get_running_loop()

    def offered(self) -> Any:
        return self._wherever(self._offered())

    def call(self, turn: AgentTurn, name: str, arguments: Mapping[str, Any], call_id: str) -> Any:
        return self._wherever(self._called(turn, name, arguments, call_id))

    def _wherever(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Async agents await it; those in threads are handed the result."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        return work

    async def _offered(self) -> tuple[ToolSpec, ...]:
        desk, of = self._desk, self._of
        mode = of.context.safety_mode
        return await offered(desk.tools, desk.check, await self._scope(), own_tools=of.own_tools, safety_mode=mode)

    async def _called(self, turn: AgentTurn, name: str, arguments: Mapping[str, Any], call_id: str) -> ToolResult:
        key = f"{name[:64]}#{call_id[:64]}:{_hash(arguments)[:16]}"
        node = f"tool:{call_id}"
        turn.notes.begin(node, NodeType.TOOL, name, input=arguments)
        try:
            result = await self._through_the_gate(turn, name, arguments, call_id, key)
        except Suspended:
            turn.notes.end(node, "waiting")
            raise
        except BaseException as error:
            turn.notes.end(node, "failed", error=type(error).__name__)
            raise
        said = result.data if result.is_ok else None
        turn.notes.end(node, result.status.value, output=said, error=result.code, metadata={"tool": name})
        if result.status is ToolStatus.DENIED:
            turn.notes.warn(f"denied.{result.code}", {"tool": name, "call_id": call_id})
        return result

    async def _through_the_gate(
        self, turn: AgentTurn, name: str, arguments: Mapping[str, Any], call_id: str, key: str
    ) -> ToolResult:
        tool = self._desk.tools.get(name)
        # What was decided about this call is heard, also when the call is refused for another reason by now.
        decided = turn.approval(key)
        if tool is None:
            return await self._refused(Refused(denial=Denial.TOOL_NOT_PERMITTED), name, call_id, key)
        scope = await self._scope()
        permitted = await self._answer(scope, tool)
        if isinstance(permitted, Refused) and permitted.denial is Denial.TOOL_NOT_PERMITTED:
            # Before its arguments are looked at: a tool that one may not use tells nothing about itself.
            return await self._refused(permitted, name, call_id, key)
        try:
            given, resources = tool.read(arguments)
        except (ValueError, msgspec.ValidationError) as error:
            return await self._refused(Refused(denial=Denial.INVALID_ARGUMENTS), name, call_id, key, str(error))
        answer = await self._answer(scope, tool, *resources)
        if isinstance(answer, Refused):
            return await self._refused(answer, name, call_id, key)
        deed = Deed(
            key=key,
            action=tool.spec.action,
            what=f"call {name}",
            arguments=arguments,
            resources=resources,
            risk=tool.spec.safety_mode,
        )
        denied = await self._asked(answer, deed, decided)
        if denied is not None:
            return await self._refused(denied, name, call_id, key)
        # What a person approved, or nobody had to, is not asked about again inside the tool.
        settled = Settled(action=tool.spec.action, resources=frozenset(resources))
        call = Call(self, scope, call_id, self._of.effects.key_of(key), settled)
        return await self._recorded(tool, key, call_id, lambda: self._run(tool, call, given))

    async def _answer(self, scope: SessionScope, tool: Tool, *resources: Resource) -> Answer:
        return await self._desk.check(
            scope,
            tool.spec.action,
            *resources,
            tool=tool.spec,
            own_tools=self._of.own_tools,
            safety_mode=self._of.context.safety_mode,
        )

    async def _scope(self) -> SessionScope:
        session = self._of.session
        if self._of.run.custody.is_ours:
            session = await self._desk.sessions.get(session.tenant, session.id)
        scope = await self._desk.scopes.of_run(session, self._of.run)
        return replace(scope, is_suspended=True) if session.status.is_terminal else scope

    async def _asked(self, answer: Allowed | Gated, deed: Deed, decided: Ask | None) -> Refused | None:
        """None when it may go on. Raises Suspended while a person has to decide and none has."""
        if isinstance(answer, Allowed):
            if answer.rule is not None:
                await self._tell(answer.rule, deed)
            return None
        if not self._of.run.custody.is_ours:
            return Refused(denial=Denial.APPROVAL_REQUIRED)
        if decided is None and await self._of.effects.is_done(deed.key):
            return None
        if decided is None:
            raise Suspended(deed.question, AskKind.APPROVAL, wish=self._wish(answer.rule, deed))
        return None if decided.answer == ApprovalStatus.APPROVED else Refused(denial=Denial.APPROVAL_REQUIRED)

    async def _tell(self, rule: GateRule, deed: Deed) -> None:
        """It goes on; a person is told of it, or asked to look at it."""
        if not self._of.run.custody.is_ours or await self._of.effects.is_begun(deed.key):
            return
        run = self._of.run
        approval = Approval.wished(self._wish(rule, deed), run.tenant, run.id, run.session_id)
        if rule.kind is GateKind.REVIEW:
            await self._desk.approvals.request(self._of.lease, approval)
        else:
            now = self._desk.clock.now()
            await self._desk.feed.append(self._of.lease, FeedType.APPROVAL_REQUESTED, approval.told, at=now)
        self._wake()

    def _wish(self, rule: GateRule, deed: Deed) -> ApprovalWish:
        shown = msgspec.json.encode(deed.arguments, enc_hook=str).decode()[:SHOWN_CHARS]
        return ApprovalWish(
            id=ApprovalId(self._desk.clock.new_id("appr")),
            key=deed.key,
            action=deed.action,
            rule=rule,
            context={
                "summary": deed.question,
                "arguments": shown,
                "resources": [{"kind": each.kind.value, "id": each.id} for each in deed.resources],
                "agent": self._of.run.agent,
                "user": self._of.run.user,
                "risk": deed.risk.value,
            },
            requested_at=self._desk.clock.now(),
        )

    async def _refused(self, refused: Refused, name: str, call_id: str, key: str, why: str | None = None) -> ToolResult:
        """A result that the agent can read. What is not there and what is not mounted are told alike."""
        message = MEANINGS[refused.denial] if why is None else f"{MEANINGS[refused.denial]} {why}"
        result = _denied(call_id, name, refused.denial, message)
        if not await self._of.effects.is_begun(key):
            said = {"code": refused.denial.value, "tool": name[:64], "call_id": call_id[:64]}
            if refused.resource is not None:
                said["resource"] = refused.resource.kind.value
            await self._desk.feed.append(self._of.lease, FeedType.SCOPE_DENIED, said, at=self._desk.clock.now())

        async def give() -> Any:
            return msgspec.to_builtins(result)

        return await self._kept(key, give, call_id, name, repeatable=True)

    async def _recorded(
        self, tool: Tool, key: str, call_id: str, work: Callable[[], Awaitable[ToolResult]]
    ) -> ToolResult:
        async def run() -> Any:
            return msgspec.to_builtins(await work())

        return await self._kept(key, run, call_id, tool.spec.name, repeatable=tool.spec.repeatable)

    async def _kept(
        self, key: str, work: Callable[[], Awaitable[Any]], call_id: str, name: str, *, repeatable: bool
    ) -> ToolResult:
        about = {"tool": name[:64], "call_id": call_id[:64]}
        kept = await self._of.effects.once(key, work, repeatable=repeatable, about=about)
        return msgspec.convert(kept, ToolResult)

    async def _run(self, tool: Tool, call: "Call", given: Mapping[str, Any]) -> ToolResult:
        began = time.perf_counter()
        try:
            data = await tool.run(call, given)
        except ScopeDenied as denied:
            return _denied(call.call_id, tool.spec.name, denied.denial, denied.detail)
        except Exception as error:
            # Its words may be a user's, or a secret: only its kind is told.
            message = f"The tool failed with {type(error).__name__}."
            return ToolResult(
                call_id=call.call_id,
                tool=tool.spec.name,
                status=ToolStatus.FAILED,
                code="tool_failed",
                message=message,
            )
        took = int((time.perf_counter() - began) * 1000)
        return ToolResult(call_id=call.call_id, tool=tool.spec.name, status=ToolStatus.OK, data=data, took_ms=took)

    def substrate(self, turn: AgentTurn) -> Substrate:
        return self._of.substrate(self.asking(turn), self.mounted)

    def substrate_within(self, check: Check) -> Substrate:
        return self._of.substrate(check, self.mounted)

    async def check_within(self, action: str, *resources: Resource, settled: "Settled | None" = None) -> None:
        """What a tool does through its call is checked like the call itself. Raises ScopeDenied.

        A gate is passed by what is `settled`; in the middle of a tool no person can be asked.
        """
        answer = await self._checked(action, resources)
        if isinstance(answer, Gated) and (settled is None or not settled.covers(action, resources)):
            raise ScopeDenied(Denial.APPROVAL_REQUIRED)

    async def _checked(self, action: str, resources: Sequence[Resource]) -> Allowed | Gated:
        """Raises ScopeDenied."""
        own = self._of.own_mode
        if action in MOVES and own is not None and not own.allows(SafetyMode.LOCAL_WRITE):
            raise ScopeDenied(Denial.POLICY_DENIED)
        answer = await self._desk.check(await self._scope(), action, *resources)
        if isinstance(answer, Refused):
            raise ScopeDenied(answer.denial)
        return answer

    async def mounted(self, ref: MountRef) -> Mount | None:
        """How the session has this mounted at this moment."""
        return (await self._scope()).mount(ref)

    def asking(self, turn: AgentTurn) -> Check:
        """A check for what the agent does by itself: it is denied, or a person is asked, as for a tool."""
        counted = Counter[str]()

        async def check(action: str, *resources: Resource, about: Mapping[str, Any] | None = None) -> str:
            key = counted_key(action, resources, about, counted)
            decided = turn.approval(key)
            answer = await self._checked(action, resources)
            deed = Deed(
                key=key,
                action=action,
                what=" and ".join(f"{action.rpartition('.')[2]} {each.kind.value} {each.id}" for each in resources)
                or action,
                arguments=about or {},
                resources=resources,
                risk=SafetyMode.LOCAL_WRITE if action in MOVES else SafetyMode.READ_ONLY,
            )
            if await self._asked(answer, deed, decided) is not None:
                raise ScopeDenied(Denial.APPROVAL_REQUIRED)
            return key

        return check

    async def search_within(self, knowledge_base: str, words: str, limit: int) -> Sequence[FoundUnit]:
        scope = await self._scope()
        mount = scope.mount(MountRef(kind=MountKind.KNOWLEDGE_BASE, id=knowledge_base))
        await self.check_within("knowledge.search", Resource(kind=ResourceKind.KNOWLEDGE_BASE, id=knowledge_base))
        assert mount is not None, "what may be searched is mounted"
        return await self._desk.search(scope.tenant, mount, words, limit)

    @property
    def run(self) -> Run:
        return self._of.run

    def _wake(self) -> None:
        self._desk.wakes.tell(self._of.lease.tenant, self._of.lease.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a person approved, or nobody had to: an action, on the resources that the call named."""

    action: str
    resources: frozenset[Resource]

    def covers(self, action: str, resources: Sequence[Resource]) -> bool:
        return action == self.action and self.resources.issuperset(resources)


@dataclass(frozen=True, slots=True)
class Call:
    """A ToolCall: what a tool is handed of the run that calls it."""

    _tools: CalledTools
    scope: SessionScope
    call_id: str
    effect_key: str
    settled: Settled
    counted: Counter[str] = field(default_factory=Counter)

    @property
    def tenant(self) -> TenantId:
        return self._tools.run.tenant

    @property
    def session_id(self) -> SessionId:
        return self._tools.run.session_id

    @property
    def run_id(self) -> RunId:
        return self._tools.run.id

    @property
    def user(self) -> UserId:
        return self._tools.run.user

    async def check(self, action: str, *resources: Resource) -> None:
        await self._tools.check_within(action, *resources, settled=self.settled)

    @property
    def substrate(self) -> Substrate:
        return self._tools.substrate_within(self._check_for_substrate)

    async def _check_for_substrate(
        self, action: str, *resources: Resource, about: Mapping[str, Any] | None = None
    ) -> str:
        await self.check(action, *resources)
        return f"{self.call_id[:64]}/{counted_key(action, resources, about, self.counted)}"

    async def search(self, knowledge_base: str, words: str, *, limit: int = 10) -> Sequence[FoundUnit]:
        return await self._tools.search_within(knowledge_base, words, limit)


async def offered(
    tools: Tools,
    check: ScopeCheck,
    scope: SessionScope,
    *,
    own_tools: tuple[str, ...] | None,
    safety_mode: SafetyMode = SafetyMode.DESTRUCTIVE,
) -> tuple[ToolSpec, ...]:
    """What an agent is shown: what it may call, and what it has something for. Those that ask a person say so."""
    found = []
    for tool in tools.all():
        spec = tool.spec
        answer = await check(scope, spec.action, tool=spec, own_tools=own_tools, safety_mode=safety_mode)
        if isinstance(answer, Refused) or lacks(scope, tool.needs):
            continue
        found.append(replace(spec, gate=GateKind.AUTO if answer.rule is None else answer.rule.kind))
    return tuple(found)


def counted_key(
    action: str, resources: Sequence[Resource], about: Mapping[str, Any] | None, counted: Counter[str]
) -> str:
    """Names just this, so that what is decided about one thing says nothing of another."""
    key = f"{action}#{_hash({'about': about or {}, 'to': [[each.kind, each.id] for each in resources]})[:16]}"
    counted[key] += 1
    return f"{key}.{counted[key]}"


def _denied(call_id: str, name: str, denial: Denial, message: str) -> ToolResult:
    return ToolResult(call_id=call_id, tool=name[:64], status=ToolStatus.DENIED, code=denial.value, message=message)


def _hash(arguments: Mapping[str, Any]) -> str:
    """Of what was given, so that another call under the same id is another one."""
    return hashlib.sha256(msgspec.json.encode(arguments, order="deterministic", enc_hook=str)).hexdigest()
