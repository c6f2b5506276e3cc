"""Runs in a PostgreSQL database: taking them in, taking turns, and how they end."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import asyncpg

from turnkeeper.errors import (
    DuplicateRequest,
    LeaseLost,
    QueueFull,
    RunNotFound,
    RunNotWaiting,
    SessionMoved,
    SessionNotFound,
)
from turnkeeper.model.audit import AuditEntry
from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import AgentId, Fence, NodeId, RunId, SessionId, Subject, TenantId
from turnkeeper.model.lease import Lease
from turnkeeper.model.run import WAITED_TOO_LONG, Finish, Run, RunStatus
from turnkeeper.model.session import Custody, Session
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.runs import CANCEL, Accepted, AgentTerms, Claimed, Committed, Intake, ResetWish, RunEnd, Work
from turnkeeper.stores import rows
from turnkeeper.stores.explained import written
from turnkeeper.stores.intake import busy, refuse_if_over, terms_of
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.database import PostgresDatabase, Row, Tx, sql
from turnkeeper.stores.postgres.endings import (
    append_feed,
    cancel_waiting_runs,
    chunks_params,
    drop_deltas,
    end_unheld_run,
    explain_run,
)
from turnkeeper.stores.postgres.sessions import insert_session
from turnkeeper.stores.postgres.units import change_units


class PostgresRuns:
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
        """None when it must be looked at with care: a refusal, an answer, or a request that is known already."""
        if intake.answers is not None:
            return None
        try:
            if intake.new_session is not None or intake.run.custody is Custody.CLIENT:
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
            "lease_micros": _micros(intake.lease_seconds),
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
            "lease_micros": _micros(intake.lease_seconds),
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
        return await self._run(tx, intake.run.tenant, found["run_id"])

    async def _accept_message_in(self, tx: Tx, intake: Intake) -> Accepted:
        run, subject = intake.run, intake.run.subject
        if intake.new_session is not None:
            await insert_session(tx, intake.new_session)
        elif run.custody is Custody.CLIENT:
            await tx.run(sql.insert_lease, {"tenant": run.tenant, "subject": subject})
        agent, session_double_text, lease = await self._room_for(tx, intake)
        double_text = _double_text(intake, agent, session_double_text)
        idle = lease["holder"] is None and lease["queued"] == 0
        if double_text is DoubleText.REJECT and not idle:
            raise busy(run.session_id, lease)
        if not idle and lease["queued"] >= intake.queue_limit:
            raise QueueFull(run.session_id, queued=lease["queued"])

        numbers = {"queue_no": lease["last_queue_no"] + 1, "feed_no": lease["last_feed_no"] + 1}
        run = replace(run, agent=agent, **numbers)
        taken = None
        if idle and agent in intake.agents:
            taken = await self._take(tx, sql.take_lease_at_intake, intake.node, run, intake.lease_seconds)
            run = run.taken(taken.fence, run.accepted_at, retry_safe=intake.agents[agent].retry_safe)
        else:
            await tx.run(sql.queue_on_lease, {"tenant": run.tenant, "subject": subject})
        if run.custody is Custody.ENGINE:
            now = rows.micros(run.accepted_at)
            await tx.run(sql.touch_session, {"tenant": run.tenant, "session_id": run.session_id, "now": now})
        await tx.run(sql.insert_run, rows.run_params(run))
        await tx.run(sql.append_feed, rows.accepted_params(run))
        return Accepted(run=run, lease=taken, double_text=double_text)

    async def _room_for(self, tx: Tx, intake: Intake) -> tuple[AgentId, DoubleText | None, Row]:
        """The agent to ask, the session's own double_text, and the lease; raises when the session takes no message."""
        run = intake.run
        if run.custody is Custody.CLIENT:
            return run.agent, None, await self._lock(tx, run.tenant, run.subject)
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
        run = await self._run(tx, intake.run.tenant, run_id)
        if run.session_id != intake.run.session_id:
            raise RunNotFound(run_id)
        if run.status is not RunStatus.WAITING:
            raise RunNotWaiting(run_id, run.status)
        answered = (await self._checkpoint(tx, run)).answered(intake.answer_text)
        at = intake.run.accepted_at
        idle = lease["holder"] is None and lease["queued"] == 0
        run = replace(
            run, status=RunStatus.QUEUED, queue_no=lease["last_queue_no"] + 1, wait_until=intake.run.wait_until
        )
        taken = None
        if idle and run.agent in intake.agents:
            taken = await self._take(tx, sql.take_lease_at_intake, intake.node, run, intake.lease_seconds)
            run = run.taken(taken.fence, at, retry_safe=intake.agents[run.agent].retry_safe)
        else:
            await tx.run(sql.queue_on_lease, {"tenant": run.tenant, "subject": run.subject})
        now = rows.micros(at)
        await tx.run(sql.touch_session, {"tenant": run.tenant, "session_id": run.session_id, "now": now})
        await tx.run(sql.resume_run, rows.run_params(run))
        await tx.run(sql.append_checkpoint, rows.checkpoint_params(run, answered, at))
        no = lease["last_feed_no"] + 1
        said = rows.feed_params(run.tenant, run.subject, no, FeedType.RUN_ANSWERED, run.id, at, {})
        await tx.run(sql.append_feed, said)
        return Accepted(run=run, lease=taken, checkpoint=answered)

    # --- taking turns

    async def claim(
        self,
        tenant: TenantId,
        subject: Subject,
        *,
        node: NodeId,
        agents: Mapping[AgentId, AgentTerms],
        lease_seconds: float,
        at: datetime,
        new_run_id: RunId,
    ) -> Claimed | None:
        return await self._database.finish(self._claim(tenant, subject, node, agents, lease_seconds, at, new_run_id))

    async def _claim(
        self,
        tenant: TenantId,
        subject: Subject,
        node: NodeId,
        agents: Mapping[AgentId, AgentTerms],
        lease_seconds: float,
        at: datetime,
        new_run_id: RunId,
    ) -> Claimed | None:
        async with self._database.transaction("claim") as tx:
            lease = await self._lock(tx, tenant, subject)
            await self._end_overdue(tx, tenant, subject, at)
            if lease["holder"] is not None and not lease["has_run_out"]:
                return None
            if lease["holder"] is not None:
                await self._abandon(tx, await self._run(tx, tenant, lease["run_id"]), at, new_run_id)
            found = await tx.one(sql.first_queued_run, {"tenant": tenant, "subject": subject})
            if found is None or found["agent"] not in agents:
                return None
            run = rows.run_of(found)
            taken = await self._take(tx, sql.take_lease, node, run, lease_seconds)
            run = run.taken(taken.fence, at, retry_safe=agents[run.agent].retry_safe)
            await tx.run(sql.start_run, rows.run_params(run))
            return Claimed(run=run, lease=taken, checkpoint=await self._checkpoint_or_none(tx, run))

    async def hand_over(self, lease: Lease, *, at: datetime, new_run_id: RunId, explanation: Explanation) -> None:
        await self._database.finish(self._hand_over(lease, at, new_run_id, explanation))

    async def _hand_over(self, lease: Lease, at: datetime, new_run_id: RunId, explanation: Explanation) -> None:
        async with self._database.transaction("hand_over") as tx:
            held = await self._lock(tx, lease.tenant, lease.subject)
            if held["fence"] != lease.fence or held["holder"] is None:
                raise LeaseLost(lease.run_id)
            await self._abandon(tx, await self._run(tx, lease.tenant, lease.run_id), at, new_run_id, explanation)

    async def _abandon(
        self, tx: Tx, run: Run, at: datetime, new_run_id: RunId, explanation: Explanation | None = None
    ) -> None:
        """The holder is gone. Its run may be tried once more where its agent allows that."""
        await tx.run(sql.raise_fence, {"tenant": run.tenant, "subject": run.subject})
        by = new_run_id if run.may_be_retried else None
        await end_unheld_run(tx, run, RunStatus.ABANDONED, at, by=by, explanation=explanation)
        if by is None:
            return
        await tx.run(sql.join_queue, {"tenant": run.tenant, "subject": run.subject})
        said = {"retry_of": run.id}
        no = await append_feed(tx, run.tenant, run.subject, FeedType.RUN_ACCEPTED, new_run_id, at, said)
        again = replace(run.again(new_run_id, at), feed_no=no)
        await tx.run(sql.insert_run, rows.run_params(again))
        if asked := await self._checkpoint_or_none(tx, run):
            await tx.run(sql.append_checkpoint, rows.checkpoint_params(again, asked, at))

    async def _end_overdue(self, tx: Tx, tenant: TenantId, subject: Subject, at: datetime) -> None:
        place = {"tenant": tenant, "subject": subject, "now": rows.micros(at)}
        for row in await tx.run(sql.queued_runs_out_of_time, place):
            run = rows.run_of(row)
            if run.status is RunStatus.QUEUED:
                await tx.run(sql.leave_queue, place)
            await end_unheld_run(tx, run, RunStatus.TIMED_OUT, at, WAITED_TOO_LONG)

    def renew(self, leases: Sequence[Lease], *, lease_seconds: float) -> Sequence[Lease]:
        params = {
            "tenants": [lease.tenant for lease in leases],
            "subjects": [lease.subject for lease in leases],
            "fences": [lease.fence for lease in leases],
            "lease_micros": _micros(lease_seconds),
        }
        renewed = self._database.write_from_thread("renew", sql.renew_lease, params)
        still_held = {(row["tenant"], row["subject"], row["fence"]) for row in renewed}
        return [lease for lease in leases if (lease.tenant, lease.subject, lease.fence) not in still_held]

    # --- how a run ends

    async def commit(
        self, turn: Turn, lease: Lease, *, session_id: SessionId, expected_revision: int, explanation: Explanation
    ) -> Committed:
        params = rows.turn_params(lease.tenant, session_id, turn, expected_revision) | rows.lease_params(lease)
        params |= {
            "message_seqs": [message.seq for message in turn.messages],
            "message_ids": [message.id for message in turn.messages],
            "message_roles": [message.role.value for message in turn.messages],
            "message_contents": [message.content for message in turn.messages],
            "message_moments": [rows.micros(message.created_at) for message in turn.messages],
            "explanation": written(explanation),
            "said": rows.json_text(rows.turn_said(turn)),
        }
        if turn.units.is_empty:
            found = await self._database.finish(self._database.write("commit", sql.commit_turn, params))
            return _committed(found, lease, session_id, expected_revision)
        return await self._database.finish(self._commit_with_units(turn, lease, session_id, expected_revision, params))

    async def _commit_with_units(
        self, turn: Turn, lease: Lease, session_id: SessionId, expected_revision: int, params: rows.Params
    ) -> Committed:
        async with self._database.transaction("commit") as tx:
            committed = _committed(await tx.run(sql.commit_turn, params), lease, session_id, expected_revision)
            await change_units(
                tx,
                lease.tenant,
                session_id,
                turn.units,
                epoch=turn.epoch,
                at=turn.committed_at,
                turn=turn.number,
                run_id=lease.run_id,
            )
            return committed

    async def change_units(self, lease: Lease, changes: UnitChanges, end: RunEnd, *, session: Session) -> Committed:
        return await self._database.finish(self._change_units(lease, changes, end, session))

    async def _change_units(self, lease: Lease, changes: UnitChanges, end: RunEnd, session: Session) -> Committed:
        async with self._database.transaction("change_units") as tx:
            released = await tx.run(sql.end_held_run, _end_params(lease, end))
            if not released:
                raise LeaseLost(lease.run_id)
            place = {"tenant": lease.tenant, "session_id": session.id, "expected_revision": session.revision}
            if not await tx.run(sql.change_revision, place):
                raise SessionMoved(session.id, expected_revision=session.revision)
            epoch, run_id = session.epoch.number, lease.run_id
            await change_units(tx, lease.tenant, session.id, changes, epoch=epoch, at=end.at, run_id=run_id)
            return rows.committed(released[0], revision=session.revision + 1)

    async def end(self, lease: Lease, end: RunEnd) -> Committed:
        written = self._database.write("end", sql.end_held_run, _end_params(lease, end))
        released = await self._database.finish(written)
        if not released:
            raise LeaseLost(lease.run_id)
        return rows.committed(released[0])

    async def suspend(self, lease: Lease, checkpoint: Checkpoint, *, at: datetime, wait_until: datetime) -> Committed:
        return await self._database.finish(self._suspend(lease, checkpoint, at, wait_until))

    async def _suspend(self, lease: Lease, checkpoint: Checkpoint, at: datetime, wait_until: datetime) -> Committed:
        async with self._database.transaction("suspend") as tx:
            released = await self._release(tx, lease)
            run = await self._run(tx, lease.tenant, lease.run_id)
            await tx.run(sql.append_checkpoint, rows.checkpoint_params(run, checkpoint, at))
            await tx.run(sql.suspend_run, rows.run_params(replace(run, wait_until=wait_until)))
            said = {"question": checkpoint.asks[-1].shown} | await drop_deltas(tx, run)
            no = released["last_feed_no"]
            told = rows.feed_params(lease.tenant, lease.subject, no, FeedType.RUN_WAITING, lease.run_id, at, said)
            await tx.run(sql.append_feed, told)
            return rows.committed(released)

    async def reset(self, lease: Lease, wish: ResetWish) -> Epoch:
        begun = await self._database.finish(
            self._audit.append(wish.audit, lambda entry: self._reset(lease, wish, entry))
        )
        assert begun is not None
        return begun

    async def _reset(self, lease: Lease, wish: ResetWish, entry: AuditEntry) -> Epoch:
        async with self._database.transaction("reset") as tx:
            held = await tx.one(sql.hold_lease, rows.lease_params(lease))
            if held is None:
                raise LeaseLost(lease.run_id)
            params = rows.reset_params(lease, wish)
            advanced = await tx.one(sql.reset_session, params)
            if advanced is None:
                raise SessionMoved(wish.session_id, expected_revision=wish.expected_revision)
            await tx.run(sql.unindex_session, params)
            epoch = Epoch(number=advanced["epoch"], started_at=wish.at, first_seq=advanced["epoch_first_seq"])
            await tx.run(sql.append_epoch, params | rows.epoch_params(advanced))
            said = {"epoch": epoch.number, "trigger": wish.trigger}
            no = held["last_feed_no"]
            told = rows.feed_params(
                lease.tenant, lease.subject, no, FeedType.SESSION_RESET, lease.run_id, wish.at, said
            )
            await tx.run(sql.append_feed, told)
            await cancel_waiting_runs(tx, lease.tenant, lease.subject, wish.at)
            await tx.run(sql.append_audit, entry_params(entry))
            return epoch

    async def has_reset(self, run: Run) -> bool:
        return bool(await self._database.read(sql.epoch_of_run, rows.epoch_of_run_params(run)))

    # --- stopping a run for another one

    async def ask_to_cancel(self, run: Run) -> Lease | None:
        return await self._database.finish(self._ask_to_cancel(run))

    async def _ask_to_cancel(self, run: Run) -> Lease | None:
        async with self._database.transaction("ask_to_cancel") as tx:
            lease = await self._lock(tx, run.tenant, run.subject)
            if lease["holder"] is None or lease["run_id"] != run.id:
                return None
            await tx.run(sql.wish_to_stop, rows.wish_params(run, CANCEL, None))
            return rows.lease_of(lease)

    async def ask_to_give_way(self, newcomer: Run, how: DoubleText) -> Lease | None:
        return await self._database.finish(self._ask_to_give_way(newcomer, how))

    async def _ask_to_give_way(self, newcomer: Run, how: DoubleText) -> Lease | None:
        async with self._database.transaction("ask_to_give_way") as tx:
            by, lease = newcomer.id, await self._lock(tx, newcomer.tenant, newcomer.subject)
            if lease["holder"] is None or (await self._run(tx, newcomer.tenant, by)).status is not RunStatus.QUEUED:
                return None
            if not (await self._run(tx, newcomer.tenant, lease["run_id"])).gives_way:
                await tx.run(sql.note_not_merged, {"tenant": newcomer.tenant, "run_id": by})
                return None
            if how is not DoubleText.MERGE:
                await tx.run(sql.wish_to_stop, rows.wish_params(newcomer, how.value, by))
            return rows.lease_of(lease)

    async def stop_wish(self, lease: Lease) -> tuple[str, RunId | None] | None:
        found = await self._database.read(sql.read_lease, rows.lease_params(lease))
        if not found or found[0]["fence"] != lease.fence or found[0]["holder"] is None:
            raise LeaseLost(lease.run_id)
        return (found[0]["stop_how"], found[0]["stop_by"]) if found[0]["stop_how"] else None

    async def supersede(
        self, lease: Lease, *, how: DoubleText, by: RunId, at: datetime, explanation: Explanation | None
    ) -> bool:
        return await self._database.finish(self._supersede(lease, how, by, at, explanation))

    async def _supersede(
        self, lease: Lease, how: DoubleText, by: RunId, at: datetime, explanation: Explanation | None
    ) -> bool:
        async with self._database.transaction("supersede") as tx:
            held = await self._lock(tx, lease.tenant, lease.subject)
            if held["fence"] != lease.fence or held["holder"] is None:
                return False
            run, newcomer = await self._run(tx, lease.tenant, lease.run_id), await self._run(tx, lease.tenant, by)
            if not run.gives_way or newcomer.status is not RunStatus.QUEUED:
                return False
            if how is DoubleText.MERGE:
                first = await tx.one(sql.first_queued_run, rows.lease_params(lease))
                has_asked = await self._checkpoint_or_none(tx, run) is not None
                is_next = first is not None and first["id"] == by
                if held["first_delta"] or has_asked or not is_next or newcomer.input.wants_reset:
                    await tx.run(sql.note_not_merged, {"tenant": lease.tenant, "run_id": by})
                    return False
                merged = rows.json_text(run.input.followed_by(newcomer.input))
                await tx.run(sql.merge_input, {"tenant": lease.tenant, "run_id": by, "input": merged})
            turn = await self._keep_what_was_shown(tx, run, at) if how is DoubleText.INTERRUPT else None
            await tx.run(sql.raise_fence, rows.lease_params(lease))
            explanation = explanation or await explain_run(tx, run, RunStatus.SUPERSEDED, at)
            await tx.run(sql.supersede_run, rows.superseded_params(run, by, at, turn, merged=how is DoubleText.MERGE))
            if turn is not None:
                explanation = replace(explanation, turn=turn.number)
            await tx.run(sql.append_explanation, rows.explanation_params(lease.tenant, explanation))
            said = {"by": by, "how": how.value} | (rows.turn_said(turn) if turn else {})
            said |= await drop_deltas(tx, run)
            await append_feed(tx, lease.tenant, lease.subject, FeedType.RUN_SUPERSEDED, run.id, at, said)
            return True

    async def _keep_what_was_shown(self, tx: Tx, run: Run, at: datetime) -> Turn:
        """What a listener heard stays true: one Turn with the user's messages and the text already shown."""
        place = {"tenant": run.tenant, "session_id": run.session_id}
        loaded = (await tx.run(sql.load_session, place))[0]
        session = rows.session_of(loaded)
        chunks = await tx.run(sql.chunks_of_run, chunks_params(run))
        shown = "".join(row["text"] for row in chunks)
        state = rows.from_json(loaded["state"]) if loaded["state"] else {}
        asked = await self._checkpoint_or_none(tx, run)
        turn = Turn.of(
            run,
            session,
            asks=asked.asks if asked else (),
            text=shown,
            state=state,
            finish=Finish.INTERRUPTED,
            at=at,
        )
        params = rows.turn_params(run.tenant, run.session_id, turn, session.revision)
        await tx.run(sql.advance_session, params)
        for message in rows.message_params(run.tenant, run.session_id, turn):
            await tx.run(sql.append_message, message)
        await tx.run(sql.append_turn, params)
        return turn

    async def cancel(self, tenant: TenantId, run_id: RunId, *, at: datetime) -> Run:
        return await self._database.finish(self._cancel(tenant, run_id, at))

    async def _cancel(self, tenant: TenantId, run_id: RunId, at: datetime) -> Run:
        async with self._database.transaction("cancel") as tx:
            await self._lock(tx, tenant, (await self._run(tx, tenant, run_id)).subject)
            run = await self._run(tx, tenant, run_id)
            if run.status not in (RunStatus.QUEUED, RunStatus.WAITING):
                return run
            if run.status is RunStatus.QUEUED:
                await tx.run(sql.leave_queue, {"tenant": tenant, "subject": run.subject})
            await end_unheld_run(tx, run, RunStatus.CANCELLED, at)
            return await self._run(tx, tenant, run_id)

    # --- reading

    async def get(self, tenant: TenantId, run_id: RunId) -> Run:
        found = await self._database.read(sql.get_run, {"tenant": tenant, "run_id": run_id})
        if not found:
            raise RunNotFound(run_id)
        return rows.run_of(found[0])

    async def list(self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int) -> Sequence[Run]:
        place = {"tenant": tenant, "session_id": session_id, "before": before or "~", "limit": limit}
        return [rows.run_of(row) for row in await self._database.read(sql.list_runs, place)]

    async def checkpoint(self, tenant: TenantId, run_id: RunId) -> Checkpoint | None:
        found = await self._database.read(sql.newest_checkpoint, {"tenant": tenant, "run_id": run_id})
        return rows.checkpoint_of(found[0]["data"]) if found else None

    async def due(self, *, agents: Collection[AgentId], at: datetime, limit: int) -> Sequence[Work]:
        found = await self._database.read(
            sql.due_work, {"agents": sorted(agents), "now": rows.micros(at), "limit": limit}
        )
        return [Work(tenant=row["tenant"], subject=row["subject"]) for row in found]

    async def held_by(self, node: NodeId) -> AsyncIterator[Work]:
        place: rows.Params = {"tenant": "", "subject": "", "limit": rows.LEASES_AT_ONCE}
        while page := await self._database.read(sql.leases_after, place):
            for row in page:
                if row["holder"] == node:
                    yield Work(tenant=row["tenant"], subject=row["subject"])
            place |= {"tenant": page[-1]["tenant"], "subject": page[-1]["subject"]}

    async def forget_requests(self, *, before: datetime) -> int:
        return await self._database.finish(self._forget_requests(before))

    async def _forget_requests(self, before: datetime) -> int:
        forgotten = 0
        async with self._database.transaction("forget_requests") as tx:
            for row in await tx.run(sql.tenants_with_requests, {}):
                place = {"tenant": row["tenant"], "before": rows.micros(before)}
                forgotten += (await tx.run(sql.forget_requests, place))[0]["forgotten"]
        return forgotten

    # --- inside a write

    async def _run(self, tx: Tx, tenant: TenantId, run_id: RunId) -> Run:
        found = await tx.one(sql.get_run, {"tenant": tenant, "run_id": run_id})
        if found is None:
            raise RunNotFound(run_id)
        return rows.run_of(found)

    async def _lock(self, tx: Tx, tenant: TenantId, subject: Subject) -> Row:
        found = await tx.one(sql.lock_lease, {"tenant": tenant, "subject": subject})
        if found is None:
            raise SessionNotFound(SessionId(subject))
        return found

    async def _take(self, tx: Tx, statement: str, node: NodeId, run: Run, seconds: float) -> Lease:
        place = {"tenant": run.tenant, "subject": run.subject, "run_id": run.id}
        taken = await tx.run(statement, place | {"holder": node, "lease_micros": _micros(seconds)})
        return rows.lease_of(taken[0])

    async def _release(self, tx: Tx, lease: Lease) -> Row:
        released = await tx.one(sql.release_lease, rows.lease_params(lease))
        if released is None:
            raise LeaseLost(lease.run_id)
        return released

    async def _checkpoint(self, tx: Tx, run: Run) -> Checkpoint:
        found = await tx.run(sql.newest_checkpoint, {"tenant": run.tenant, "run_id": run.id})
        return rows.checkpoint_of(found[0]["data"])

    async def _checkpoint_or_none(self, tx: Tx, run: Run) -> Checkpoint | None:
        found = await tx.one(sql.newest_checkpoint, {"tenant": run.tenant, "run_id": run.id})
        return rows.checkpoint_of(found["data"]) if found else None


def _end_params(lease: Lease, end: RunEnd) -> rows.Params:
    params = rows.lease_params(lease) | rows.end_params(lease.tenant, lease.run_id, end)
    params |= rows.explanation_params(lease.tenant, end.explanation)
    return params | {"type": end.status.feed_type.value, "said": rows.json_text(rows.end_said(end))}


def _committed(found: Sequence[Row], lease: Lease, session_id: SessionId, expected_revision: int) -> Committed:
    if not found or not found[0]["is_held"]:
        raise LeaseLost(lease.run_id)
    if found[0]["last_feed_no"] is None:
        raise SessionMoved(session_id, expected_revision=expected_revision)
    return rows.committed(found[0], revision=expected_revision + 1)


_OF_A_SESSION = (
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


def _request_params(intake: Intake) -> dict[str, Any]:
    request = intake.request
    return {"key": request and request.key, "body_hash": request and request.body_hash}


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


def _micros(seconds: float) -> int:
    return int(seconds * 1e6)
