"""One conversation and all that it owns."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from turnkeeper.model.band import Lifetime
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.ids import AgentId, SessionId, TenantId, UserId
from turnkeeper.model.message import Message
from turnkeeper.model.mount import Mount, MountRef
from turnkeeper.model.pack import Classification, PackPin
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.principal import Principal
from turnkeeper.model.purpose import Purpose
from turnkeeper.model.unit import Unit

if TYPE_CHECKING:
    from turnkeeper.model.turn import Turn


class SessionStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    CLOSED = "closed"
    EXPIRED = "expired"

    @property
    def is_terminal(self) -> bool:
        return self in (SessionStatus.CLOSED, SessionStatus.EXPIRED)

    def may_become(self, status: "SessionStatus") -> bool:
        """active and paused become each other, and both may close or expire; nothing leads back from there."""
        return not self.is_terminal and status is not self


class Custody(StrEnum):
    """Who keeps the session's state."""

    ENGINE = "engine"
    CLIENT = "client"
    DEVICE = "device"

    @property
    def is_ours(self) -> bool:
        """Whether our store keeps it. Of every other session there are single runs, and nothing that they belong to."""
        return self is Custody.ENGINE


class Freshness(StrEnum):
    """Which state of a session that a client keeps is taken: any, so that an older one is a fork, or the newest."""

    ANY = "any"
    STRICT = "strict"


DEVICE_SESSION = SessionId("default")
"""What the one session of a device is called."""

ERASED = SessionId("-")
"""Stands for a session that was erased, where another one was taken off it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Where a session was taken off another one: after this turn of it. Messages up to `seq` are those of the other."""

    session_id: SessionId
    turn: int
    seq: int

    @property
    def is_erased(self) -> bool:
        """Whether the other one is gone, and with it what was shared."""
        return self.session_id == ERASED


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """`revision` counts committed changes of the conversation, `version` changes of its settings.

    `classification` is the highest of its packs; `expires_by` is its end, however busy it is. `mounts` are those that
    were pinned for this session, `removed` those of its context that it does without. `context_sha256` names what it
    inherited; None is nothing. `agent_head` is where its agent's own memory stands. `pruned_at` is when that memory
    was dropped, `archive` the artifact that tells of a session that is long over. `pause_reason` is why it is paused.
    """

    tenant: TenantId
    id: SessionId
    owner: UserId
    agent: AgentId
    status: SessionStatus = SessionStatus.ACTIVE
    custody: Custody = Custody.ENGINE
    revision: int = 0
    version: int = 1
    turns: int = 0
    last_seq: int = 0
    epoch: Epoch
    title: str | None = None
    double_text: DoubleText | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    idle_for_seconds: int
    created_at: datetime
    last_active_at: datetime
    closed_at: datetime | None = None
    closed_reason: str | None = None
    preferences: Preferences = field(default_factory=Preferences)
    mounts: tuple[Mount, ...] = ()
    from_session_id: SessionId | None = None
    packs: tuple[PackPin, ...] = ()
    dialogue: Dialogue = field(default_factory=Dialogue)
    classification: Classification | None = None
    expires_by: datetime | None = None
    purpose: Purpose = field(default_factory=Purpose)
    context_sha256: str | None = None
    removed: tuple[MountRef, ...] = ()
    agent_head: Mapping[str, Any] | None = None
    fork: Fork | None = None
    pruned_at: datetime | None = None
    archived_at: datetime | None = None
    archive: str | None = None
    pause_reason: str | None = None

    def __post_init__(self) -> None:
        if not (self.tenant and self.id and self.owner and self.agent):
            raise ValueError("a Session needs a tenant, an id, an owner and an agent")
        if self.revision < self.turns:
            raise ValueError("every turn of a Session is a revision of it")
        if self.status.is_terminal != (self.closed_at is not None):
            raise ValueError("a Session has closed_at exactly when it is closed or expired")
        if self.idle_for_seconds < 1:
            raise ValueError("a Session lives for at least one idle second")

    @property
    def expires_at(self) -> datetime:
        idle_until = self.last_active_at + timedelta(seconds=self.idle_for_seconds)
        return idle_until if self.expires_by is None else min(idle_until, self.expires_by)

    def living_for(self, lifetime: Lifetime | None) -> "Session":
        """The same session, no longer than the class of its packs lets it live."""
        if lifetime is None:
            return self
        return replace(
            self,
            classification=lifetime.classification,
            idle_for_seconds=min(self.idle_for_seconds, lifetime.most_idle_seconds),
            expires_by=lifetime.expires_by,
        )

    def is_idle_too_long(self, now: datetime) -> bool:
        return not self.status.is_terminal and now >= self.expires_at

    def is_open_to(self, principal: Principal) -> bool:
        """Its owner, owner and admin of its tenant, and a token that is bound to it; to all others it is not there."""
        if principal.session_id is not None:
            return self.tenant == principal.tenant and self.id == principal.session_id
        return self.tenant == principal.tenant and (self.owner == principal.user or principal.sees_whole_tenant)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """What is to be different afterwards; None leaves a setting as it is.

    `reason` is why it is closed or paused, `about` what else the feed tells of the change. With `idle_at` it is made
    only while nothing is under way in the session, and the session stands at this revision.
    """

    status: SessionStatus | None = None
    title: str | None = None
    double_text: DoubleText | None = None
    idle_for_seconds: int | None = None
    mounts: tuple[Mount, ...] | None = None
    packs: tuple[PackPin, ...] | None = None
    lifetime: Lifetime | None = None
    purpose: Purpose | None = None
    removed: tuple[MountRef, ...] | None = None
    context_sha256: str | None = None
    reason: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    idle_at: int | None = None

    def told(self, before: Session, after: Session) -> dict[str, Any]:
        """What the feed says of this change: `what` names each part of it."""
        what = []
        if after.status is not before.status:
            what.append("resumed" if after.status is SessionStatus.ACTIVE else after.status.value)
        if after.context_sha256 != before.context_sha256 or "old_context_sha256" in self.about:
            what.append("rebased")
        if (after.mounts, after.removed) != (before.mounts, before.removed):
            what.append("mounts_changed")
        if after.purpose.module is not before.purpose.module:
            what.append("module_changed")
        said: dict[str, Any] = {"status": after.status, "what": what or ["changed"], **self.about}
        if "mounts_changed" in what:
            said |= _mounts_told(before, after)
        if "module_changed" in what:
            said["module"] = after.purpose.module
        return said if self.reason is None else said | {"reason": self.reason}

    def applied_to(self, session: Session, at: datetime) -> Session | None:
        """The session afterwards; None when its status may not change that way."""
        if self.status is not None and not session.status.may_become(self.status):
            return None
        status = self.status or session.status
        return replace(
            session.living_for(self.lifetime),
            status=status,
            title=session.title if self.title is None else self.title,
            double_text=self.double_text or session.double_text,
            idle_for_seconds=self._idle_for_seconds(session),
            mounts=session.mounts if self.mounts is None else self.mounts,
            packs=session.packs if self.packs is None else self.packs,
            purpose=self.purpose or session.purpose,
            removed=session.removed if self.removed is None else self.removed,
            context_sha256=self.context_sha256 or session.context_sha256,
            # Whoever resumes a session is back, as if by a message.
            last_active_at=at if self.status is SessionStatus.ACTIVE else session.last_active_at,
            closed_at=session.closed_at or (at if status.is_terminal else None),
            closed_reason=session.closed_reason or (self.reason if status.is_terminal else None),
            pause_reason=self._pause_reason(session, status),
            version=session.version + 1,
        )

    def _pause_reason(self, session: Session, status: SessionStatus) -> str | None:
        if status is not SessionStatus.PAUSED:
            return None
        return self.reason if self.status is SessionStatus.PAUSED else session.pause_reason

    def _idle_for_seconds(self, session: Session) -> int:
        wanted = self.idle_for_seconds or session.idle_for_seconds
        return wanted if self.lifetime is None else min(wanted, self.lifetime.most_idle_seconds)


def _mounts_told(before: Session, after: Session) -> dict[str, Any]:
    """What was pinned or had back, and what is done without from now on."""
    had, has = ({mount.ref: None for mount in each.mounts} for each in (before, after))
    lacked, lacks = (dict.fromkeys(each.removed) for each in (before, after))
    pinned = [ref for ref in (*has, *lacked) if ref not in had and ref not in lacks]
    removed = [ref for ref in (*had, *lacks) if ref not in has and ref not in lacked]
    return {
        name: [{"kind": ref.kind.value, "id": ref.id} for ref in dict.fromkeys(refs)]
        for name, refs in (("pinned", pinned), ("removed", removed))
    }


EXPIRY = SettingsChange(status=SessionStatus.EXPIRED, reason="inactivity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The newest messages and the agent's state of a session at one revision; at that revision they never change."""

    revision: int
    history: tuple[Message, ...]
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a turn starts from: the session, the newest messages of its epoch, and the agent's state.

    `units` are those that were carried; where we keep the session they are asked for when they are needed. `sent` is
    the revision that a client came with, where that has to be the newest.
    """

    session: Session
    history: tuple[Message, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    units: tuple[Unit, ...] = ()
    sent: int | None = None

    def after(self, turn: "Turn") -> "Conversation":
        session = replace(
            self.session,
            revision=self.session.revision + 1,
            turns=turn.number,
            last_seq=turn.last_seq,
            last_active_at=turn.committed_at,
            preferences=self.session.preferences if turn.preferences is None else turn.preferences,
            packs=self.session.packs if turn.packs is None else turn.packs,
            dialogue=self.session.dialogue if turn.dialogue is None else turn.dialogue,
            agent_head=turn.agent_head or self.session.agent_head,
        )
        return Conversation(
            session=session,
            history=self.history + turn.messages,
            state=turn.state,
            units=turn.units.applied_to(self.units),
            sent=self.sent,
        )

    def after_reset(self, epoch: Epoch, params: Mapping[str, Any]) -> "Conversation":
        """The same session with nothing of its past in reach; the params came with the wish to reset it."""
        session = replace(
            self.session,
            epoch=epoch,
            revision=self.session.revision + 1,
            preferences=Preferences(),
            dialogue=Dialogue(params=params),
            agent_head=None,
        )
        return Conversation(session=session, sent=self.sent)
