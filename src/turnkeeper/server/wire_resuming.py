"""What travels over HTTP to those who come back to a topic."""

from datetime import datetime
from typing import Any

import msgspec
from pydantic import JsonValue

from turnkeeper.keeping.resuming import ResumeView, SessionEvent
from turnkeeper.model.approval import Approval
from turnkeeper.model.output import Output
from turnkeeper.server.wire import Outbound
from turnkeeper.server.wire_runs import RunOut
from turnkeeper.server.wire_sessions import MessageOut, SessionOut


class SessionEventOut(Outbound):
    """`no` is its number in the feed of the session, 0 its beginning; `by` null is the house itself."""

    no: int
    what: str
    by: str | None
    at: datetime
    status: str | None
    run_id: str | None
    data: dict[str, Any]

    @classmethod
    def of(cls, event: SessionEvent) -> "SessionEventOut":
        return cls(
            no=event.no,
            what=event.what,
            by=event.by,
            at=event.at,
            status=event.status,
            run_id=event.run_id,
            data=msgspec.to_builtins(dict(event.data)),
        )


class CameOutOut(Outbound):
    """Something that came out of the session: `ref` is a hash, or the id of a pointer that moved."""

    no: int
    kind: str
    ref: str
    run_id: str | None
    at: datetime
    data: dict[str, Any]

    @classmethod
    def of(cls, output: Output) -> "CameOutOut":
        return cls(
            no=output.no,
            kind=output.kind.value,
            ref=output.ref,
            run_id=output.run_id,
            at=output.at,
            data=msgspec.to_builtins(dict(output.data)),
        )


class PendingOut(Outbound):
    """An approval that somebody has to decide."""

    id: str
    run_id: str
    action: str
    required_role: str
    requested_at: datetime
    due_at: datetime | None
    context: dict[str, Any]

    @classmethod
    def of(cls, approval: Approval) -> "PendingOut":
        return cls(
            id=approval.id,
            run_id=approval.run_id,
            action=approval.action,
            required_role=approval.required_role.value,
            requested_at=approval.requested_at,
            due_at=approval.due_at,
            context=msgspec.to_builtins(dict(approval.context)),
        )


class ResumeViewOut(Outbound):
    """`messages` are the newest, oldest first; `runs` newest first. `thread` is where the agent's own memory stands."""

    session: SessionOut
    layout: JsonValue | None
    messages: list[MessageOut]
    runs: list[RunOut]
    outputs: list[CameOutOut]
    pointer_moves: list[CameOutOut]
    pending_approvals: list[PendingOut]
    thread: dict[str, Any] | None

    @classmethod
    def of(cls, view: ResumeView, opening: str | None) -> "ResumeViewOut":
        session = SessionOut.of(view.session, view.scope, opening)
        return cls(
            session=session,
            layout=view.layout,
            messages=[MessageOut.of(message) for message in view.messages],
            runs=[RunOut.of(run) for run in view.runs],
            outputs=[CameOutOut.of(output) for output in view.outputs],
            pointer_moves=[CameOutOut.of(output) for output in view.pointer_moves],
            pending_approvals=[PendingOut.of(approval) for approval in view.approvals],
            thread=session.thread,
        )
