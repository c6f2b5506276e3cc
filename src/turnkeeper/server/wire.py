"""What travels over HTTP. Strangers are believed nothing: every type is strict, and unknown fields are refused."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from turnkeeper.errors import EnvelopeInvalid
from turnkeeper.keeping.continuing import LONGEST_IDLE_SECONDS
from turnkeeper.keeping.scoping import NO_CONTEXT, Pin, Wanted
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.message import Message
from turnkeeper.model.mode import Mode
from turnkeeper.model.mount import MountKind, MountMode, MountRef
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Finish, Run, RunError, RunStatus
from turnkeeper.model.scope import Level, MountState, MountView, SessionScope
from turnkeeper.model.session import Custody, Session, SessionStatus

Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]{0,127}$")]
PackRef = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}(@(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2})?$",
        description="The id of a pack, or `id@version`. A session keeps the one of its first turn.",
    ),
]
PlainText = Annotated[str, Field(pattern=r"^[^\x00]*$")]

Item = TypeVar("Item")


class Inbound(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def one_of(*choices: str | tuple[str, ...]) -> dict[str, Any]:
    """What the schema of a body says of which one field, or group of fields, is given and all others are not."""
    groups = [(choice,) if isinstance(choice, str) else choice for choice in choices]
    return {
        "oneOf": [
            {
                "required": list(group),
                "properties": {
                    name: {"not": {"type": "null"}} if name in group else {"type": "null"}
                    for each in groups
                    for name in each
                },
            }
            for group in groups
        ]
    }


class Choosing(Inbound):
    """What to use: a plugin id for each kind, a model, and how hard to think."""

    plugins: dict[Id, Id] | None = None
    model: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    level: Annotated[int, Field(ge=0, le=3)] | None = None


class ChatIn(Choosing):
    """One message. Without `session_id` it begins a new session."""

    message: str = Field(min_length=1)
    session_id: Id | None = None
    agent: Id | None = None
    pack: PackRef | None = None
    stream: bool = False
    reset: bool = False
    params: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")
    double_text: Literal["enqueue", "reject", "rollback", "interrupt", "merge"] | None = None
    on_missing: Literal["new", "error"] = "new"
    answers: Id | None = Field(default=None, description="The id of the waiting run that this message answers.")
    custody: Literal["engine", "client"] = "engine"
    carried: str | None = Field(
        default=None, description="With custody `client`: `carried` of the newest reply, as it is."
    )
    freshness: Literal["any", "strict"] = Field(default="any", description="`strict` takes no older `carried`.")
    cancel_on_disconnect: bool = Field(default=False, description="Stop the run when this connection is lost.")


class AnswerIn(Inbound):
    message: str = Field(min_length=1)
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")


IdleSeconds = Annotated[int, Field(ge=1, le=LONGEST_IDLE_SECONDS)]
Title = Annotated[PlainText, Field(min_length=1, max_length=200)]


ModuleName = Literal["research", "analysis", "document", "modelling", "knowledge", "insight"]
PolicyName = Literal["exploratory", "standard", "regulated", "audit_critical"]
ObjectiveText = Annotated[PlainText, Field(min_length=1, max_length=2_000)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{64}$")]
Ids = Annotated[list[Id], Field(max_length=500)]
Hashes = Annotated[list[Sha256], Field(max_length=500)]


class UnpinPointerIn(Inbound):
    kind: Literal["pointer"]
    id: Id

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=MountKind.POINTER, id=self.id)


class UnpinBaseIn(Inbound):
    """`kb` is short for `knowledge_base`."""

    kind: Literal["knowledge_base", "kb"]
    id: Id

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=MountKind.KNOWLEDGE_BASE, id=self.id)


class UnpinArtifactIn(Inbound):
    kind: Literal["artifact"]
    id: Sha256

    @property
    def ref(self) -> MountRef:
        return MountRef(kind=MountKind.ARTIFACT, id=self.id)


class Pinned(Inbound):
    mode: Literal["follow", "fixed"] = Field(
        default="follow", description="A pointer is followed, or fixed to where it stands now."
    )

    @property
    def ref(self) -> MountRef:
        raise NotImplementedError

    @property
    def pin(self) -> Pin:
        return Pin(kind=self.ref.kind, id=self.ref.id, mode=MountMode(self.mode))


class PinPointerIn(UnpinPointerIn, Pinned):
    pass


class PinBaseIn(UnpinBaseIn, Pinned):
    pass


class PinArtifactIn(UnpinArtifactIn, Pinned):
    pass


PinIn = Annotated[PinPointerIn | PinBaseIn | PinArtifactIn, Field(discriminator="kind")]
UnpinIn = Annotated[UnpinPointerIn | UnpinBaseIn | UnpinArtifactIn, Field(discriminator="kind")]


class MountsIn(Inbound):
    pin: Annotated[list[PinIn], Field(max_length=500)] = Field(default_factory=list)
    unpin: Annotated[list[UnpinIn], Field(max_length=500)] = Field(default_factory=list)


class Mounting(Inbound):
    """Mounts as plain lists of ids, one list a kind."""

    mounted_pointers: Ids | None = None
    mounted_kbs: Ids | None = None
    pinned_artifacts: Hashes | None = None

    @property
    def lists(self) -> dict[MountKind, tuple[Pin, ...]]:
        named = {
            MountKind.POINTER: self.mounted_pointers,
            MountKind.KNOWLEDGE_BASE: self.mounted_kbs,
            MountKind.ARTIFACT: self.pinned_artifacts,
        }
        return {kind: tuple(Pin(kind=kind, id=id) for id in ids) for kind, ids in named.items() if ids is not None}


class CurrentIn(Inbound):
    """Where its user works; `agent` and `objective_id` are for the case that a session begins."""

    module: ModuleName
    project_id: Id | None = None
    objective_id: Id | None = None
    agent: Id | None = None


class SessionIn(Choosing, Mounting):
    """The given mounts are pins on top of what the session inherits.

    One that continues another takes over its pins of each kind of which no list is given; an empty list takes none.
    """

    agent: Id | None = None
    pack: PackRef | None = None
    title: Title | None = None
    idle_for_seconds: IdleSeconds | None = None
    from_session_id: Id | None = Field(default=None, description="A finished session that this one continues.")
    module: ModuleName | None = None
    project_id: Id | None = None
    objective_id: Id | None = None
    objective: ObjectiveText | None = None
    policy: PolicyName | None = None
    model_profile: Id | None = None
    backend: Id | None = None
    layout: JsonValue | None = None


class SettingsIn(Mounting):
    """What is to be different afterwards; what is left out stays as it is.

    Whole lists name what is to be mounted of a kind, all in all. `idle` is a pause with this reason.
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    title: Title | None = None
    double_text: Literal["enqueue", "reject", "rollback", "interrupt", "merge"] | None = None
    idle_for_seconds: IdleSeconds | None = None
    module: ModuleName | None = None
    objective: ObjectiveText | None = None
    status: Literal["active", "idle", "paused", "closed"] | None = None
    close_reason: Annotated[PlainText, Field(min_length=1, max_length=200)] | None = None
    mounts: MountsIn | None = None
    layout: JsonValue | None = None

    @property
    def wanted(self) -> Wanted:
        return Wanted(
            title=self.title,
            double_text=None if self.double_text is None else DoubleText(self.double_text),
            idle_for_seconds=self.idle_for_seconds,
            module=None if self.module is None else Module(self.module),
            objective=self.objective,
            status=self.status,
            reason=self.close_reason,
            pin=tuple(each.pin for each in self.mounts.pin) if self.mounts else (),
            unpin=tuple(each.ref for each in self.mounts.unpin) if self.mounts else (),
            exactly=self.lists,
        )


class ClosingIn(Inbound):
    reason: Annotated[PlainText, Field(min_length=1, max_length=200)] | None = None


class LayoutIn(Inbound):
    layout: JsonValue


class Outbound(BaseModel):
    model_config = ConfigDict(frozen=True)


class IntentOut(Outbound):
    """What the user wants, and which fields are missing for it; while it is locked they hold the session there."""

    code: str
    state: str
    locked: bool
    missing: list[str]


class ChatOut(Outbound):
    """The answer, or with `status` waiting the question that comes back."""

    session_id: str
    run_id: str
    turn: int | None = None
    text: str
    status: RunStatus
    created: bool
    replaced_session_id: str | None = None
    replaced_reason: str | None = None
    merged: bool | None = None
    carried: str | None = Field(
        default=None, description="The sealed state that the client sends with its next message."
    )
    finish: Finish | None = None
    intent: IntentOut | None = None
    warnings: list[str]

    @classmethod
    def of(cls, reply: Reply, carried: str | None = None) -> "ChatOut":
        """`carried` is what the reply gives its client to carry, sealed."""
        return cls(
            session_id=reply.session_id,
            run_id=reply.run_id,
            turn=reply.turn,
            text=reply.text,
            status=reply.status,
            created=reply.created,
            replaced_session_id=reply.replaced_session_id,
            replaced_reason=reply.replaced_reason,
            merged=reply.merged,
            carried=carried,
            finish=reply.finish,
            intent=None if reply.intent is None else IntentOut.model_validate(dict(reply.intent)),
            warnings=list(reply.warnings),
        )


class InvokeOut(ChatOut):
    """The answer to a full envelope, with the trace that it belongs to."""

    trace_id: str
    mode: Mode

    @classmethod
    def told(cls, reply: Reply, run: Run) -> "InvokeOut":
        return cls(**ChatOut.of(reply).model_dump(), trace_id=run.trace_id, mode=run.mode)


class RunHandle(Outbound):
    """A long run that has been taken in: `run` tells where it stands, `feed` what happens in it."""

    run_id: str
    session_id: str
    status: RunStatus
    trace_id: str
    created: bool
    run: str
    feed: str


class PreferencesOut(Outbound):
    """What the session would rather use next; a kind of plugin that is not named is chosen as it fits."""

    model: str | None
    plugins: dict[str, str]
    level: int | None

    @classmethod
    def of(cls, preferences: Preferences) -> "PreferencesOut":
        return cls(model=preferences.model, plugins=dict(preferences.plugins), level=preferences.level)


class MountOut(Outbound):
    """`source` is the level that gave it; only a mount whose state is `effective` can be used."""

    kind: MountKind
    id: str
    revision: int
    mounted_at: datetime
    source: Level
    mode: MountMode
    manifest: str | None
    state: MountState

    @classmethod
    def of(cls, view: MountView) -> "MountOut":
        mount = view.mount
        return cls(
            kind=mount.kind,
            id=mount.id,
            revision=mount.revision,
            mounted_at=mount.mounted_at,
            source=view.source,
            mode=mount.mode,
            manifest=mount.manifest,
            state=view.state,
        )


class ChainLinkOut(Outbound):
    """A layer, or the definition of the agent, as it was when the session inherited from it."""

    level: Level
    id: str
    revision: int


class CountsOut(Outbound):
    runs: int
    artifacts: int


class SessionOut(Outbound):
    """`policy`, `model_profile` and `limits` are what holds; `provenance` says which level gave each value.

    `thread` is where the agent's own memory stands, null before its first turn. `counts` are told for one session.
    """

    id: str
    status: SessionStatus
    agent: str
    owner: str
    title: str | None
    revision: int
    version: int
    turns: int
    epoch: int
    double_text: DoubleText | None
    preferences: PreferencesOut
    mounts: list[MountOut]
    packs: list[str]
    intent: IntentOut | None
    from_session_id: str | None
    idle_for_seconds: int
    created_at: datetime
    last_active_at: datetime
    expires_at: datetime
    closed_at: datetime | None
    closed_reason: str | None
    pause_reason: str | None
    tenant: str
    module: Module | None
    project_id: str | None
    objective_id: str | None
    objective: str | None
    policy: PolicyTemplate
    model_profile: str | None
    backend: str
    limits: dict[str, float]
    needs_isolation: bool
    context_sha256: str
    context_chain: list[ChainLinkOut]
    provenance: dict[str, str]
    thread: dict[str, Any] | None
    fork_of: str | None
    fork_turn: int | None
    history_erased: bool
    pruned_at: datetime | None
    archived_at: datetime | None
    archive: str | None
    counts: CountsOut | None = Field(default=None, exclude_if=lambda counts: counts is None)

    @classmethod
    def of(cls, session: Session, scope: SessionScope, counts: CountsOut | None = None) -> "SessionOut":
        purpose, context = session.purpose, scope.context
        return cls(
            pause_reason=session.pause_reason,
            tenant=session.tenant,
            module=purpose.module,
            project_id=purpose.project_id,
            objective_id=purpose.objective_id,
            objective=purpose.objective,
            policy=context.policy,
            model_profile=context.model_profile,
            backend=purpose.backend,
            limits=dict(context.limits),
            needs_isolation=context.needs_isolation,
            context_sha256=session.context_sha256 or NO_CONTEXT,
            context_chain=[
                ChainLinkOut(level=link.level, id=link.id, revision=link.revision) for link in context.chain
            ],
            provenance={name: level.value for name, level in context.provenance.items()},
            thread=None if session.agent_head is None else dict(session.agent_head),
            fork_of=session.fork.session_id if session.fork and not session.fork.is_erased else None,
            history_erased=session.fork is not None and session.fork.is_erased,
            fork_turn=session.fork.turn if session.fork else None,
            pruned_at=session.pruned_at,
            archived_at=session.archived_at,
            archive=session.archive,
            counts=counts,
            id=session.id,
            status=session.status,
            agent=session.agent,
            owner=session.owner,
            title=session.title,
            revision=session.revision,
            version=session.version,
            turns=session.turns,
            epoch=session.epoch.number,
            double_text=session.double_text,
            preferences=PreferencesOut.of(session.preferences),
            mounts=[MountOut.of(view) for view in scope.views],
            packs=[pin.ref for pin in session.packs],
            intent=None if (held := session.dialogue.told) is None else IntentOut.model_validate(dict(held)),
            from_session_id=session.from_session_id,
            idle_for_seconds=session.idle_for_seconds,
            created_at=session.created_at,
            last_active_at=session.last_active_at,
            expires_at=session.expires_at,
            closed_at=session.closed_at,
            closed_reason=session.closed_reason,
        )


class MessageOut(Outbound):
    id: str
    seq: int
    turn: int
    epoch: int
    role: str
    content: str
    created_at: datetime

    @classmethod
    def of(cls, message: Message) -> "MessageOut":
        return cls(
            id=message.id,
            seq=message.seq,
            turn=message.turn,
            epoch=message.epoch,
            role=message.role.value,
            content=message.content,
            created_at=message.created_at,
        )


class RunErrorOut(Outbound):
    code: str
    message: str
    stage: str | None
    retryable: bool
    details: list[dict[str, Any]] = []

    @classmethod
    def of(cls, error: RunError) -> "RunErrorOut":
        return cls(
            code=error.code,
            message=error.message,
            stage=error.stage,
            retryable=error.retryable,
            details=[dict(detail) for detail in error.details],
        )


class RunOut(Outbound):
    """`text` is the answer of a run that completed, or the question of one that waits. `account` is what it spent."""

    id: str
    session_id: str
    agent: str
    user: str
    custody: Custody
    mode: Mode
    status: RunStatus
    turn: int | None
    finish: Finish | None
    merged: bool | None
    text: str | None = None
    error: RunErrorOut | None
    queue_no: int
    feed_no: int
    trace_id: str
    retry_of: str | None
    superseded_by: str | None
    account: Mapping[str, Any] | None = None
    accepted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, run: Run, text: str | None = None) -> "RunOut":
        return cls(
            id=run.id,
            session_id=run.session_id,
            agent=run.agent,
            user=run.user,
            custody=run.custody,
            mode=run.mode,
            status=run.status,
            turn=run.turn,
            finish=run.finish,
            merged=run.merged,
            text=text,
            error=None if run.error is None else RunErrorOut.of(run.error),
            queue_no=run.queue_no,
            feed_no=run.feed_no,
            trace_id=run.trace_id,
            retry_of=run.retry_of,
            superseded_by=run.superseded_by,
            account=run.account,
            accepted_at=run.accepted_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
        )


class Page(Outbound, Generic[Item]):
    """Ask for the rest with `?cursor=` and what `next` says; without `next` this is the last page."""

    items: list[Item]
    next: str | None = Field(default=None, exclude_if=lambda cursor: cursor is None)


class CountedPage(Page[Item], Generic[Item]):
    """`total` is how many there are on all pages."""

    total: int


class Health(Outbound):
    status: str
    version: str


class ProblemDetail(Outbound):
    """One fault: `pointer` into the body, the name of a query parameter or header, or a place in a text of units."""

    message: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None
    code: str | None = None
    kind: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None


class Problem(Outbound):
    """A problem document of RFC 9457. `code` is stable; more members may say more about the one at hand."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    request_id: str
    trace_id: str
    stage: str | None = None
    retry_after_ms: int | None = None
    details: list[ProblemDetail] | None = None


def page_behind(found: Sequence[Item], limit: int, cursors: Sequence[str], cursor: str | None) -> Page[Item]:
    """The same of a list that is there as a whole. Raises EnvelopeInvalid for a cursor that none of them has."""
    if cursor is not None and cursor not in cursors:
        raise EnvelopeInvalid.at("cursor", "is not `next` of a page of this list; leave it out to begin with the first")
    begin = 0 if cursor is None else cursors.index(cursor) + 1
    return page_of(found[begin:], limit, cursors[begin:])


def page_of(found: Sequence[Item], limit: int, cursor: Sequence[str]) -> Page[Item]:
    """A page of at most `limit` of the found items, which are one more than that when there is a next page."""
    has_more = len(found) > limit
    return Page(items=list(found[:limit]), next=cursor[limit - 1] if has_more else None)
