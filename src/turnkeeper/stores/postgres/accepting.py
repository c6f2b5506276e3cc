"""Taking a message or an answer into the queue of its session, in a PostgreSQL database."""

from dataclasses import replace
from typing import Any

import asyncpg

from turnkeeper.errors import (
    DuplicateRequest,
    QueueFull,
    QuotaExceeded,
    RunNotFound,
    RunNotWaiting,
    SessionNotFound,
    TooManyLongRuns,
)
from turnkeeper.model.audit import AuditEntry
from turnkeeper.model.checkpoint import KeptCheckpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import AgentId, Fence, NodeId, RunId
from turnkeeper.model.layer import Quota
from turnkeeper.model.lease import Lease
from turnkeeper.model.mode import Mode
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.ports.runs import Accepted, Intake, Quotas
from turnkeeper.stores import rows
from turnkeeper.stores.intake import busy, long_runs_params, refuse_approval_from_elsewhere, refuse_if_over, terms_of
from turnkeeper.stores.postgres.approvals import decide_in
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Row, Tx, sql
from turnkeeper.stores.postgres.held import in_micros, kept_checkpoint_in, locked_lease, run_in, take_lease
from turnkeeper.stores.postgres.sessions import insert_session, refuse_more_sessions


class PostgresAccepting:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit

    # --- taking a run in, in one statement where nothing is in the way

    async def accept(self, intake: Intake) -> Accepted:
        return await self._database.finish(self._accept(intake))

    async def _accept(self, intake: Intake) -> Accepted:
        accepted = await self._audit.append(intake.audit, lambda entry: self._accept_at_once(intake, entry))
        while accepted is None:
            accepted = await self._audit.append(intake.audit, lambda entry: self._accept_with_care(intake, entry))
        return accepted

    async def _accept_at_once(self, intake: Intake, entry: AuditEntry) -> Accepted | None:
        """None when it must be looked at with care: a refusal, an answer, a long run, a quota, or a known request."""
        if intake.answers is not None or intake.run.mode is Mode.LONG_RUNNING or intake.quotas is not None:
            return None
        try:
            if intake.new_session is not None or not intake.run.custody.is_ours:
                return await self._accept_first_message(intake, entry)
            return await self._accept_message(intake, entry)
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != "requests_pkey":
                raise
            return None

    async def _accept_message(self, intake: Intake, entry: AuditEntry) -> Accepted | None:
        terms = intake.agents.items()
        params = rows.run_params(intake.run) | _request_params(intake) | entry_params(entry)
        params |= {
            "sees_whole_tenant": intake.sees_whole_tenant,
            "queue_limit": intake.queue_limit,
            "double_text": intake.double_text and intake.double_text.value,
            "wanted_agent": intake.agent,
            "agents_here": list(intake.agents),
            "retry_safe_agents": [agent for agent, its in terms if its.retry_safe],
            "rejecting": [agent for agent, its in terms if its.double_text is DoubleText.REJECT],
            "holder": intake.node,
            "lease_micros": in_micros(intake.lease_seconds),
        }
        found = await self._database.write("accept", sql.accept_message, params)
        if not found:
            return None
        taken = found[0]
        agent, own = AgentId(taken["agent"]), taken["double_text"]
        run = replace(intake.run, agent=agent, queue_no=taken["queue_no"], feed_no=taken["feed_no"])
        lease = None
        if taken["is_taken"]:
            lease = _lease(intake.node, run, taken)
            run = run.taken(lease.fence, run.accepted_at, retry_safe=intake.agents[agent].retry_safe)
        return Accepted(run=run, lease=lease, double_text=_double_text(intake, agent, DoubleText(own) if own else None))

    async def _accept_first_message(self, intake: Intake, entry: AuditEntry) -> Accepted:
        session, agent, own = intake.new_session, intake.run.agent, None
        if session is not None:
            agent, own = intake.agent or session.agent, session.double_text
        run = replace(intake.run, agent=agent, queue_no=1, feed_no=1)
        if agent in intake.agents:
            run = run.taken(Fence(1), run.accepted_at, retry_safe=intake.agents[agent].retry_safe)
        kept = rows.session_params(session) if session else dict.fromkeys(_OF_A_SESSION)
        params = kept | {"session_agent": kept["agent"]} | rows.run_params(run) | _request_params(intake)
        params |= entry_params(entry) | {
            "is_taken": run.fence is not None,
            "holder": intake.node,
            "lease_micros": in_micros(intake.lease_seconds),
            "data": rows.accepted_params(run)["data"],
        }
        taken = (await self._database.write("accept", sql.accept_first_message, params))[0]
        lease = _lease(intake.node, run, taken) if run.fence else None
        return Accepted(run=run, lease=lease, double_text=_double_text(intake, agent, own))

    # --- taking a run in, step by step

    async def _accept_with_care(self, intake: Intake, entry: AuditEntry) -> Accepted | None:
        """None when the same request came in at the same time: then look again."""
        try:
            async with self._database.transaction("accept") as tx:
                accepted = await self._accept_in(tx, intake)
                await tx.run(sql.append_audit, entry_params(entry))
                return accepted
        except asyncpg.UniqueViolationError as error:
            if error.constraint_name != "requests_pkey":
                raise
            return None

    async def _accept_in(self, tx: Tx, intake: Intake) -> Accepted:
        await tx.run(sql.lock_lease, {"tenant": intake.run.tenant, "subject": intake.run.subject})
        known = await self._known_request(tx, intake)
        if known is not None and not known.may_be_sent_again:
            return Accepted(run=known, attached=True)
        if known is not None:
            # What the first attempt has done for good, such as a reset, is not done again.
            intake = replace(intake, run=replace(intake.run, retry_of=known.retry_of or known.id))
        if intake.answers is not None:
            accepted = await self._accept_answer(tx, intake, intake.answers)
        else:
            accepted = await self._accept_message_in(tx, intake)
        if intake.request is not None:
            statement = sql.insert_request if known is None else sql.move_request
            await tx.run(statement, rows.request_params(intake.request, accepted.run))
        return accepted

    async def _known_request(self, tx: Tx, intake: Intake) -> Run | None:
        if intake.request is None:
            return None
        found = await tx.one(sql.find_request, rows.request_params(intake.request, intake.run))
        if found is None:
            return None
        if found["body_hash"] != intake.request.body_hash:
            raise DuplicateRequest(intake.request.key)
        return await run_in(tx, intake.run.tenant, found["run_id"])

    async def _accept_message_in(self, tx: Tx, intake: Intake) -> Accepted:
        run, subject = intake.run, intake.run.subject
        if intake.quotas is not None:
            await _count_in(tx, intake, intake.quotas)
        if intake.new_session is not None:
            await insert_session(tx, intake.new_session)
        elif not run.custody.is_ours:
            await tx.run(sql.insert_lease, {"tenant": run.tenant, "subject": subject})
        agent, session_double_text, lease = await self._room_for(tx, intake)
        double_text = _double_text(intake, agent, session_double_text)
        idle = lease["holder"] is None and lease["queued"] == 0
        if double_text is DoubleText.REJECT and not idle:
            raise busy(run.session_id, lease)
        if not idle and lease["queued"] >= intake.queue_limit:
            raise QueueFull(run.session_id, queued=lease["queued"])
        if run.mode is Mode.LONG_RUNNING and intake.long_runs and await self._has_too_many_long_runs(tx, intake):
            raise TooManyLongRuns(intake.long_runs)

        numbers = {"queue_no": lease["last_queue_no"] + 1, "feed_no": lease["last_feed_no"] + 1}
        run = replace(run, agent=agent, **numbers)
        taken = None
        if idle and agent in intake.agents:
            taken = await take_lease(tx, sql.take_lease_at_intake, intake.node, run, intake.lease_seconds)
            run = run.taken(taken.fence, run.accepted_at, retry_safe=intake.agents[agent].retry_safe)
        else:
            await tx.run(sql.queue_on_lease, {"tenant": run.tenant, "subject": subject})
        if run.custody.is_ours:
            now = rows.micros(run.accepted_at)
            await tx.run(sql.touch_session, {"tenant": run.tenant, "session_id": run.session_id, "now": now})
        await tx.run(sql.insert_run, rows.run_params(run))
        await tx.run(sql.append_feed, rows.accepted_params(run))
        return Accepted(run=run, lease=taken, double_text=double_text)

    async def _has_too_many_long_runs(self, tx: Tx, intake: Intake) -> bool:
        await tx.run(sql.lock_long_runs, {"tenant": intake.run.tenant})
        found = await tx.one(sql.open_long_runs, long_runs_params(intake))
        return found is not None and bool(found["found"] >= intake.long_runs)

    async def _room_for(self, tx: Tx, intake: Intake) -> tuple[AgentId, DoubleText | None, Row]:
        """The agent to ask, the session's own double_text, and the lease; raises when the session takes no message."""
        run = intake.run
        if not run.custody.is_ours:
            return run.agent, None, await locked_lease(tx, run.tenant, run.subject)
        place = {"tenant": run.tenant, "session_id": run.session_id}
        session = await tx.one(sql.session_and_lease, place)
        if session is None or not (session["owner"] == run.user or intake.sees_whole_tenant):
            raise SessionNotFound(run.session_id)
        refuse_if_over(run.session_id, session, run.accepted_at)
        own = DoubleText(session["double_text"]) if session["double_text"] else None
        return intake.agent or AgentId(session["agent"]), own, session

    async def _accept_answer(self, tx: Tx, intake: Intake, run_id: RunId) -> Accepted:
        """Queue the waiting run again, with the answer in its checkpoint."""
        _, _, lease = await self._room_for(tx, intake)
        run = await run_in(tx, intake.run.tenant, run_id)
        if run.session_id != intake.run.session_id:
            raise RunNotFound(run_id)
        if run.status is not RunStatus.WAITING:
            raise RunNotWaiting(run_id, run.status)
        asked, at = await self._open_checkpoint(tx, run), intake.run.accepted_at
        refuse_approval_from_elsewhere(run, asked.checkpoint, intake)
        if intake.decision is not None:
            await decide_in(tx, run.tenant, intake.decision)
            lease = await locked_lease(tx, run.tenant, run.subject)
        answered = replace(asked.checkpoint.answered(intake.answer_text), feed_no=lease["last_feed_no"] + 1)
        idle = lease["holder"] is None and lease["queued"] == 0
        run = run.woken(intake.run, lease["last_queue_no"] + 1, at - asked.at)
        taken = None
        if idle and run.agent in intake.agents:
            taken = await take_lease(tx, sql.take_lease_at_intake, intake.node, run, intake.lease_seconds)
            run = run.taken(taken.fence, at, retry_safe=intake.agents[run.agent].retry_safe)
        else:
            await tx.run(sql.queue_on_lease, {"tenant": run.tenant, "subject": run.subject})
        now = rows.micros(at)
        await tx.run(sql.touch_session, {"tenant": run.tenant, "session_id": run.session_id, "now": now})
        await tx.run(sql.resume_run, rows.run_params(run))
        await tx.run(sql.append_checkpoint, rows.checkpoint_params(run, answered, at))
        no = lease["last_feed_no"] + 1
        trace = {"trace_id": intake.run.trace_id}
        said = rows.feed_params(run.tenant, run.subject, no, FeedType.RUN_ANSWERED, run.id, at, trace)
        await tx.run(sql.append_feed, said)
        return Accepted(run=run, lease=taken, checkpoint=answered)

    async def _open_checkpoint(self, tx: Tx, run: Run) -> KeptCheckpoint:
        found = await kept_checkpoint_in(tx, run)
        assert found is not None, "a waiting run has asked something"
        return found


_OF_A_SESSION = (
    "module",
    "project_id",
    "objective_id",
    "objective",
    "policy",
    "model_profile",
    "backend",
    "context_hash",
    "removed",
    "agent_head",
    "fork_of",
    "fork_turn",
    "fork_seq",
    "classification",
    "expires_by",
    "dialogue",
    "packs",
    "from_session_id",
    "mounts",
    "preferences",
    "owner",
    "agent",
    "revision",
    "version",
    "turns",
    "last_seq",
    "epoch",
    "epoch_started_at",
    "epoch_first_seq",
    "title",
    "double_text",
    "metadata",
    "idle_for_seconds",
    "created_at",
)


async def _count_in(tx: Tx, intake: Intake, quotas: Quotas) -> None:
    """One more run of the tenant, and perhaps one more session. Raises QuotaExceeded, and then counts nothing."""
    if intake.new_session is not None:
        await refuse_more_sessions(tx, intake.new_session, quotas.sessions)
    if quotas.runs is not None and intake.run.input.command is None:
        place = {"tenant": intake.run.tenant, "month": quotas.month}
        await tx.run(sql.start_run_count, place)
        if not await tx.run(sql.count_run, place | {"most": quotas.runs}):
            begun = await tx.one(sql.read_run_count, place)
            raise QuotaExceeded(Quota.RUNS_MONTHLY, quotas.runs, with_this=begun["runs"] + 1 if begun else 1)


def _request_params(intake: Intake) -> dict[str, Any]:
    request = intake.request
    return {
        "key": request and request.key,
        "body_hash": request and request.body_hash,
        "request_user": (request and request.user) or intake.run.user,
    }


def _double_text(intake: Intake, agent: AgentId, of_session: DoubleText | None) -> DoubleText:
    """Request, then session, then agent."""
    return intake.double_text or of_session or terms_of(intake.agents, agent).double_text


def _lease(node: NodeId, run: Run, taken: Row) -> Lease:
    return Lease(
        tenant=run.tenant,
        subject=run.subject,
        run_id=run.id,
        holder=node,
        fence=Fence(taken["fence"]),
        expires_at=rows.moment(taken["expires_at"]),
    )
