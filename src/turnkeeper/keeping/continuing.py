"""Going on in a new session with what a finished one ended with."""

from dataclasses import replace
from datetime import datetime

from turnkeeper.errors import EnvelopeInvalid
from turnkeeper.model.ids import RunId
from turnkeeper.model.run import Finish
from turnkeeper.model.session import Conversation, Session
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges, UnitPlace

LONGEST_IDLE_SECONDS = 10 * 365 * 86_400


def continued(session: Session, before: Conversation, at: datetime) -> tuple[Session, Turn]:
    """The new session, and its turn 0: messages, state and units that the other one ended with, in a new order."""
    messages = tuple(
        replace(message, seq=seq, turn=0, epoch=session.epoch.number) for seq, message in enumerate(before.history, 1)
    )
    place = UnitPlace(chunk_id="session::t0000", at=at)
    put = [
        replace(place.put(unit, index), hash=unit.hash, source_type=unit.source_type, supersedes=None)
        for index, unit in enumerate(before.units)
    ]
    kept_as = {old.id: new.id for old, new in zip(before.units, put, strict=True)}
    units = tuple(unit.with_relatives(kept_as) for unit in put)
    session = replace(
        session,
        revision=1,
        last_seq=len(messages),
        title=session.title or before.session.title,
        metadata=before.session.metadata,
        double_text=before.session.double_text,
        idle_for_seconds=before.session.idle_for_seconds,
        preferences=before.session.preferences if session.preferences.is_empty else session.preferences,
        mounts=before.session.mounts,
        removed=before.session.removed,
        context_sha256=_context(session, before.session),
        packs=session.packs or before.session.packs,
        # What was said of a class is of that class wherever it is said again.
        classification=before.session.classification,
        dialogue=before.session.dialogue,
        from_session_id=before.session.id,
    )
    turn = Turn(
        number=0,
        run_id=RunId(""),
        epoch=session.epoch.number,
        messages=messages,
        state=before.state,
        finish=Finish.DONE,
        committed_at=at,
        units=UnitChanges(added=units),
        preferences=session.preferences,
        dialogue=session.dialogue,
    )
    return session, turn


def _context(session: Session, before: Session) -> str | None:
    """Who inherits from the same goes on with what was inherited then."""
    is_the_same = session.agent == before.agent and session.purpose.inherits_like(before.purpose)
    return before.context_sha256 if is_the_same else session.context_sha256


def checked_idle(seconds: object) -> int:
    """How long a session may stay idle, in whole seconds. Raises EnvelopeInvalid."""
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 1 <= seconds <= LONGEST_IDLE_SECONDS:
        raise EnvelopeInvalid.at("/idle_for_seconds", f"must be a whole number from 1 to {LONGEST_IDLE_SECONDS}")
    return seconds
