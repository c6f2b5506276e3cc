"""Taking a message or an answer into the queue of its session, in a SQLite file."""

import sqlite3
from dataclasses import replace
from typing import Any

from turnkeeper.errors import (
    DuplicateRequest,
    QueueFull,
    QuotaExceeded,
    RunNotFound,
    RunNotWaiting,
    SessionNotFound,
    TooManyLongRuns,
)
from turnkeeper.model.checkpoint import KeptCheckpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import AgentId, RunId
from turnkeeper.model.layer import Quota
from turnkeeper.model.mode import Mode
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.ports.runs import Accepted, Intake, Quotas
from turnkeeper.stores import rows
from turnkeeper.stores.intake import busy, long_runs_params, refuse_approval_from_elsewhere, refuse_if_over, terms_of
from turnkeeper.stores.sqlite.approvals import decide_in
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.held import kept_checkpoint_in, lease_in, new_lease, run_in, taking_params
from turnkeeper.stores.sqlite.sessions import insert_session, refuse_more_sessions


class SqliteAccepting:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit

    async def accept(self, intake: Intake) -> Accepted:
        return await self._database.write("accept", lambda tx: self._accept(tx, intake))

    def _accept(self, tx: Tx, intake: Intake) -> Accepted:
        known = self._known_request(tx, intake)
        if known is not None and not known.may_be_sent_again:
            self._audit.append(tx, intake.audit)
            return Accepted(run=known, attached=True)
        if known is not None:
            # What the first attempt has done for good, such as a reset, is not done again.
            intake = replace(intake, run=replace(intake.run, retry_of=known.retry_of or known.id))
        if intake.answers is not None:
            accepted = self._accept_answer(tx, intake, intake.answers)
        else:
            accepted = self._accept_message(tx, intake)
        if intake.request is not None:
            statement = sql.insert_request if known is None else sql.move_request
            tx.execute(statement, rows.request_params(intake.request, accepted.run))
        self._audit.append(tx, intake.audit)
        return accepted

    def _known_request(self, tx: Tx, intake: Intake) -> Run | None:
        if intake.request is None:
            return None
        found = tx.execute(sql.find_request, rows.request_params(intake.request, intake.run)).fetchone()
        if found is None:
            return None
        if bytes(found["body_hash"]) != intake.request.body_hash:
            raise DuplicateRequest(intake.request.key)
        return run_in(tx, intake.run.tenant, found["run_id"])

    def _accept_message(self, tx: Tx, intake: Intake) -> Accepted:
        run, subject = intake.run, intake.run.subject
        if intake.quotas is not None:
            _count_in(tx, intake, intake.quotas)
        if intake.new_session is not None:
            insert_session(tx, intake.new_session)
        elif not run.custody.is_ours:
            tx.execute(sql.insert_lease, {"tenant": run.tenant, "subject": subject})
        agent, session_double_text, lease = self._room_for(tx, intake)
        double_text = intake.double_text or session_double_text or terms_of(intake.agents, agent).double_text
        idle = lease["holder"] is None and lease["queued"] == 0
        if double_text is DoubleText.REJECT and not idle:
            raise busy(run.session_id, lease)
        if not idle and lease["queued"] >= intake.queue_limit:
            raise QueueFull(run.session_id, queued=lease["queued"])
        if run.mode is Mode.LONG_RUNNING and intake.long_runs and self._has_too_many_long_runs(tx, intake):
            raise TooManyLongRuns(intake.long_runs)

        changes: dict[str, Any] = {
            "agent": agent,
            "queue_no": lease["last_queue_no"] + 1,
            "feed_no": lease["last_feed_no"] + 1,
        }
        taken = None
        if idle and agent in intake.agents:
            taken = new_lease(intake.node, run, lease["fence"] + 1, intake.lease_seconds, clock=self._database.clock())
            retry_safe = intake.agents[agent].retry_safe
            run = run.taken(taken.fence, run.accepted_at, retry_safe=retry_safe, **changes)
            tx.execute(sql.take_lease_at_intake, taking_params(taken, clock=self._database.clock()))
        else:
            run = replace(run, **changes)
            tx.execute(sql.queue_on_lease, {"tenant": run.tenant, "subject": subject})
        if run.custody.is_ours:
            now = rows.micros(run.accepted_at)
            tx.execute(sql.touch_session, {"tenant": run.tenant, "session_id": run.session_id, "now": now})
        tx.execute(sql.insert_run, rows.run_params(run))
        tx.execute(sql.append_feed, rows.accepted_params(run))
        return Accepted(run=run, lease=taken, double_text=double_text)

    def _has_too_many_long_runs(self, tx: Tx, intake: Intake) -> bool:
        found = tx.execute(sql.open_long_runs, long_runs_params(intake)).fetchone()
        return bool(found["found"] >= intake.long_runs)

    def _room_for(self, tx: Tx, intake: Intake) -> tuple[AgentId, DoubleText | None, sqlite3.Row]:
        """The agent to ask, the session's own double_text, and the lease; raises when the session takes no message."""
        run = intake.run
        if not run.custody.is_ours:
            return run.agent, None, lease_in(tx, run.tenant, run.subject)
        place = {"tenant": run.tenant, "session_id": run.session_id}
        session = tx.execute(sql.session_and_lease, place).fetchone()
        if session is None or not (session["owner"] == run.user or intake.sees_whole_tenant):
            raise SessionNotFound(run.session_id)
        refuse_if_over(run.session_id, session, run.accepted_at)
        own = DoubleText(session["double_text"]) if session["double_text"] else None
        return intake.agent or AgentId(session["agent"]), own, session

    def _accept_answer(self, tx: Tx, intake: Intake, run_id: RunId) -> Accepted:
        """Queue the waiting run again, with the answer in its checkpoint."""
        _, _, lease = self._room_for(tx, intake)
        run = run_in(tx, intake.run.tenant, run_id)
        if run.session_id != intake.run.session_id:
            raise RunNotFound(run_id)
        if run.status is not RunStatus.WAITING:
            raise RunNotWaiting(run_id, run.status)
        asked, at = self._open_checkpoint(tx, run), intake.run.accepted_at
        refuse_approval_from_elsewhere(run, asked.checkpoint, intake)
        if intake.decision is not None:
            decide_in(tx, run.tenant, intake.decision)
            lease = lease_in(tx, run.tenant, run.subject)
        answered = replace(asked.checkpoint.answered(intake.answer_text), feed_no=lease["last_feed_no"] + 1)
        idle = lease["holder"] is None and lease["queued"] == 0
        run = run.woken(intake.run, lease["last_queue_no"] + 1, at - asked.at)
        taken = None
        if idle and run.agent in intake.agents:
            taken = new_lease(intake.node, run, lease["fence"] + 1, intake.lease_seconds, clock=self._database.clock())
            run = run.taken(taken.fence, at, retry_safe=intake.agents[run.agent].retry_safe)
            tx.execute(sql.take_lease_at_intake, taking_params(taken, clock=self._database.clock()))
        else:
            tx.execute(sql.queue_on_lease, {"tenant": run.tenant, "subject": run.subject})
        tx.execute(sql.touch_session, {"tenant": run.tenant, "session_id": run.session_id, "now": rows.micros(at)})
        tx.execute(sql.resume_run, rows.run_params(run))
        tx.execute(sql.append_checkpoint, rows.checkpoint_params(run, answered, at))
        no = lease["last_feed_no"] + 1
        trace = {"trace_id": intake.run.trace_id}
        said = rows.feed_params(run.tenant, run.subject, no, FeedType.RUN_ANSWERED, run.id, at, trace)
        tx.execute(sql.append_feed, said)
        return Accepted(run=run, lease=taken, checkpoint=answered)

    def _open_checkpoint(self, tx: Tx, run: Run) -> KeptCheckpoint:
        found = kept_checkpoint_in(tx, run)
        assert found is not None, "a waiting run has asked something"
        return found


def _count_in(tx: Tx, intake: Intake, quotas: Quotas) -> None:
    """One more run of the tenant, and perhaps one more session. Raises QuotaExceeded, and then counts nothing."""
    if intake.new_session is not None:
        refuse_more_sessions(tx, intake.new_session, quotas.sessions)
    if quotas.runs is not None and intake.run.input.command is None:
        place = {"tenant": intake.run.tenant, "month": quotas.month}
        tx.execute(sql.start_run_count, place)
        if not tx.execute(sql.count_run, place | {"most": quotas.runs}).fetchall():
            begun = tx.execute(sql.read_run_count, place).fetchone()["runs"]
            raise QuotaExceeded(Quota.RUNS_MONTHLY, quotas.runs, with_this=begun + 1)
