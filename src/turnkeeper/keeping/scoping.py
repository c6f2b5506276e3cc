"""What a session is for and what it may reach: pinning and removing, rebasing, changing its settings, its layout."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from turnkeeper.errors import (
    EnvelopeInvalid,
    InvalidTransition,
    LayoutTooLarge,
    MountExcluded,
    MountNotFound,
    NotAllowed,
    PolicyRelaxation,
    SessionEnded,
    VersionMoved,
)
from turnkeeper.keeping.layers import check_ref
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import LayerId
from turnkeeper.model.mount import Mount, MountKind, MountMode, MountRef
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.purpose import Module, PolicyTemplate, Purpose
from turnkeeper.model.scope import NOTHING_INHERITED, Context, SessionScope
from turnkeeper.model.session import Session, SessionStatus, SettingsChange
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.contexts import ContextStore, LayoutStore
from turnkeeper.scope.effective import LiveScopes
from turnkeeper.scope.inheritance import (
    EMPTY_SHA256,
    Choice,
    canonical,
    chosen,
    has,
    pinned,
    unpinned,
)
from turnkeeper.settings import Settings

MOST_TRIES = 8
MOST_OBJECTIVE_CHARS = 2_000
IDLE = "idle"
NO_CONTEXT = EMPTY_SHA256
"""The hash that is told of a session that inherited nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Something to mount. Only a pointer has a mode; an artifact is named by its hash."""

    kind: MountKind
    id: str
    mode: MountMode = MountMode.FOLLOW

    @property
    def ref(self) -> MountRef:
        is_hash = self.kind is MountKind.ARTIFACT
        return MountRef(kind=self.kind, id=self.id.lower() if is_hash else self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be different in a session; None leaves it. `exactly` are whole lists of one kind each.

    `idle` is how some clients call a pause that nobody asked for.
    """

    title: str | None = None
    double_text: DoubleText | None = None
    idle_for_seconds: int | None = None
    module: Module | None = None
    objective: str | None = None
    status: str | None = None
    reason: str | None = None
    pin: tuple[Pin, ...] = ()
    unpin: tuple[MountRef, ...] = ()
    exactly: Mapping[MountKind, tuple[Pin, ...]] = field(default_factory=dict)

    @property
    def changes_mounts(self) -> bool:
        return bool(self.pin or self.unpin or self.exactly)


def purpose_of(
    *,
    module: Module | str | None = None,
    project_id: str | None = None,
    objective_id: str | None = None,
    objective: str | None = None,
    policy: PolicyTemplate | str | None = None,
    model_profile: str | None = None,
    backend: str | None = None,
    before: Purpose = Purpose(),  # noqa: B008
) -> Purpose:
    """What is not asked for is as it was `before`. Raises EnvelopeInvalid for what cannot be."""
    if module is not None and module not in set(Module):
        raise EnvelopeInvalid.at("/module", f"must be one of {', '.join(Module)}")
    if policy is not None and policy not in set(PolicyTemplate):
        raise EnvelopeInvalid.at("/policy", f"must be one of {', '.join(PolicyTemplate)}")
    project = before.project_id if project_id is None else LayerId(project_id)
    if objective_id is not None and project is None:
        raise EnvelopeInvalid.at("/objective_id", "needs the project_id that it belongs to")
    former_aim = before.objective_id if project == before.project_id else None
    return Purpose(
        module=before.module if module is None else Module(module),
        project_id=project,
        objective_id=former_aim if objective_id is None else LayerId(objective_id),
        objective=before.objective if objective is None else objective,
        policy=before.policy if policy is None else PolicyTemplate(policy),
        model_profile=before.model_profile if model_profile is None else model_profile,
        backend=before.backend if backend is None else backend,
    )


class Scoping:
    def __init__(
        self,
        scopes: LiveScopes,
        contexts: ContextStore,
        layouts: LayoutStore,
        clock: Clock,
        settings: Settings,
        *,
        session_of: Callable[..., Awaitable[Session]],
        change_session: Callable[..., Awaitable[Session]],
    ) -> None:
        self._scopes, self._contexts, self._layouts = scopes, contexts, layouts
        self._clock, self._settings = clock, settings
        self._session_of, self._change_session = session_of, change_session

    async def scope(self, session: Session) -> SessionScope:
        """How far it reaches now, with all its mounts and what became of each."""
        return await self._scopes.of(session)

    async def change(
        self,
        session_id: str,
        wanted: Wanted,
        *,
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """All of it at once, or nothing. Raises MountNotFound, MountExcluded, SessionEnded or InvalidTransition."""
        for attempt in range(MOST_TRIES):
            session = await self._session_of(session_id, principal=principal)
            if expected_version not in (None, session.version):
                raise VersionMoved(session.id, expected=expected_version or 0, actual=session.version)
            change = await self._change_of(session, wanted, principal)
            if change is None:
                return session
            try:
                return await self._change_session(
                    session_id,
                    change,
                    command=_command_of(change),
                    principal=principal,
                    expected_version=session.version,
                    trace_id=trace_id,
                )
            except VersionMoved:
                # Of several who change it at once all are heard: whoever comes second looks again.
                if expected_version is not None or attempt == MOST_TRIES - 1:
                    raise
        raise AssertionError("the last try returns or raises")

    async def pin(self, session_id: str, *pins: Pin, **asked: Any) -> Session:
        """Mount these for this session. Takes what `change` takes."""
        return await self.change(session_id, Wanted(pin=pins), **asked)

    async def unpin(self, session_id: str, *refs: MountRef, **asked: Any) -> Session:
        """Do without these, at once. Takes what `change` takes."""
        return await self.change(session_id, Wanted(unpin=refs), **asked)

    async def rebase(
        self,
        session_id: str,
        *,
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Inherit again, as the layers are now; pins and what was removed stay. Raises SessionEnded.

        Where a layer is stricter by now than the policy that was asked for, that counts, and the event tells it.
        """
        session = await self._session_of(session_id, principal=principal)
        refuse_if_over(session)
        resolved = await self._scopes.resolve(session.tenant, session.agent, session.purpose, or_stricter=True)
        sha256 = resolved.sha256
        if sha256 is None and session.context_sha256 is not None:
            sha256 = EMPTY_SHA256
            written = canonical(NOTHING_INHERITED)
            await self._contexts.keep(session.tenant, sha256, written, at=self._clock.now())
        about = {
            "old_context_sha256": session.context_sha256 or EMPTY_SHA256,
            "new_context_sha256": sha256 or EMPTY_SHA256,
        }
        asked, policy = session.purpose.policy, resolved.context.policy
        if asked is not None and policy is not asked:
            about["policy"] = policy.value
        return await self._change_session(
            session_id,
            SettingsChange(context_sha256=sha256, about=about),
            command=Command.REBASE,
            principal=principal,
            expected_version=expected_version,
            trace_id=trace_id,
            **about,
        )

    async def going_on(self, before: Session, asked: Mapping[str, Any]) -> Purpose:
        """What a session is for that goes on with what another one ended with. Raises PolicyRelaxation.

        The same as before, but for what is asked for; never laxer than what was inherited, in whatever project.
        """
        purpose = purpose_of(**asked, before=before.purpose)
        inherited = await self._scopes.context(before)
        if asked.get("policy") is not None and purpose.policy is not None:
            if purpose.policy.rank < inherited.policy.rank:
                raise PolicyRelaxation(purpose.policy, inherited.policy)
        elif purpose.project_id != before.purpose.project_id and "policy" in inherited.provenance:
            purpose = replace(purpose, policy=inherited.policy)
        return purpose

    async def pinned_in(self, session: Session, pins: Sequence[Pin], *, principal: Principal) -> Session:
        """A session that is about to begin, with these pins on top of what it inherited."""
        if not pins:
            return session
        context = await self._scopes.context(session)
        before = Choice(pins=session.mounts, removed=session.removed)
        choice = await self._with(session, context, before, pins, principal)
        return replace(session, mounts=choice.pins, removed=choice.removed)

    # --- layout

    async def save_layout(self, session_id: str, layout: Any, *, principal: Principal = LOCAL) -> None:
        """Keep how a screen looks; the last one counts. Raises LayoutTooLarge or SessionEnded."""
        session = await self._writable(session_id, principal)
        await self._layouts.save(session.tenant, session.id, written_layout(layout), at=self._clock.now())

    async def layout(self, session_id: str, *, principal: Principal = LOCAL) -> Any:
        """None where none was saved."""
        session = await self._session_of(session_id, principal=principal)
        return await self.layout_of(session)

    async def layout_of(self, session: Session) -> Any:
        found = await self._layouts.find(session.tenant, session.id)
        return None if found is None else json.loads(found)

    async def drop_layout(self, session_id: str, *, principal: Principal = LOCAL) -> None:
        """Nothing else is lost with it. Raises SessionEnded."""
        session = await self._writable(session_id, principal)
        await self._layouts.drop(session.tenant, session.id)

    # --- inside

    async def _writable(self, session_id: str, principal: Principal) -> Session:
        if not principal.may_write:
            raise NotAllowed("A viewer may read sessions, but not write to them. Ask the operator for another role.")
        session = await self._session_of(session_id, principal=principal)
        refuse_if_over(session)
        return session

    async def _change_of(self, session: Session, wanted: Wanted, principal: Principal) -> SettingsChange | None:
        """None when everything is as it is wanted already."""
        status = _status_of(session, wanted)
        changes: dict[str, Any] = {
            "title": wanted.title,
            "double_text": wanted.double_text,
            "idle_for_seconds": wanted.idle_for_seconds,
        }
        purpose = session.purpose
        if wanted.module is not None:
            purpose = replace(purpose, module=wanted.module)
        if wanted.objective is not None:
            purpose = replace(purpose, objective=wanted.objective)
        if purpose != session.purpose:
            changes["purpose"] = purpose
        changes |= await self._mounts_of(session, wanted, principal)
        says_anything = any(value is not None for value in changes.values())
        if status is None and not says_anything:
            return None
        if status is None or says_anything:
            refuse_if_over(session)
        if status is not None:
            changes |= {"status": status, "reason": _reason_of(wanted, status)}
        return SettingsChange(**changes)

    async def _mounts_of(self, session: Session, wanted: Wanted, principal: Principal) -> dict[str, Any]:
        if not wanted.changes_mounts:
            return {}
        refuse_if_over(session)
        context = await self._scopes.context(session)
        before = choice = Choice(pins=session.mounts, removed=session.removed)
        for ref in wanted.unpin:
            if not has(choice, context, ref):
                raise MountNotFound(ref.kind, ref.id)
            choice = unpinned(choice, context, ref)
        choice = await self._with(session, context, choice, wanted.pin, principal)
        for kind, pins in wanted.exactly.items():
            new = [pin for pin in pins if not _is_there(choice, context, pin.ref)]
            mounts = [await self._mount(session, pin, principal) for pin in new]
            kept = [_stub(session, pin) for pin in pins if _is_there(choice, context, pin.ref)]
            choice = chosen(choice, context, kind, [*kept, *mounts])
        if len(choice.pins) > self._settings.mounts:
            most = self._settings.mounts
            raise EnvelopeInvalid.at("/mounts", f"would be too many: a session mounts at most {most}")
        if choice == before:
            return {}
        return {"mounts": choice.pins, "removed": choice.removed}

    async def _with(
        self, session: Session, context: Context, choice: Choice, pins: Sequence[Pin], principal: Principal
    ) -> Choice:
        for pin in pins:
            mount = await self._mount(session, pin, principal)
            choice = pinned(choice, context, mount)
        if len(choice.pins) > self._settings.mounts:
            most = self._settings.mounts
            raise EnvelopeInvalid.at("/mounts", f"would be too many: a session mounts at most {most}")
        return choice

    async def _mount(self, session: Session, pin: Pin, principal: Principal) -> Mount:
        """Raises MountNotFound, also for what who pins it may not read, MountExcluded or EnvelopeInvalid."""
        check_ref(pin.ref)
        stand = await self._scopes.stand(session.tenant, pin.ref)
        if stand is None or not await self._scopes.is_open(pin.ref, principal):
            raise MountNotFound(pin.kind, pin.ref.id)
        if pin.ref in await self._scopes.excluded(session):
            raise MountExcluded(pin.kind, pin.ref.id)
        is_fixed = pin.kind is MountKind.POINTER and pin.mode is MountMode.FIXED
        return Mount(
            kind=pin.kind,
            id=pin.ref.id,
            revision=stand.revision,
            mounted_at=self._clock.now(),
            mode=pin.mode if pin.kind is MountKind.POINTER else MountMode.FOLLOW,
            manifest=stand.manifest if is_fixed else None,
        )


def written_layout(layout: Any) -> str:
    """Raises LayoutTooLarge, or EnvelopeInvalid for what is not JSON."""
    try:
        written = json.dumps(layout, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        size = len(written.encode())
    except (TypeError, ValueError, RecursionError):
        raise EnvelopeInvalid.at("/layout", "must be JSON") from None
    if "\\u0000" in written:
        raise EnvelopeInvalid.at("/layout", "must not hold a NUL character")
    if size > MOST_LAYOUT_BYTES:
        raise LayoutTooLarge(MOST_LAYOUT_BYTES)
    return written


MOST_LAYOUT_BYTES = 256 * 1024


def refuse_if_over(session: Session) -> None:
    """Raises SessionEnded."""
    if session.status.is_terminal:
        raise SessionEnded(session.id, session.status)


def _status_of(session: Session, wanted: Wanted) -> SessionStatus | None:
    """What its status becomes; None when it stays. Raises InvalidTransition.

    `idle` is a pause with this reason: from one kind of pause to the other nothing leads.
    """
    if wanted.status is None:
        return None
    status = SessionStatus.PAUSED if wanted.status == IDLE else SessionStatus(wanted.status)
    if session.status is SessionStatus.PAUSED is status:
        if (session.pause_reason == IDLE) == (wanted.status == IDLE):
            return None
        raise InvalidTransition(session.id, session.status, status)
    if status is session.status and not status.is_terminal:
        return None
    if status is SessionStatus.EXPIRED or not session.status.may_become(status):
        raise InvalidTransition(session.id, session.status, status)
    return status


def _reason_of(wanted: Wanted, status: SessionStatus) -> str | None:
    if wanted.reason is not None:
        return wanted.reason
    if status is SessionStatus.CLOSED:
        return "closed"
    return IDLE if wanted.status == IDLE else None


def _command_of(change: SettingsChange) -> Command:
    if change.status is not None:
        return _BY_STATUS[change.status]
    if change.mounts is not None:
        return Command.MOUNT
    return Command.CHANGE


_BY_STATUS = {
    SessionStatus.ACTIVE: Command.RESUME,
    SessionStatus.PAUSED: Command.PAUSE,
    SessionStatus.CLOSED: Command.CLOSE,
}


def _is_there(choice: Choice, context: Context, ref: MountRef) -> bool:
    return choice.has_pinned(ref) or any(given.ref == ref for given in context.mounts)


def _stub(session: Session, pin: Pin) -> Mount:
    """Names something that is pinned or inherited already; what is known of it is kept."""
    return Mount(kind=pin.kind, id=pin.ref.id, mounted_at=session.created_at)
