"""What goes over the wire about runs."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import Field

from turnkeeper.model.event import Event
from turnkeeper.model.mode import Mode
from turnkeeper.model.run import Finish, Run, RunError, RunStatus
from turnkeeper.model.session import Custody
from turnkeeper.server.wire import Outbound
from turnkeeper.server.wire_sessions import AttachmentOut


class RunErrorOut(Outbound):
    code: str
    message: str
    stage: str | None
    retryable: bool
    details: list[dict[str, Any]] = Field(default_factory=list)

    @classmethod
    def of(cls, error: RunError) -> "RunErrorOut":
        return cls(
            code=error.code,
            message=error.message,
            stage=error.stage,
            retryable=error.retryable,
            details=[dict(detail) for detail in error.details],
        )


class SaidOut(Outbound):
    text: str
    attachments: list[AttachmentOut]

    @classmethod
    def of(cls, event: Event) -> "SaidOut":
        attachments = [AttachmentOut(**asdict(each)) for each in event.attachments]
        return cls(text=event.as_text, attachments=attachments)


class RunOut(Outbound):
    """`text` is the answer of a run that completed, or the question of one that waits. `account` is what it spent.

    `said` is what it is to answer, as long as that stands in no message; `command` is what it is to do instead.
    `request_id` is the name that its sender gave it, until it is answered.
    """

    id: str
    session_id: str
    agent: str
    user: str
    custody: Custody
    mode: Mode
    status: RunStatus
    turn: int | None
    finish: Finish | None
    merged: bool | None
    said: list[SaidOut] = Field(default_factory=list)
    command: str | None = None
    request_id: str | None = None
    text: str | None = None
    error: RunErrorOut | None
    queue_no: int
    feed_no: int
    trace_id: str
    retry_of: str | None
    superseded_by: str | None
    account: Mapping[str, Any] | None = None
    accepted_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, run: Run, text: str | None = None) -> "RunOut":
        return cls(
            id=run.id,
            session_id=run.session_id,
            agent=run.agent,
            user=run.user,
            custody=run.custody,
            mode=run.mode,
            status=run.status,
            turn=run.turn,
            finish=run.finish,
            merged=run.merged,
            said=[] if run.turn is not None else [SaidOut.of(event) for event in run.input.events],
            command=run.input.command,
            request_id=run.input.request_id,
            text=text,
            error=None if run.error is None else RunErrorOut.of(run.error),
            queue_no=run.queue_no,
            feed_no=run.feed_no,
            trace_id=run.trace_id,
            retry_of=run.retry_of,
            superseded_by=run.superseded_by,
            account=run.account,
            accepted_at=run.accepted_at,
            started_at=run.started_at,
            ended_at=run.ended_at,
        )
