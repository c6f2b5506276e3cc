"""What the API says of checkpoints and effects."""

from datetime import datetime
from typing import Any

from turnkeeper.model.effect import Effect
from turnkeeper.server.wire import Outbound


class PinOut(Outbound):
    pack_id: str
    version: str
    content_sha256: str
    data_classification: str | None


class VerdictOut(Outbound):
    phase: str
    value: str
    kind: str | None
    reasons: list[str]
    step_id: str | None


class StepOut(Outbound):
    step_id: str
    idempotency_key: str
    status: str
    attempts: int
    result: Any


class PendingOut(Outbound):
    kind: str
    prompt: str
    deadline_at: str | None


class CheckpointOut(Outbound):
    """A document of `session-checkpoint.json`."""

    schema_version: str
    checkpoint_id: str
    seq: int
    prev_checkpoint_id: str | None
    session_id: str
    tenant_id: str
    user_id: str
    agent_id: str
    run_id: str
    request_id: str | None
    trace_id: str
    mode: str
    pack_pins: list[PinOut]
    verdict: VerdictOut | None
    step_results: list[StepOut]
    pending: PendingOut | None
    budget_used: dict[str, float]
    events_cursor: int
    warnings: list[str]
    created_at: str
    expires_at: str | None
    state_sha256: str


class CheckpointsOut(Outbound):
    items: list[CheckpointOut]


class EffectOut(Outbound):
    """`result` is what the effect gave; `unknown` means that nobody can tell whether it happened."""

    key: str
    status: str
    attempts: int
    result: Any
    started_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, effect: Effect) -> "EffectOut":
        return cls(
            key=effect.key,
            status=effect.status.value,
            attempts=effect.attempts,
            result=effect.result,
            started_at=effect.started_at,
            ended_at=effect.ended_at,
        )


class EffectsOut(Outbound):
    items: list[EffectOut]
