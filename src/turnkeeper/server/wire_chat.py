"""What goes over the wire when somebody talks."""

from typing import Any, Literal

from pydantic import Field

from turnkeeper.model.event import MOST_ATTACHMENTS
from turnkeeper.model.mode import Mode
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Finish, Run, RunStatus
from turnkeeper.server.wire import Choosing, Id, Inbound, Outbound, PackRef


class ChatIn(Choosing):
    """One message. Without `session_id` it begins a new session."""

    message: str = Field(min_length=1)
    attachments: list[Id] = Field(
        default_factory=list, max_length=MOST_ATTACHMENTS, description="The ids of artifacts that go with it."
    )
    session_id: Id | None = None
    agent: Id | None = None
    pack: PackRef | None = None
    stream: bool = False
    reset: bool = False
    params: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")
    double_text: Literal["enqueue", "reject", "rollback", "interrupt", "merge"] | None = None
    on_missing: Literal["new", "error"] = "new"
    answers: Id | None = Field(default=None, description="The id of the waiting run that this message answers.")
    custody: Literal["engine", "client"] = "engine"
    carried: str | None = Field(
        default=None, description="With custody `client`: `carried` of the newest reply, as it is."
    )
    freshness: Literal["any", "strict"] = Field(default="any", description="`strict` takes no older `carried`.")
    cancel_on_disconnect: bool = Field(default=False, description="Stop the run when this connection is lost.")


class AnswerIn(Inbound):
    message: str = Field(min_length=1)
    request_id: Id | None = Field(default=None, description="The same as the header Idempotency-Key.")


class IntentOut(Outbound):
    """What the user wants, and which fields are missing for it; while it is locked they hold the session there."""

    code: str
    state: str
    locked: bool
    missing: list[str]


class ChatOut(Outbound):
    """The answer, or with `status` waiting the question that comes back."""

    session_id: str
    run_id: str
    turn: int | None = None
    text: str
    status: RunStatus
    created: bool
    replaced_session_id: str | None = None
    replaced_reason: str | None = None
    merged: bool | None = None
    carried: str | None = Field(
        default=None, description="The sealed state that the client sends with its next message."
    )
    finish: Finish | None = None
    intent: IntentOut | None = None
    warnings: list[str]

    @classmethod
    def of(cls, reply: Reply, carried: str | None = None) -> "ChatOut":
        """`carried` is what the reply gives its client to carry, sealed."""
        return cls(
            session_id=reply.session_id,
            run_id=reply.run_id,
            turn=reply.turn,
            text=reply.text,
            status=reply.status,
            created=reply.created,
            replaced_session_id=reply.replaced_session_id,
            replaced_reason=reply.replaced_reason,
            merged=reply.merged,
            carried=carried,
            finish=reply.finish,
            intent=None if reply.intent is None else IntentOut.model_validate(dict(reply.intent)),
            warnings=list(reply.warnings),
        )


class InvokeOut(ChatOut):
    """The answer to a full envelope, with the trace that it belongs to."""

    trace_id: str
    mode: Mode

    @classmethod
    def told(cls, reply: Reply, run: Run) -> "InvokeOut":
        return cls(**ChatOut.of(reply).model_dump(), trace_id=run.trace_id, mode=run.mode)


class RunHandle(Outbound):
    """A long run that has been taken in: `run` tells where it stands, `feed` what happens in it."""

    run_id: str
    session_id: str
    status: RunStatus
    trace_id: str
    created: bool
    run: str
    feed: str
