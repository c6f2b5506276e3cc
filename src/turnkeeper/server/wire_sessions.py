"""What goes over the wire about sessions."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from turnkeeper.keeping.continuing import LONGEST_IDLE_SECONDS
from turnkeeper.keeping.scoping import NO_CONTEXT, Wanted
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.message import Message
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.scope import Level, SessionScope
from turnkeeper.model.session import Session, SessionStatus
from turnkeeper.server.wire import Choosing, Id, Inbound, Outbound, PackRef, PlainText, Title
from turnkeeper.server.wire_chat import IntentOut
from turnkeeper.server.wire_mounts import Mounting, MountOut, MountsIn

IdleSeconds = Annotated[int, Field(ge=1, le=LONGEST_IDLE_SECONDS)]
ModuleName = Literal["research", "analysis", "document", "modelling", "knowledge", "insight"]
PolicyName = Literal["exploratory", "standard", "regulated", "audit_critical"]
ObjectiveText = Annotated[PlainText, Field(min_length=1, max_length=2_000)]


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


class PreferencesOut(Outbound):
    """What the session would rather use next; a kind of plugin that is not named is chosen as it fits."""

    model: str | None
    plugins: dict[str, str]
    level: int | None

    @classmethod
    def of(cls, preferences: Preferences) -> "PreferencesOut":
        return cls(model=preferences.model, plugins=dict(preferences.plugins), level=preferences.level)


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

    `thread` is where the agent's own memory stands, null before its first turn. `opening` is how the current epoch
    begins, cut to 120 characters; while nothing is committed in it, what was said to its newest run. `counts` are told
    for one session.
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
    opening: str | None
    counts: CountsOut | None = Field(default=None, exclude_if=lambda counts: counts is None)

    @classmethod
    def of(
        cls, session: Session, scope: SessionScope, opening: str | None, counts: CountsOut | None = None
    ) -> "SessionOut":
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
            opening=opening,
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


class AttachmentOut(Outbound):
    """Content that came along; more about it under `/artifacts`."""

    artifact_id: str
    media_type: str
    sha256: str
    uri: str


class MessageOut(Outbound):
    """`attachments` are what came along with it."""

    id: str
    seq: int
    turn: int
    epoch: int
    role: str
    content: str
    attachments: list[AttachmentOut] = Field(default_factory=list, exclude_if=lambda told: not told)
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
            attachments=[AttachmentOut.model_validate(each) for each in (message.event or {}).get("attachments", ())],
            created_at=message.created_at,
        )
