"""Runs in a PostgreSQL database, from the moment they take their turn."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from turnkeeper.errors import (
    LeaseLost,
    RunNotFound,
    SessionMoved,
)
from turnkeeper.model.approval import Approval
from turnkeeper.model.audit import AuditEntry
from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import AgentId, NodeId, RunId, SessionId, Subject, TenantId, UserId
from turnkeeper.model.lease import Lease
from turnkeeper.model.outbound import Delivery
from turnkeeper.model.run import WAITED_TOO_LONG, Finish, Run, RunStatus
from turnkeeper.model.session import Session
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.runs import (
    CANCEL,
    DEFAULT_TERMS,
    Accepted,
    AgentTerms,
    Claimed,
    Committed,
    Intake,
    ResetWish,
    ResumeTerms,
    RunEnd,
    Work,
)
from turnkeeper.stores import rows
from turnkeeper.stores.approvals import approval_params
from turnkeeper.stores.explained import written
from turnkeeper.stores.outbox import delivery_params
from turnkeeper.stores.postgres.accepting import PostgresAccepting
from turnkeeper.stores.postgres.audit import PostgresAudit, entry_params
from turnkeeper.stores.postgres.checkpoints import requeue, shown_before
from turnkeeper.stores.postgres.custody import keep_device, remember_revision
from turnkeeper.stores.postgres.database import PostgresDatabase, Row, Tx, sql
from turnkeeper.stores.postgres.endings import (
    append_feed,
    cancel_approvals_of_session,
    cancel_waiting_runs,
    chunks_params,
    drop_deltas,
    end_unheld_run,
    explain_run,
)
from turnkeeper.stores.postgres.held import checkpoint_in, in_micros, locked_lease, run_in, take_lease
from turnkeeper.stores.postgres.units import change_units


class PostgresRuns:
    def __init__(self, database: PostgresDatabase, audit: PostgresAudit) -> None:
        self._database = database
        self._audit = audit
        self._accepting = PostgresAccepting(database, audit)

    async def accept(self, intake: Intake) -> Accepted:
        return await self._accepting.accept(intake)

    async def request(self, tenant: TenantId, user: UserId, key: str) -> bytes | None:
        found = await self._database.read(sql.known_request, {"tenant": tenant, "user": user, "key": key})
        return bytes(found[0]["body_hash"]) if found else None

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
        resume: ResumeTerms = DEFAULT_TERMS,
    ) -> Claimed | None:
        return await self._database.finish(
            self._claim(tenant, subject, node, agents, lease_seconds, at, new_run_id, resume)
        )

    async def _claim(
        self,
        tenant: TenantId,
        subject: Subject,
        node: NodeId,
        agents: Mapping[AgentId, AgentTerms],
        lease_seconds: float,
        at: datetime,
        new_run_id: RunId,
        resume: ResumeTerms,
    ) -> Claimed | None:
        async with self._database.transaction("claim") as tx:
            lease = await locked_lease(tx, tenant, subject)
            await self._end_overdue(tx, tenant, subject, at)
            if lease["holder"] is not None and not lease["has_run_out"]:
                return None
            if lease["holder"] is not None:
                left = await run_in(tx, tenant, lease["run_id"])
                await self._take_over(tx, lease, left, at, new_run_id, resume)
            found = await tx.one(sql.first_queued_run, {"tenant": tenant, "subject": subject})
            if found is None or found["agent"] not in agents:
                return None
            run = rows.run_of(found)
            taken = await take_lease(tx, sql.take_lease, node, run, lease_seconds)
            run = run.taken(taken.fence, at, retry_safe=agents[run.agent].retry_safe)
            await tx.run(sql.start_run, rows.run_params(run))
            return Claimed(run=run, lease=taken, checkpoint=await checkpoint_in(tx, run))

    async def _take_over(
        self, tx: Tx, lease: Row, run: Run, at: datetime, new_run_id: RunId, resume: ResumeTerms
    ) -> None:
        """The holder is gone. A long run goes on, unless it was to be cancelled or comes to nothing every time."""
        if run.is_resumed and lease["stop_how"] == CANCEL:
            await tx.run(sql.raise_fence, {"tenant": run.tenant, "subject": run.subject})
            await end_unheld_run(tx, run, RunStatus.CANCELLED, at)
        elif not (run.is_resumed and await requeue(tx, run, resume, at, died=True)):
            await self._abandon(tx, run, at, new_run_id)

    async def hand_over(
        self,
        lease: Lease,
        *,
        at: datetime,
        new_run_id: RunId,
        explanation: Explanation,
        resume: ResumeTerms = DEFAULT_TERMS,
    ) -> None:
        await self._database.finish(self._hand_over(lease, at, new_run_id, explanation, resume))

    async def _hand_over(
        self, lease: Lease, at: datetime, new_run_id: RunId, explanation: Explanation, resume: ResumeTerms
    ) -> None:
        async with self._database.transaction("hand_over") as tx:
            held = await locked_lease(tx, lease.tenant, lease.subject)
            if held["fence"] != lease.fence or held["holder"] is None:
                raise LeaseLost(lease.run_id)
            run = await run_in(tx, lease.tenant, lease.run_id)
            if not (run.is_resumed and await requeue(tx, run, resume, at, died=False)):
                await self._abandon(tx, run, at, new_run_id, explanation)

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
        if asked := await checkpoint_in(tx, run):
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
            "lease_micros": in_micros(lease_seconds),
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
            "message_events": [rows.event_json(message) for message in turn.messages],
            "message_moments": [rows.micros(message.created_at) for message in turn.messages],
            "explanation": written(explanation),
            "said": rows.json_text(rows.turn_said(turn)),
        }
        if turn.units.is_empty and not turn.deliveries:
            found = await self._database.finish(self._database.write("commit", sql.commit_turn, params))
            return _committed(found, lease, session_id, expected_revision)
        return await self._database.finish(self._commit_with_more(turn, lease, session_id, expected_revision, params))

    async def _commit_with_more(
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
            await _insert_deliveries(tx, turn.deliveries)
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
        if end.deliveries or end.mark is not None or end.device is not None:
            return await self._database.finish(self._end_with_more(lease, end))
        written = self._database.write("end", sql.end_held_run, _end_params(lease, end))
        released = await self._database.finish(written)
        if not released:
            raise LeaseLost(lease.run_id)
        return rows.committed(released[0])

    async def _end_with_more(self, lease: Lease, end: RunEnd) -> Committed:
        async with self._database.transaction("end") as tx:
            released = await tx.run(sql.end_held_run, _end_params(lease, end))
            if not released:
                raise LeaseLost(lease.run_id)
            if end.mark is not None:
                await remember_revision(tx, lease.tenant, end.mark, end.at)
            if end.device is not None:
                await keep_device(tx, lease.tenant, end.device, end.at)
            await _insert_deliveries(tx, end.deliveries)
            return rows.committed(released[0])

    async def suspend(
        self,
        lease: Lease,
        checkpoint: Checkpoint,
        *,
        at: datetime,
        wait_until: datetime,
        deliveries: Sequence[Delivery] = (),
        approval: Approval | None = None,
    ) -> Committed:
        return await self._database.finish(self._suspend(lease, checkpoint, at, wait_until, deliveries, approval))

    async def _suspend(
        self,
        lease: Lease,
        checkpoint: Checkpoint,
        at: datetime,
        wait_until: datetime,
        deliveries: Sequence[Delivery],
        approval: Approval | None,
    ) -> Committed:
        async with self._database.transaction("suspend") as tx:
            released = await self._release(tx, lease)
            run = await run_in(tx, lease.tenant, lease.run_id)
            checkpoint = replace(checkpoint, feed_no=released["last_feed_no"])
            await tx.run(sql.append_checkpoint, rows.checkpoint_params(run, checkpoint, at))
            await tx.run(sql.suspend_run, rows.run_params(replace(run, wait_until=wait_until)))
            said = {"question": checkpoint.asks[-1].shown} | await drop_deltas(tx, run)
            no = released["last_feed_no"]
            told = rows.feed_params(lease.tenant, lease.subject, no, FeedType.RUN_WAITING, lease.run_id, at, said)
            await tx.run(sql.append_feed, told)
            if approval is not None:
                await tx.run(sql.insert_approval, approval_params(approval))
                said = approval.told
                await append_feed(tx, run.tenant, run.subject, FeedType.APPROVAL_REQUESTED, run.id, at, said)
            await _insert_deliveries(tx, deliveries)
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
            await cancel_approvals_of_session(tx, lease.tenant, wish.session_id, wish.at)
            await tx.run(sql.append_audit, entry_params(entry))
            return epoch

    async def has_reset(self, run: Run) -> bool:
        return bool(await self._database.read(sql.epoch_of_run, rows.epoch_of_run_params(run)))

    # --- stopping a run for another one

    async def ask_to_cancel(self, run: Run) -> Lease | None:
        return await self._database.finish(self._ask_to_cancel(run))

    async def _ask_to_cancel(self, run: Run) -> Lease | None:
        async with self._database.transaction("ask_to_cancel") as tx:
            lease = await locked_lease(tx, run.tenant, run.subject)
            if lease["holder"] is None or lease["run_id"] != run.id:
                return None
            await tx.run(sql.wish_to_stop, rows.wish_params(run, CANCEL, None))
            return rows.lease_of(lease)

    async def ask_to_give_way(self, newcomer: Run, how: DoubleText) -> Lease | None:
        return await self._database.finish(self._ask_to_give_way(newcomer, how))

    async def _ask_to_give_way(self, newcomer: Run, how: DoubleText) -> Lease | None:
        async with self._database.transaction("ask_to_give_way") as tx:
            by, lease = newcomer.id, await locked_lease(tx, newcomer.tenant, newcomer.subject)
            if lease["holder"] is None or (await run_in(tx, newcomer.tenant, by)).status is not RunStatus.QUEUED:
                return None
            if not (await run_in(tx, newcomer.tenant, lease["run_id"])).gives_way:
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
            held = await locked_lease(tx, lease.tenant, lease.subject)
            if held["fence"] != lease.fence or held["holder"] is None:
                return False
            run, newcomer = await run_in(tx, lease.tenant, lease.run_id), await run_in(tx, lease.tenant, by)
            if not run.gives_way or newcomer.status is not RunStatus.QUEUED:
                return False
            if how is DoubleText.MERGE:
                first = await tx.one(sql.first_queued_run, rows.lease_params(lease))
                has_asked = await checkpoint_in(tx, run) is not None
                place = {"tenant": run.tenant, "session_id": run.session_id, "run_id": run.first_attempt}
                has_effect = await tx.one(sql.any_effect, place) is not None
                is_next = first is not None and first["id"] == by
                too_late = held["first_delta"] or has_asked or has_effect or not is_next
                if too_late or not run.may_be_merged_with(newcomer):
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
        shown = await shown_before(tx, run) + "".join(row["text"] for row in chunks)
        state = rows.from_json(loaded["state"]) if loaded["state"] else {}
        asked = await checkpoint_in(tx, run)
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
            await locked_lease(tx, tenant, (await run_in(tx, tenant, run_id)).subject)
            run = await run_in(tx, tenant, run_id)
            if run.status not in (RunStatus.QUEUED, RunStatus.WAITING):
                return run
            if run.status is RunStatus.QUEUED:
                await tx.run(sql.leave_queue, {"tenant": tenant, "subject": run.subject})
            await end_unheld_run(tx, run, RunStatus.CANCELLED, at)
            return await run_in(tx, tenant, run_id)

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

    async def forget_carried(self, *, at: datetime) -> int:
        place: rows.Params = {"now": rows.micros(at)}
        tenants = [row["tenant"] for row in await self._database.read(sql.tenants_that_carry, place)]
        if not tenants:
            return 0
        return await self._database.finish(self._forget_carried(tenants, place))

    async def _forget_carried(self, tenants: Sequence[str], place: rows.Params) -> int:
        forgotten = 0
        async with self._database.transaction("forget_carried") as tx:
            for tenant in tenants:
                forgotten += (await tx.run(sql.forget_carried, place | {"tenant": tenant}))[0]["forgotten"]
        return forgotten

    # --- inside a write

    async def _release(self, tx: Tx, lease: Lease) -> Row:
        released = await tx.one(sql.release_lease, rows.lease_params(lease))
        if released is None:
            raise LeaseLost(lease.run_id)
        return released


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


async def _insert_deliveries(tx: Tx, deliveries: Sequence[Delivery]) -> None:
    for delivery in deliveries:
        await tx.run(sql.insert_delivery, delivery_params(delivery))
