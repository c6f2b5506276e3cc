"""The frames of a feed as they travel over HTTP: one shape for each type, told apart by `type`."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, RootModel

from turnkeeper.server.wire import Outbound


class Told(Outbound):
    """What a frame tells; more may join."""

    model_config = ConfigDict(frozen=True, extra="allow")


class DroppedOut(Outbound):
    """How many frames this reader missed, and which."""

    count: int = Field(description="How many.")
    first_seq: int = Field(description="The number of the first of them.")
    last_seq: int = Field(description="The number of the last of them.")


class FrameOut(Outbound):
    """What stands in `data:` of an event."""

    seq: int = Field(description="The number of this frame in its session. They rise without gaps.")
    prev: int = Field(description="The number before it on this stream, so that a gap shows.")
    type: str
    run_id: str | None = Field(description="The run that it tells of.")
    session_id: str = Field(description="The session that it tells of.")
    trace_id: str | None = Field(description="The trace of the run.")
    ts: datetime | None = Field(description="When it happened.")
    truncated: bool = Field(description="Whether something of it, or before it, was dropped on this stream.")
    dropped: DroppedOut | None = Field(description="What was dropped.")
    data: Told


class EndTold(Told):
    error: dict[str, Any] | None = Field(default=None, description="Why: `code`, `message` and `retryable`.")


class ToolTold(Told):
    key: str | None = Field(default=None, description="What is done once, however often it is tried.")
    status: str | None = Field(default=None, description="`begun`, `done`, `failed` or `unknown`.")
    attempt: int | None = Field(default=None, description="Which attempt this is.")


class ApprovalTold(Told):
    approval_id: str = Field(description="The approval.")


class RunAcceptedTold(Told):
    agent: str | None = Field(default=None, description="Who is to answer.")
    queue_no: int | None = Field(default=None, description="Its place in the order of the session.")
    created: bool | None = Field(default=None, description="Whether the session began with it; told to the sender.")
    replaced_session_id: str | None = Field(
        default=None, description="The id that was asked for, where another session began instead."
    )
    replaced_reason: str | None = Field(default=None, description="Why it was replaced.")
    retry_of: str | None = Field(default=None, description="The run that this one tries again.")


class RunAcceptedFrame(FrameOut):
    """A run stands in the queue of its session."""

    type: Literal["run.accepted"]
    data: RunAcceptedTold = Field(description="What it tells.")


class OutputDeltaTold(Told):
    text: str = Field(description="The piece.")


class OutputDeltaFrame(FrameOut):
    """A piece of the answer, provisional until `run.completed`."""

    type: Literal["output.delta"]
    data: OutputDeltaTold = Field(description="What it tells.")


class OutputSnapshotTold(Told):
    text: str = Field(description="All of it.")


class OutputSnapshotFrame(FrameOut):
    """All of the answer so far, for who missed pieces that are gone."""

    type: Literal["output.snapshot"]
    data: OutputSnapshotTold = Field(description="What it tells.")


class RunWaitingTold(Told):
    question: str | None = Field(default=None, description="What it asks.")


class RunWaitingFrame(FrameOut):
    """The agent asks something back; the run waits for the answer."""

    type: Literal["run.waiting"]
    data: RunWaitingTold = Field(description="What it tells.")


class RunAnsweredFrame(FrameOut):
    """The question was answered; the run goes on."""

    type: Literal["run.answered"]
    data: Told = Field(description="What it tells.")


class RunResumedTold(Told):
    attempt: int | None = Field(default=None, description="Which attempt this is.")
    text: str | None = Field(default=None, description="Takes the place of what was shown since the last question.")


class RunResumedFrame(FrameOut):
    """The node of a long run is gone, and the run goes on elsewhere."""

    type: Literal["run.resumed"]
    data: RunResumedTold = Field(description="What it tells.")


class RunCompletedTold(Told):
    text: str = Field(description="The whole answer.")
    turn: int | None = Field(default=None, description="The number of the turn; a bare reset leaves none.")
    finish: str | None = Field(default=None, description="How the turn came to its end: `done` or `interrupted`.")
    intent: dict[str, Any] | None = Field(default=None, description="What the user wants, in a session with a pack.")
    carried: str | None = Field(
        default=None, description="With client custody: the state to send with the next message."
    )


class RunCompletedFrame(FrameOut):
    """The answer is committed. This alone is true."""

    type: Literal["run.completed"]
    data: RunCompletedTold = Field(description="What it tells.")


class RunFailedFrame(FrameOut):
    """The run failed; nothing of it is in the conversation."""

    type: Literal["run.failed"]
    data: EndTold = Field(description="What it tells.")


class RunCancelledFrame(FrameOut):
    """Somebody stopped the run."""

    type: Literal["run.cancelled"]
    data: EndTold = Field(description="What it tells.")


class RunTimedOutFrame(FrameOut):
    """The run took longer than it may."""

    type: Literal["run.timed_out"]
    data: EndTold = Field(description="What it tells.")


class RunSupersededFrame(FrameOut):
    """A later message took the place of the run."""

    type: Literal["run.superseded"]
    data: EndTold = Field(description="What it tells.")


class RunAbandonedFrame(FrameOut):
    """The node of the run is gone, and nobody may take it up again."""

    type: Literal["run.abandoned"]
    data: EndTold = Field(description="What it tells.")


class CriticVerdictTold(Told):
    phase: str | None = Field(default=None, description="When it was judged.")
    value: str | None = Field(default=None, description="`accept`, `retry`, `reject` or `escalate`.")
    kind: str | None = Field(default=None, description="What it is about.")
    reasons: list[str] | None = Field(default=None, description="Why.")
    step_id: str | None = Field(default=None, description="Which step.")


class CriticVerdictFrame(FrameOut):
    """A judgement of a plan, a step or an answer."""

    type: Literal["critic.verdict"]
    data: CriticVerdictTold = Field(description="What it tells.")


class CheckpointSavedTold(Told):
    checkpoint_id: str = Field(description="Its id.")
    checkpoint_seq: int = Field(description="Its number in the run.")


class CheckpointSavedFrame(FrameOut):
    """Where a long run stands is kept."""

    type: Literal["checkpoint.saved"]
    data: CheckpointSavedTold = Field(description="What it tells.")


class ToolStartedFrame(FrameOut):
    """The run begins to do something to the world."""

    type: Literal["tool.started"]
    data: ToolTold = Field(description="What it tells.")


class ToolFinishedFrame(FrameOut):
    """It is done, failed, or nobody knows."""

    type: Literal["tool.finished"]
    data: ToolTold = Field(description="What it tells.")


class EventWarningTold(Told):
    code: str = Field(description="What.")
    severity: str = Field(description="How much it matters.")


class EventWarningFrame(FrameOut):
    """Something was odd about the input."""

    type: Literal["event.warning"]
    data: EventWarningTold = Field(description="What it tells.")


class BudgetUpdateTold(Told):
    used: dict[str, Any] = Field(description="By resource.")
    limits: dict[str, Any] = Field(description="How much it may spend.")


class BudgetUpdateFrame(FrameOut):
    """What the run has spent by now."""

    type: Literal["budget.update"]
    data: BudgetUpdateTold = Field(description="What it tells.")


class SessionResetTold(Told):
    epoch: int | None = Field(default=None, description="Its number.")
    trigger: str | None = Field(default=None, description="What reset it.")


class SessionResetFrame(FrameOut):
    """A new epoch began."""

    type: Literal["session.reset"]
    data: SessionResetTold = Field(description="What it tells.")


class SessionChangedFrame(FrameOut):
    """Settings of the session are different now."""

    type: Literal["session.changed"]
    data: Told = Field(description="What it tells.")


class ArtifactEmittedFrame(FrameOut):
    """Content came out of the session."""

    type: Literal["artifact.emitted"]
    data: Told = Field(description="What it tells.")


class ManifestCreatedFrame(FrameOut):
    """A tree of artifacts came out of the session."""

    type: Literal["manifest.created"]
    data: Told = Field(description="What it tells.")


class PointerMovedFrame(FrameOut):
    """A pointer stands elsewhere now."""

    type: Literal["pointer.moved"]
    data: Told = Field(description="What it tells.")


class ApprovalRequestedFrame(FrameOut):
    """A person is asked to allow something."""

    type: Literal["approval.requested"]
    data: ApprovalTold = Field(description="What it tells.")


class ApprovalDecidedFrame(FrameOut):
    """A person, or the policy, has decided."""

    type: Literal["approval.decided"]
    data: ApprovalTold = Field(description="What it tells.")


class ScopeDeniedTold(Told):
    code: str | None = Field(default=None, description="Why it was denied.")
    tool: str | None = Field(default=None, description="Which tool.")
    call_id: str | None = Field(default=None, description="Which call.")


class ScopeDeniedFrame(FrameOut):
    """A tool reached for what this session may not use."""

    type: Literal["scope.denied"]
    data: ScopeDeniedTold = Field(description="What it tells.")


class StreamBrokenFrame(FrameOut):
    """This stream cannot go on; resume behind the last event. It has no id."""

    type: Literal["stream.broken"]
    data: EndTold = Field(description="What it tells.")


class Frame(
    RootModel[
        Annotated[
            RunAcceptedFrame
            | OutputDeltaFrame
            | OutputSnapshotFrame
            | RunWaitingFrame
            | RunAnsweredFrame
            | RunResumedFrame
            | RunCompletedFrame
            | RunFailedFrame
            | RunCancelledFrame
            | RunTimedOutFrame
            | RunSupersededFrame
            | RunAbandonedFrame
            | CriticVerdictFrame
            | CheckpointSavedFrame
            | ToolStartedFrame
            | ToolFinishedFrame
            | EventWarningFrame
            | BudgetUpdateFrame
            | SessionResetFrame
            | SessionChangedFrame
            | ArtifactEmittedFrame
            | ManifestCreatedFrame
            | PointerMovedFrame
            | ApprovalRequestedFrame
            | ApprovalDecidedFrame
            | ScopeDeniedFrame
            | StreamBrokenFrame,
            Field(discriminator="type"),
        ]
    ]
):
    """One frame of a feed; `type` says which."""
