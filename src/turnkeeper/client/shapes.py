"""What a server tells of sessions and runs, under the names that these things have beside the engine.

Where a type of the model needs what does not travel, a type of the same name and attributes stands here for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.explanation import Stage, Summary
from turnkeeper.model.gate import GateKind
from turnkeeper.model.graph import Graph
from turnkeeper.model.ids import AgentId, LayerId, RunId, SessionId, TenantId, TraceId, UserId
from turnkeeper.model.message import Message
from turnkeeper.model.mode import Mode
from turnkeeper.model.mount import Mount, MountRef
from turnkeeper.model.output import Output, OutputKind
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.run import Finish, RunError, RunStatus
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.scope import ChainLink, EffectiveMount, Level, MountState, MountView
from turnkeeper.model.session import Custody, SessionStatus
from turnkeeper.model.unit import Unit

T = TypeVar("T")


def read(told: Any, kind: type[T]) -> T:
    """What was told, as this kind of thing. What a newer server tells beyond it is left out."""
    return msgspec.convert(told, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPin:
    """`ref` is `id@version`."""

    id: str
    version: str

    @property
    def ref(self) -> str:
        return f"{self.id}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Where a session was taken off another one, after this turn of it. `session_id` is None when it is erased."""

    session_id: SessionId | None
    turn: int
    is_erased: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    module: Module | None
    project_id: LayerId | None
    objective_id: LayerId | None
    objective: str | None
    backend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a session inherited, as far as it is told."""

    policy: PolicyTemplate
    model_profile: str | None
    limits: Mapping[str, float]
    needs_isolation: bool
    chain: tuple[ChainLink, ...]
    provenance: Mapping[str, Level]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionScope:
    """How far a session reaches; `views` are all its mounts, `mounts` those that hold."""

    tenant: TenantId
    session_id: SessionId
    context: Context
    views: tuple[MountView, ...]
    backend: str

    @property
    def mounts(self) -> tuple[EffectiveMount, ...]:
        held = (view for view in self.views if view.state is MountState.EFFECTIVE)
        return tuple(EffectiveMount(mount=view.mount, source=view.source) for view in held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """As in `turnkeeper.model.session`. `intent` is what is told of its dialogue, `scope` how far it reaches.

    `opening` is what was said first in its epoch, cut to a line.
    """

    tenant: TenantId
    id: SessionId
    owner: UserId
    agent: AgentId
    status: SessionStatus
    revision: int
    version: int
    turns: int
    epoch: Epoch
    title: str | None
    double_text: DoubleText | None
    idle_for_seconds: int
    created_at: datetime
    last_active_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    closed_reason: str | None
    preferences: Preferences
    packs: tuple[PackPin, ...]
    from_session_id: SessionId | None
    purpose: Purpose
    context_sha256: str
    agent_head: Mapping[str, Any] | None
    fork: Fork | None
    pruned_at: datetime | None
    archived_at: datetime | None
    archive: str | None
    pause_reason: str | None
    intent: Mapping[str, Any] | None
    scope: SessionScope
    opening: str | None = None

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Those that were pinned for this session."""
        return tuple(view.mount for view in self.scope.views if view.source is Level.SESSION)

    @property
    def removed(self) -> tuple[MountRef, ...]:
        """Those of its context that it does without."""
        return tuple(view.mount.ref for view in self.scope.views if view.state is MountState.REMOVED)


def session_of(told: Mapping[str, Any]) -> Session:
    packs = [dict(zip(("id", "version"), ref.rsplit("@", 1), strict=True)) for ref in told["packs"]]
    fork = None
    if told["fork_turn"] is not None:
        fork = {"session_id": told["fork_of"], "turn": told["fork_turn"], "is_erased": told["history_erased"]}
    return read(
        {
            **told,
            "epoch": {"number": told["epoch"]},
            "packs": packs,
            "purpose": told,
            "agent_head": told["thread"],
            "fork": fork,
            "scope": _scope_of(told),
        },
        Session,
    )


def _scope_of(told: Mapping[str, Any]) -> dict[str, Any]:
    views = [{"mount": mount, "source": mount["source"], "state": mount["state"]} for mount in told["mounts"]]
    return {
        "tenant": told["tenant"],
        "session_id": told["id"],
        "context": {**told, "chain": told["context_chain"]},
        "views": views,
        "backend": told["backend"],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """As in `turnkeeper.model.run`; `text` is its answer or its question.

    `result` is what a run that has ended gives a client to carry.
    """

    id: RunId
    session_id: SessionId
    custody: Custody
    agent: AgentId
    user: UserId
    status: RunStatus
    queue_no: int
    feed_no: int
    trace_id: TraceId
    accepted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    turn: int | None
    finish: Finish | None
    error: RunError | None
    retry_of: RunId | None
    superseded_by: RunId | None
    merged: bool | None
    mode: Mode
    account: Mapping[str, Any] | None = None
    text: str | None = None
    result: Mapping[str, Any] | None = None

    @property
    def follower(self) -> RunId | None:
        """The run that answers in its place."""
        return None if self.status is RunStatus.SUPERSEDED and not self.merged else self.superseded_by

    @property
    def has_reply(self) -> bool:
        return self.status in (RunStatus.COMPLETED, RunStatus.WAITING) or self.turn is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """As in `turnkeeper.model.reply`. `carried` is sealed. Its Explanation is asked for with `explanation(run_id)`."""

    session_id: SessionId
    run_id: RunId
    status: RunStatus
    text: str
    turn: int | None = None
    finish: Finish | None = None
    created: bool = False
    replaced_session_id: SessionId | None = None
    replaced_reason: str | None = None
    merged: bool | None = None
    carried: str | None = None
    warnings: tuple[str, ...] = ()
    units: Mapping[str, Any] = field(default_factory=dict)
    intent: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """An accepted message: what was made of it, before it is answered.

    `sent` is how it was sent, so that the same can be asked for again; `feed_no` is where the feed tells of it.
    """

    run: Run
    created: bool
    replaced_session_id: SessionId | None
    replaced_reason: str | None
    is_answer: bool
    feed_no: int
    sent: Mapping[str, Any] | None = field(default=None, repr=False)
    reply: Reply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What became of a delivery. Without a ticket it was a sign of life, and nothing runs for it."""

    ticket: Ticket | None
    delivery_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A session as it was closed, and the sealed state that its client goes on with under the same id."""

    session: Session
    carried: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent:
    no: int
    what: str
    by: str | None
    at: datetime
    status: str | None
    run_id: RunId | None
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingApproval:
    id: str
    run_id: RunId
    action: str
    required_role: str
    requested_at: datetime
    due_at: datetime | None
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeView:
    """A session as whoever comes back to it wants to see it."""

    session: Session
    layout: Any
    messages: Sequence[Message]
    runs: Sequence[Run]
    outputs: Sequence[Output]
    approvals: Sequence[PendingApproval]

    @property
    def scope(self) -> SessionScope:
        return self.session.scope

    @property
    def pointer_moves(self) -> Sequence[Output]:
        return [output for output in self.outputs if output.kind is OutputKind.POINTER]


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentLock:
    missing: tuple[str, ...]
    taken_at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    code: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarification:
    question: str
    reason: str
    options: tuple[Option, ...]
    turn: int
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialogue:
    """What a session holds about its intent."""

    intent: str
    state: str
    context: Mapping[str, Any]
    params: Mapping[str, Any]
    forms: Mapping[str, Form]
    asked: str | None
    lock: IntentLock | None
    clarification: Clarification | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAt:
    """A session as it stood after one of its turns."""

    session_id: SessionId
    turn: int
    epoch: Epoch
    last_seq: int
    at: datetime
    run_id: RunId | None
    messages: tuple[Message, ...]
    state: Mapping[str, Any]
    preferences: Preferences
    units: tuple[Unit, ...]
    agent_head: Mapping[str, Any] | None
    intent: Mapping[str, Any] | None
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """As in `turnkeeper.model.explanation`; its graph is told as it is drawn."""

    run_id: RunId
    session_id: SessionId
    status: RunStatus
    at: datetime
    turn: int | None
    stages: tuple[Stage, ...]
    budget: Mapping[str, Any]
    error: RunError | None
    warnings: tuple[str, ...]
    partial: bool
    plugins: Mapping[str, str]
    answer_status: str | None
    model: str | None
    level: int | None
    document: Mapping[str, Any] | None
    units: Mapping[str, Any]
    details: Mapping[str, Any]
    graph: Graph


Told = TypeVar("Told", Explanation, Summary)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRun(Generic[Told]):
    """An Explanation beside the beginning of what was asked and of what was answered, or of why it was not."""

    explanation: Told
    asked: str
    preview: str


def explained_of(told: Mapping[str, Any]) -> ExplainedRun[Explanation]:
    graph = dict(told["graph"])
    graph["edges"] = [{"type": edge["type"], "source": edge["from"], "target": edge["to"]} for edge in graph["edges"]]
    explanation = read({**told, "graph": graph}, Explanation)
    return ExplainedRun(explanation=explanation, asked=told["asked"], preview=told["preview"])


def summarized_of(told: Mapping[str, Any]) -> ExplainedRun[Summary]:
    return ExplainedRun(explanation=read(told, Summary), asked=told["asked"], preview=told["preview"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as it is shown to a model; `gate` is what its action needs in this session."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    action: str
    safety_mode: SafetyMode
    gate: GateKind
