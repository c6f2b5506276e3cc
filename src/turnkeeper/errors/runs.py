"""Runs that are not there, or that came to another end than a reply."""

from collections.abc import Sequence

from turnkeeper.errors.base import TurnkeeperError
from turnkeeper.errors.channels import ChannelNotAccepted
from turnkeeper.errors.custody import CarriedStale
from turnkeeper.errors.envelopes import GrantMissing
from turnkeeper.errors.knowledge import UnitNotCurrent, UnitNotFound, UnitTextInvalid
from turnkeeper.errors.packs import PackIntegrityError, PackInvalid, PackNotFound, PackVersionMismatch
from turnkeeper.errors.requests import ExtraMissing
from turnkeeper.errors.scope import (
    IsolationUnavailable,
    LayerSuspended,
    LimitExceeded,
    ModelNotAllowed,
    TenantSuspended,
)
from turnkeeper.errors.sessions import SessionClosed, SessionExpired, SessionMoved
from turnkeeper.errors.stores import DatabaseMoving, ShuttingDown, StoreUnavailable
from turnkeeper.model.budget import Overdrawn
from turnkeeper.model.ids import RunId
from turnkeeper.model.run import Run, RunStatus


class RunNotFound(TurnkeeperError):
    code = "run_not_found"
    http_status = 404
    title = "No such run"

    def __init__(self, run_id: RunId) -> None:
        super().__init__(f"There is no run {run_id!r}. Look at the runs of its session for those that there are.")


class RunNotWaiting(TurnkeeperError):
    code = "run_not_waiting"
    http_status = 409
    title = "The run is not waiting for an answer"

    def __init__(self, run_id: RunId, status: RunStatus) -> None:
        super().__init__(f"Run {run_id!r} is {status}, so it takes no answer. Send an ordinary message instead.")


class AnswerNotAccepted(TurnkeeperError):
    code = "answer_not_accepted"
    http_status = 403
    title = "An approval is not given through this channel"

    def __init__(self, run_id: RunId, channel: str) -> None:
        super().__init__(
            f"Run {run_id!r} waits for an approval, which is not given through {channel!r}. Sign in and answer there, "
            "or through the channel that the run came through."
        )


class RunEnded(TurnkeeperError):
    """Told to whoever waits for a run that came to another end than a reply."""

    title = "The run did not complete"

    def __init__(self, run: Run) -> None:
        code, status, retryable, words = ENDS_OF_RUN[run.status]
        if run.error is not None:
            code, words, retryable = run.error.code, run.error.message, run.error.retryable
        details = run.error.details if run.error else ()
        self.run = run
        super().__init__(words, details=details, run_id=run.id, session_id=run.session_id, run_status=run.status.value)
        if run.superseded_by:
            self.facts["superseded_by"] = run.superseded_by
        if run.result and run.result.get("carried"):
            self.facts["carried"] = run.result["carried"]
        self.code, self.http_status, self.retryable = code, _STATUS_OF_FAILURE.get(code, status), retryable
        self.stage = run.error.stage if run.error else None


class AgentFailed(TurnkeeperError):
    code = "agent_failed"
    http_status = 502
    title = "The agent failed"


class PluginNotFound(TurnkeeperError):
    code = "plugin_not_found"
    http_status = 422
    title = "No such plugin"

    def __init__(self, kind: str, plugin: str, known: Sequence[str]) -> None:
        names = ", ".join(known) or "none"
        super().__init__(
            f"There is no plugin {plugin!r} of kind {str(kind)!r}. Known are: {names}. Name one of them, or none.",
            kind=str(kind),
            plugin=plugin,
            known=list(known),
        )


class PluginStageExhausted(TurnkeeperError):
    code = "plugin_stage_exhausted"
    http_status = 502
    title = "No plugin could do its part"

    def __init__(self, kind: str, failures: Sequence[tuple[str, str]]) -> None:
        tried = ", ".join(f"{plugin} ({reason})" for plugin, reason in failures) or "none is registered"
        super().__init__(
            f"Every plugin of kind {str(kind)!r} that was tried has failed: {tried}. "
            "The Explanation shows each attempt.",
            details=[{"plugin": plugin, "reason": reason} for plugin, reason in failures],
            kind=str(kind),
        )


class BudgetExceeded(TurnkeeperError):
    code = "budget_exceeded"
    http_status = 429
    title = "The run has no calls of a model left"

    def __init__(self, *, spent: int, limit: int) -> None:
        super().__init__(
            f"This run may call a model {limit} times and has made {spent} calls; what it needs is more than is left. "
            "Ask fewer questions at once, or choose plugins that need no model.",
            spent=spent,
            limit=limit,
        )


class OverBudget(TurnkeeperError):
    code = "budget_exceeded"
    http_status = 429
    title = "The run has spent what it may spend"

    def __init__(self, overdrawn: Overdrawn) -> None:
        super().__init__(
            f"This run has a limit of {overdrawn.limit:g} {overdrawn.resource}, {overdrawn.left:g} of them are left, "
            f"and it needed {overdrawn.wanted:g}. Ask for less at once, or for a larger budget.",
            resource=overdrawn.resource,
            limit=overdrawn.limit,
        )


class CompileFailed(TurnkeeperError):
    code = "compile_failed"
    http_status = 502
    title = "The context of the run could not be compiled"

    def __init__(self, kind: str) -> None:
        super().__init__(f"The compiler failed with {kind}. No agent was asked, and nothing of this turn was kept.")


class FrameDepthExceeded(TurnkeeperError):
    code = "frame_depth_exceeded"
    http_status = 422
    title = "The question was taken apart too often"

    def __init__(self, limit: int) -> None:
        super().__init__(f"A question may be taken apart {limit} times, one inside the other. Ask a simpler one.")


class AnswerRejected(TurnkeeperError):
    code = "answer_rejected"
    http_status = 502
    title = "No answer was good enough"

    def __init__(self, reasons: Sequence[str]) -> None:
        said = "; ".join(reasons) or "no reason was given"
        super().__init__(f"Every answer was turned down by a validator: {said}. Ask in other words.")


class EffectUnknown(TurnkeeperError):
    """Raised into an agent whose effect was begun, and of which nobody knows whether it happened."""

    code = "effect_unknown"
    http_status = 409
    title = "Nobody knows whether something was done"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"{key!r} was begun by an earlier attempt at this run, and nobody knows whether it was done. Look whether "
            "it was, and send the message again if not. If it may be done twice, the agent says repeatable=True.",
            key=key,
        )


class VerifyRejected(TurnkeeperError):
    """`details` names the kind of the verdict and each of its reasons."""

    code = "verify_rejected"
    http_status = 422
    title = "The turn was refused"

    def __init__(self, kind: str | None, reasons: Sequence[str]) -> None:
        said = " ".join(reasons) or "No reason was given; ask in other words."
        super().__init__(f"The turn was refused before it was done. {said}", details=_judged(kind, reasons))


class Escalated(TurnkeeperError):
    """`details` names the kind of the verdict and each of its reasons."""

    code = "escalated"
    http_status = 409
    title = "A person has to decide"

    def __init__(self, kind: str | None, reasons: Sequence[str], *, denied: bool = False) -> None:
        said = " ".join(reasons) or "No reason was given."
        done = (
            "was denied" if denied else "needs the decision of a person; ask with mode long_running to be asked for it"
        )
        super().__init__(f"What this turn wants {done}. {said}", details=_judged(kind, reasons))


def _judged(kind: str | None, reasons: Sequence[str]) -> list[dict[str, str | None]]:
    return [{"kind": kind, "message": reason} for reason in reasons] or [{"kind": kind, "message": ""}]


class StateTooLarge(TurnkeeperError):
    code = "state_too_large"
    http_status = 413
    title = "The state is too large"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"The state is {size} bytes; at most {limit} are kept. Store less on the turn.")


class DialogueTooLarge(TurnkeeperError):
    code = "dialogue_too_large"
    http_status = 413
    title = "The session would hold too much"

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"With this message the session would hold {size} bytes of params and answers; at most {limit} are kept. "
            "Send fewer or shorter params, or reset the session."
        )


ENDS_OF_RUN: dict[RunStatus, tuple[str, int, bool, str]] = {
    RunStatus.FAILED: ("agent_failed", 502, False, "The agent failed. Its Explanation says why."),
    RunStatus.CANCELLED: ("run_cancelled", 409, False, "The run was cancelled."),
    RunStatus.TIMED_OUT: ("run_timed_out", 504, True, "The run took too long and was stopped. Nothing of it was kept."),
    RunStatus.SUPERSEDED: ("run_superseded", 409, False, "A later message took the place of this one."),
    RunStatus.ABANDONED: ("run_abandoned", 503, True, "The node that ran this stopped. Send the same request again."),
}


_STATUS_OF_FAILURE = {
    cls.code: cls.http_status
    for cls in (
        AnswerRejected,
        BudgetExceeded,
        CarriedStale,
        ChannelNotAccepted,
        DatabaseMoving,
        DialogueTooLarge,
        EffectUnknown,
        Escalated,
        ExtraMissing,
        FrameDepthExceeded,
        GrantMissing,
        IsolationUnavailable,
        LayerSuspended,
        TenantSuspended,
        LimitExceeded,
        ModelNotAllowed,
        PackIntegrityError,
        PackInvalid,
        PackNotFound,
        PackVersionMismatch,
        PluginNotFound,
        PluginStageExhausted,
        SessionClosed,
        SessionExpired,
        SessionMoved,
        ShuttingDown,
        StateTooLarge,
        StoreUnavailable,
        UnitNotCurrent,
        UnitNotFound,
        UnitTextInvalid,
        VerifyRejected,
    )
}
