"""Runs in a SQLite file, from the moment they take their turn."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from turnkeeper.errors import (
    LeaseLost,
    RunNotFound,
    SessionMoved,
)
from turnkeeper.model.approval import Approval
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
from turnkeeper.stores.outbox import delivery_params
from turnkeeper.stores.sqlite.accepting import SqliteAccepting
from turnkeeper.stores.sqlite.audit import SqliteAudit
from turnkeeper.stores.sqlite.checkpoints import requeue, shown_before
from turnkeeper.stores.sqlite.custody import keep_device, remember_revision
from turnkeeper.stores.sqlite.database import SqliteDatabase, Tx, sql
from turnkeeper.stores.sqlite.endings import (
    append_feed,
    cancel_approvals_of_session,
    cancel_waiting_runs,
    chunks_params,
    end_unheld_run,
    explain_run,
)
from turnkeeper.stores.sqlite.held import checkpoint_in, lease_in, new_lease, run_in, taking_params
from turnkeeper.stores.sqlite.units import change_units


class SqliteRuns:
    def __init__(self, database: SqliteDatabase, audit: SqliteAudit) -> None:
        self._database = database
        self._audit = audit
        self._accepting = SqliteAccepting(database, audit)

    async def accept(self, intake: Intake) -> Accepted:
        return await self._accepting.accept(intake)

    async def request(self, tenant: TenantId, user: UserId, key: str) -> bytes | None:
        found = self._database.read(sql.known_request, {"tenant": tenant, "user": user, "key": key})
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
        return await self._database.write(
            "claim", lambda tx: self._claim(tx, tenant, subject, node, agents, lease_seconds, at, new_run_id, resume)
        )

    def _claim(
        self,
        tx: Tx,
        tenant: TenantId,
        subject: Subject,
        node: NodeId,
        agents: Mapping[AgentId, AgentTerms],
        lease_seconds: float,
        at: datetime,
        new_run_id: RunId,
        resume: ResumeTerms,
    ) -> Claimed | None:
        lease = lease_in(tx, tenant, subject)
        self._end_overdue(tx, tenant, subject, at)
        if lease["holder"] is not None and lease["expires_at"] > self._database.clock():
            return None
        if lease["holder"] is not None:
            self._take_over(tx, lease, run_in(tx, tenant, lease["run_id"]), at, new_run_id, resume)
        found = tx.execute(sql.first_queued_run, {"tenant": tenant, "subject": subject}).fetchone()
        if found is None or found["agent"] not in agents:
            return None
        run = rows.run_of(found)
        fence = lease_in(tx, tenant, subject)["fence"] + 1
        taken = new_lease(node, run, fence, lease_seconds, clock=self._database.clock())
        run = run.taken(taken.fence, at, retry_safe=agents[run.agent].retry_safe)
        tx.execute(sql.take_lease, taking_params(taken, clock=self._database.clock()))
        tx.execute(sql.start_run, rows.run_params(run))
        return Claimed(run=run, lease=taken, checkpoint=checkpoint_in(tx, run))

    def _take_over(
        self, tx: Tx, lease: sqlite3.Row, run: Run, at: datetime, new_run_id: RunId, resume: ResumeTerms
    ) -> None:
        """The holder is gone. A long run goes on, unless it was to be cancelled or comes to nothing every time."""
        if run.is_resumed and lease["stop_how"] == CANCEL:
            tx.execute(sql.raise_fence, {"tenant": run.tenant, "subject": run.subject})
            end_unheld_run(tx, run, RunStatus.CANCELLED, at)
        elif not (run.is_resumed and requeue(tx, run, resume, at, died=True)):
            self._abandon(tx, run, at, new_run_id)

    async def hand_over(
        self,
        lease: Lease,
        *,
        at: datetime,
        new_run_id: RunId,
        explanation: Explanation,
        resume: ResumeTerms = DEFAULT_TERMS,
    ) -> None:
        await self._database.write(
            "hand_over", lambda tx: self._hand_over(tx, lease, at, new_run_id, explanation, resume)
        )

    def _hand_over(
        self, tx: Tx, lease: Lease, at: datetime, new_run_id: RunId, explanation: Explanation, resume: ResumeTerms
    ) -> None:
        held = lease_in(tx, lease.tenant, lease.subject)
        if held["fence"] != lease.fence or held["holder"] is None:
            raise LeaseLost(lease.run_id)
        run = run_in(tx, lease.tenant, lease.run_id)
        if not (run.is_resumed and requeue(tx, run, resume, at, died=False)):
            self._abandon(tx, run, at, new_run_id, explanation)

    def _abandon(
        self, tx: Tx, run: Run, at: datetime, new_run_id: RunId, explanation: Explanation | None = None
    ) -> None:
        """The holder is gone. Its run may be tried once more where its agent allows that."""
        tx.execute(sql.raise_fence, {"tenant": run.tenant, "subject": run.subject})
        by = new_run_id if run.may_be_retried else None
        end_unheld_run(tx, run, RunStatus.ABANDONED, at, by=by, explanation=explanation)
        if by is None:
            return
        tx.execute(sql.join_queue, {"tenant": run.tenant, "subject": run.subject})
        no = append_feed(tx, run.tenant, run.subject, FeedType.RUN_ACCEPTED, new_run_id, at, {"retry_of": run.id})
        again = replace(run.again(new_run_id, at), feed_no=no)
        tx.execute(sql.insert_run, rows.run_params(again))
        if asked := checkpoint_in(tx, run):
            tx.execute(sql.append_checkpoint, rows.checkpoint_params(again, asked, at))

    def _end_overdue(self, tx: Tx, tenant: TenantId, subject: Subject, at: datetime) -> None:
        place = {"tenant": tenant, "subject": subject, "now": rows.micros(at)}
        for row in tx.execute(sql.queued_runs_out_of_time, place).fetchall():
            run = rows.run_of(row)
            if run.status is RunStatus.QUEUED:
                tx.execute(sql.leave_queue, place)
            end_unheld_run(tx, run, RunStatus.TIMED_OUT, at, WAITED_TOO_LONG)

    def renew(self, leases: Sequence[Lease], *, lease_seconds: float) -> Sequence[Lease]:
        return self._database.write_aside("renew", lambda tx: self._renew(tx, leases, lease_seconds))

    def _renew(self, tx: Tx, leases: Sequence[Lease], lease_seconds: float) -> Sequence[Lease]:
        until = self._database.clock() + int(lease_seconds * 1e6)
        return [
            lease
            for lease in leases
            if tx.execute(sql.renew_lease, rows.lease_params(lease) | {"expires_at": until}).rowcount == 0
        ]

    # --- how a run ends

    async def commit(
        self, turn: Turn, lease: Lease, *, session_id: SessionId, expected_revision: int, explanation: Explanation
    ) -> Committed:
        params = rows.turn_params(lease.tenant, session_id, turn, expected_revision)
        messages = rows.message_params(lease.tenant, session_id, turn)
        explained = rows.explanation_params(lease.tenant, explanation)
        letters = [delivery_params(delivery) for delivery in turn.deliveries]
        return await self._database.write(
            "commit", lambda tx: self._commit(tx, turn, lease, params, messages, explained, letters)
        )

    def _commit(
        self,
        tx: Tx,
        turn: Turn,
        lease: Lease,
        params: rows.Params,
        messages: Sequence[rows.Params],
        explained: rows.Params,
        letters: Sequence[rows.Params],
    ) -> Committed:
        released = self._release(tx, lease)
        if tx.execute(sql.advance_session, params).rowcount == 0:
            raise SessionMoved(params["session_id"], expected_revision=params["expected_revision"])
        tx.executemany(sql.append_message, messages)
        tx.execute(sql.append_turn, params)
        if not turn.units.is_empty:
            change_units(
                tx,
                lease.tenant,
                params["session_id"],
                turn.units,
                epoch=turn.epoch,
                at=turn.committed_at,
                turn=turn.number,
                run_id=lease.run_id,
            )
        tx.execute(sql.complete_run, params)
        tx.execute(sql.append_explanation, explained)
        said = rows.turn_said(turn) | self._deltas(tx, lease, released)
        self._say_end(tx, lease, released, FeedType.RUN_COMPLETED, turn.committed_at, said)
        if letters:
            tx.executemany(sql.insert_delivery, letters)
        return rows.committed(released, revision=params["revision"])

    async def change_units(self, lease: Lease, changes: UnitChanges, end: RunEnd, *, session: Session) -> Committed:
        return await self._database.write(
            "change_units", lambda tx: self._change_units(tx, lease, changes, end, session)
        )

    def _change_units(self, tx: Tx, lease: Lease, changes: UnitChanges, end: RunEnd, session: Session) -> Committed:
        place = {"tenant": lease.tenant, "session_id": session.id, "expected_revision": session.revision}
        if tx.execute(sql.change_revision, place).rowcount == 0:
            raise SessionMoved(session.id, expected_revision=session.revision)
        epoch, run_id = session.epoch.number, lease.run_id
        change_units(tx, lease.tenant, session.id, changes, epoch=epoch, at=end.at, run_id=run_id)
        return replace(self._end(tx, lease, end), revision=session.revision + 1)

    async def end(self, lease: Lease, end: RunEnd) -> Committed:
        return await self._database.write("end", lambda tx: self._end(tx, lease, end))

    def _end(self, tx: Tx, lease: Lease, end: RunEnd) -> Committed:
        released = self._release(tx, lease)
        if end.mark is not None:
            remember_revision(tx, lease.tenant, end.mark, end.at)
        if end.device is not None:
            keep_device(tx, lease.tenant, end.device, end.at)
        tx.execute(sql.end_run, rows.end_params(lease.tenant, lease.run_id, end))
        tx.execute(sql.append_explanation, rows.explanation_params(lease.tenant, end.explanation))
        said = rows.end_said(end) | self._deltas(tx, lease, released)
        self._say_end(tx, lease, released, end.status.feed_type, end.at, said)
        if end.deliveries:
            tx.executemany(sql.insert_delivery, [delivery_params(delivery) for delivery in end.deliveries])
        return rows.committed(released)

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
        letters = [delivery_params(delivery) for delivery in deliveries]
        return await self._database.write(
            "suspend", lambda tx: self._suspend(tx, lease, checkpoint, at, wait_until, letters, approval)
        )

    def _suspend(
        self,
        tx: Tx,
        lease: Lease,
        checkpoint: Checkpoint,
        at: datetime,
        wait_until: datetime,
        letters: Sequence[rows.Params],
        approval: Approval | None,
    ) -> Committed:
        released = self._release(tx, lease)
        run = run_in(tx, lease.tenant, lease.run_id)
        checkpoint = replace(checkpoint, feed_no=released["last_feed_no"])
        tx.execute(sql.append_checkpoint, rows.checkpoint_params(run, checkpoint, at))
        tx.execute(sql.suspend_run, rows.run_params(replace(run, wait_until=wait_until)))
        said = {"question": checkpoint.asks[-1].shown} | self._deltas(tx, lease, released)
        self._say_end(tx, lease, released, FeedType.RUN_WAITING, at, said)
        if approval is not None:
            tx.execute(sql.insert_approval, approval_params(approval))
            append_feed(tx, run.tenant, run.subject, FeedType.APPROVAL_REQUESTED, run.id, at, approval.told)
        if letters:
            tx.executemany(sql.insert_delivery, letters)
        return rows.committed(released)

    async def reset(self, lease: Lease, wish: ResetWish) -> Epoch:
        return await self._database.write("reset", lambda tx: self._reset(tx, lease, wish))

    def _reset(self, tx: Tx, lease: Lease, wish: ResetWish) -> Epoch:
        held = tx.execute(sql.hold_lease, rows.lease_params(lease)).fetchall()
        if not held:
            raise LeaseLost(lease.run_id)
        params = rows.reset_params(lease, wish)
        advanced = tx.execute(sql.reset_session, params).fetchall()
        if not advanced:
            raise SessionMoved(wish.session_id, expected_revision=wish.expected_revision)
        tx.execute(sql.unindex_session, params)
        epoch = Epoch(number=advanced[0]["epoch"], started_at=wish.at, first_seq=advanced[0]["epoch_first_seq"])
        tx.execute(sql.append_epoch, params | rows.epoch_params(advanced[0]))
        said = {"epoch": epoch.number, "trigger": wish.trigger}
        no = held[0]["last_feed_no"]
        tx.execute(
            sql.append_feed,
            rows.feed_params(lease.tenant, lease.subject, no, FeedType.SESSION_RESET, lease.run_id, wish.at, said),
        )
        cancel_waiting_runs(tx, lease.tenant, lease.subject, wish.at)
        cancel_approvals_of_session(tx, lease.tenant, wish.session_id, wish.at)
        self._audit.append(tx, wish.audit)
        return epoch

    async def has_reset(self, run: Run) -> bool:
        return bool(self._database.read(sql.epoch_of_run, rows.epoch_of_run_params(run)))

    # --- stopping a run for another one

    async def ask_to_cancel(self, run: Run) -> Lease | None:
        return await self._database.write("ask_to_cancel", lambda tx: self._ask_to_cancel(tx, run))

    def _ask_to_cancel(self, tx: Tx, run: Run) -> Lease | None:
        lease = lease_in(tx, run.tenant, run.subject)
        if lease["holder"] is None or lease["run_id"] != run.id:
            return None
        tx.execute(sql.wish_to_stop, rows.wish_params(run, CANCEL, None))
        return rows.lease_of(lease)

    async def ask_to_give_way(self, newcomer: Run, how: DoubleText) -> Lease | None:
        return await self._database.write("ask_to_give_way", lambda tx: self._ask_to_give_way(tx, newcomer, how))

    def _ask_to_give_way(self, tx: Tx, newcomer: Run, how: DoubleText) -> Lease | None:
        by, lease = newcomer.id, lease_in(tx, newcomer.tenant, newcomer.subject)
        if lease["holder"] is None or run_in(tx, newcomer.tenant, by).status is not RunStatus.QUEUED:
            return None
        if not run_in(tx, newcomer.tenant, lease["run_id"]).gives_way:
            tx.execute(sql.note_not_merged, {"tenant": newcomer.tenant, "run_id": by})
            return None
        if how is not DoubleText.MERGE:
            tx.execute(sql.wish_to_stop, rows.wish_params(newcomer, how.value, by))
        return rows.lease_of(lease)

    async def stop_wish(self, lease: Lease) -> tuple[str, RunId | None] | None:
        found = self._database.read(sql.read_lease, rows.lease_params(lease))
        if not found or found[0]["fence"] != lease.fence or found[0]["holder"] is None:
            raise LeaseLost(lease.run_id)
        return (found[0]["stop_how"], found[0]["stop_by"]) if found[0]["stop_how"] else None

    async def supersede(
        self, lease: Lease, *, how: DoubleText, by: RunId, at: datetime, explanation: Explanation | None
    ) -> bool:
        return await self._database.write("supersede", lambda tx: self._supersede(tx, lease, how, by, at, explanation))

    def _supersede(
        self, tx: Tx, lease: Lease, how: DoubleText, by: RunId, at: datetime, explanation: Explanation | None
    ) -> bool:
        held = lease_in(tx, lease.tenant, lease.subject)
        if held["fence"] != lease.fence or held["holder"] is None:
            return False
        run, newcomer = run_in(tx, lease.tenant, lease.run_id), run_in(tx, lease.tenant, by)
        if not run.gives_way or newcomer.status is not RunStatus.QUEUED:
            return False
        if how is DoubleText.MERGE:
            first = tx.execute(sql.first_queued_run, rows.lease_params(lease)).fetchone()
            has_asked = checkpoint_in(tx, run) is not None
            place = {"tenant": run.tenant, "session_id": run.session_id, "run_id": run.first_attempt}
            has_effect = tx.execute(sql.any_effect, place).fetchone() is not None
            is_next = first is not None and first["id"] == by
            too_late = held["first_delta"] or has_asked or has_effect or not is_next
            if too_late or not run.may_be_merged_with(newcomer):
                tx.execute(sql.note_not_merged, {"tenant": lease.tenant, "run_id": by})
                return False
            merged = rows.json_text(run.input.followed_by(newcomer.input))
            tx.execute(sql.merge_input, {"tenant": lease.tenant, "run_id": by, "input": merged})
        turn = self._keep_what_was_shown(tx, run, at) if how is DoubleText.INTERRUPT else None
        tx.execute(sql.raise_fence, rows.lease_params(lease))
        explanation = explanation or explain_run(tx, run, RunStatus.SUPERSEDED, at)
        tx.execute(sql.supersede_run, rows.superseded_params(run, by, at, turn, merged=how is DoubleText.MERGE))
        if turn is not None:
            explanation = replace(explanation, turn=turn.number)
        tx.execute(sql.append_explanation, rows.explanation_params(lease.tenant, explanation))
        said = {"by": by, "how": how.value} | (rows.turn_said(turn) if turn else {})
        said |= self._deltas(tx, lease, held)
        append_feed(tx, lease.tenant, lease.subject, FeedType.RUN_SUPERSEDED, run.id, at, said)
        return True

    def _keep_what_was_shown(self, tx: Tx, run: Run, at: datetime) -> Turn:
        """What a listener heard stays true: one Turn with the user's messages and the text already shown."""
        place = {"tenant": run.tenant, "session_id": run.session_id}
        loaded = tx.execute(sql.load_session, place).fetchone()
        session = rows.session_of(loaded)
        chunks = tx.execute(sql.chunks_of_run, chunks_params(run)).fetchall()
        shown = shown_before(tx, run) + "".join(row["text"] for row in chunks)
        state = rows.from_json(loaded["state"]) if loaded["state"] else {}
        asked = checkpoint_in(tx, run)
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
        tx.execute(sql.advance_session, params)
        tx.executemany(sql.append_message, rows.message_params(run.tenant, run.session_id, turn))
        tx.execute(sql.append_turn, params)
        return turn

    async def cancel(self, tenant: TenantId, run_id: RunId, *, at: datetime) -> Run:
        return await self._database.write("cancel", lambda tx: self._cancel(tx, tenant, run_id, at))

    def _cancel(self, tx: Tx, tenant: TenantId, run_id: RunId, at: datetime) -> Run:
        run = run_in(tx, tenant, run_id)
        if run.status not in (RunStatus.QUEUED, RunStatus.WAITING):
            return run
        if run.status is RunStatus.QUEUED:
            tx.execute(sql.leave_queue, {"tenant": tenant, "subject": run.subject})
        end_unheld_run(tx, run, RunStatus.CANCELLED, at)
        return run_in(tx, tenant, run_id)

    # --- reading

    async def get(self, tenant: TenantId, run_id: RunId) -> Run:
        found = self._database.read(sql.get_run, {"tenant": tenant, "run_id": run_id})
        if not found:
            raise RunNotFound(run_id)
        return rows.run_of(found[0])

    async def list(self, tenant: TenantId, session_id: SessionId, *, before: RunId | None, limit: int) -> Sequence[Run]:
        place = {"tenant": tenant, "session_id": session_id, "before": before or "~", "limit": limit}
        return [rows.run_of(row) for row in self._database.read(sql.list_runs, place)]

    async def checkpoint(self, tenant: TenantId, run_id: RunId) -> Checkpoint | None:
        found = self._database.read(sql.newest_checkpoint, {"tenant": tenant, "run_id": run_id})
        return rows.checkpoint_of(found[0]["data"]) if found else None

    async def due(self, *, agents: Collection[AgentId], at: datetime, limit: int) -> Sequence[Work]:
        here = rows.json_text(sorted(agents))
        place = {"agents": here, "clock": self._database.clock(), "now": rows.micros(at), "limit": limit}
        return [Work(tenant=row["tenant"], subject=row["subject"]) for row in self._database.read(sql.due_work, place)]

    async def held_by(self, node: NodeId) -> AsyncIterator[Work]:
        place: rows.Params = {"tenant": "", "subject": "", "limit": rows.LEASES_AT_ONCE}
        while page := self._database.read(sql.leases_after, place):
            for row in page:
                if row["holder"] == node:
                    yield Work(tenant=row["tenant"], subject=row["subject"])
            place |= {"tenant": page[-1]["tenant"], "subject": page[-1]["subject"]}
            await asyncio.sleep(0)

    async def forget_requests(self, *, before: datetime) -> int:
        return await self._database.write("forget_requests", lambda tx: self._forget_requests(tx, before))

    def _forget_requests(self, tx: Tx, before: datetime) -> int:
        tenants = [row["tenant"] for row in tx.execute(sql.tenants_with_requests, {})]
        place: rows.Params = {"before": rows.micros(before)}
        return sum(tx.execute(sql.forget_requests, place | {"tenant": tenant}).rowcount for tenant in tenants)

    async def forget_carried(self, *, at: datetime) -> int:
        place: rows.Params = {"now": rows.micros(at)}
        tenants = [row["tenant"] for row in self._database.read(sql.tenants_that_carry, place)]
        if not tenants:
            return 0
        return await self._database.write("forget_carried", lambda tx: self._forget_carried(tx, tenants, place))

    def _forget_carried(self, tx: Tx, tenants: Sequence[str], place: rows.Params) -> int:
        return sum(tx.execute(sql.forget_carried, place | {"tenant": tenant}).rowcount for tenant in tenants)

    # --- inside a write

    def _release(self, tx: Tx, lease: Lease) -> sqlite3.Row:
        released: list[sqlite3.Row] = tx.execute(sql.release_lease, rows.lease_params(lease)).fetchall()
        if not released:
            raise LeaseLost(lease.run_id)
        return released[0]

    def _deltas(self, tx: Tx, lease: Lease, row: sqlite3.Row) -> dict[str, Any]:
        """Drop the provisional output of the run, and say which numbers it had."""
        if not row["first_delta"]:
            return {}
        place = rows.lease_params(lease) | {"first": row["first_delta"]}
        last = tx.execute(sql.chunks_of_run, place).fetchall()[-1]["no"]
        tx.execute(sql.drop_chunks, place)
        return {"deltas": [row["first_delta"], last]}

    def _say_end(
        self, tx: Tx, lease: Lease, released: sqlite3.Row, type: FeedType, at: datetime, said: Mapping[str, Any]
    ) -> None:
        no = released["last_feed_no"]
        tx.execute(sql.append_feed, rows.feed_params(lease.tenant, lease.subject, no, type, lease.run_id, at, said))
