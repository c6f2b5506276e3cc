"""What every database decides alike when a message comes in."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from turnkeeper.errors import AnswerNotAccepted, ApprovalOpen, SessionBusy, SessionClosed, SessionExpired, SessionMoved
from turnkeeper.model.checkpoint import AskKind, Checkpoint
from turnkeeper.model.ids import AgentId, SessionId, sortable_id
from turnkeeper.model.run import Run
from turnkeeper.model.session import Session, SessionStatus
from turnkeeper.ports.runs import AgentTerms, Intake
from turnkeeper.stores.rows import Row, micros, moment

_NO_TERMS = AgentTerms()
LONGEST = timedelta(days=3)


def terms_of(agents: Mapping[AgentId, AgentTerms], agent: AgentId) -> AgentTerms:
    """What this node knows of the agent; an agent of another node gets the defaults."""
    return agents.get(agent, _NO_TERMS)


def refuse_if_over(session_id: SessionId, session: Row, now: datetime) -> None:
    status = SessionStatus(session["status"])
    if status is SessionStatus.CLOSED:
        raise SessionClosed(session_id)
    idle_until = session["last_active_at"] + session["idle_for_seconds"] * 1_000_000
    until = idle_until if session["expires_by"] is None else min(idle_until, session["expires_by"])
    is_held = session["holder"] is not None or session["queued"] > 0 or session["is_awaited"]
    if status is SessionStatus.EXPIRED or (micros(now) >= until and not is_held):
        raise SessionExpired(session_id)


def refuse_approval_from_elsewhere(run: Run, asked: Checkpoint, intake: Intake) -> None:
    is_approval = asked.open_ask is not None and asked.open_ask.kind is AskKind.APPROVAL
    approval_id = asked.open_ask.approval_id if asked.open_ask else None
    if approval_id is not None:
        if intake.decision is None or intake.decision.approval_id != approval_id:
            raise ApprovalOpen(run.id, approval_id)
        return
    if is_approval and not run.takes_approval_through(intake.run.input.channel):
        raise AnswerNotAccepted(run.id, intake.run.input.channel)


def long_runs_params(intake: Intake) -> dict[str, Any]:
    """How to count the long runs of a tenant. One that began longer ago than any may last is not looked for."""
    since = intake.run.accepted_at - LONGEST
    return {
        "tenant": intake.run.tenant,
        "since": sortable_id("run", int(since.timestamp() * 1000), 0),
        "most": intake.long_runs,
    }


def refuse_unless_idle(session: Session, revision: int, lease: Row, waiting: Sequence[Row]) -> None:
    """Raises SessionBusy or SessionMoved."""
    if lease["holder"] is not None or lease["queued"] > 0:
        raise busy(session.id, lease)
    if waiting:
        run_id = waiting[0]["id"]
        raise SessionBusy(session.id, holder=run_id, since=None, state="waiting for an answer")
    if session.revision != revision:
        raise SessionMoved(session.id, expected_revision=revision)


def busy(session_id: SessionId, lease: Row) -> SessionBusy:
    if lease["holder"] is None:
        return SessionBusy(session_id, holder=None, since=None, state="about to answer queued messages")
    since = moment(lease["taken_at"]).isoformat()
    return SessionBusy(session_id, holder=lease["run_id"], since=since, state="answering another message")
