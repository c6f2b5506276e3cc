"""The checkpoints of a run as documents that others can read."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from turnkeeper.model.checkpoint import KeptCheckpoint, checkpoint_id
from turnkeeper.model.effect import Effect, EffectStatus
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import Session

SCHEMA_VERSION = "session_checkpoint/1"

_canonical = msgspec.json.Encoder(order="deterministic")


def checkpoint_document(
    kept: KeptCheckpoint, run: Run, session: Session, effects: Sequence[Effect], *, kept_for: timedelta
) -> dict[str, Any]:
    """One checkpoint by the published schema; its effects as they stood when it was kept."""
    checkpoint = kept.checkpoint
    return {
        "schema_version": SCHEMA_VERSION,
        "checkpoint_id": kept.id,
        "seq": kept.seq,
        "prev_checkpoint_id": checkpoint_id(run.id, kept.seq - 1) if kept.seq > 1 else None,
        "session_id": run.session_id,
        "tenant_id": run.tenant,
        "user_id": run.user,
        "agent_id": run.agent,
        "run_id": run.id,
        "request_id": checkpoint.request_id,
        "trace_id": run.trace_id,
        "mode": run.mode.value,
        "pack_pins": [
            {
                "pack_id": pin.id,
                "version": pin.version,
                "content_sha256": pin.hash,
                "data_classification": session.classification.value if session.classification else None,
            }
            for pin in session.packs
        ],
        "verdict": checkpoint.verdicts[-1].told if checkpoint.verdicts else None,
        "step_results": [_step(effect, run, kept.at) for effect in effects if effect.started_at <= kept.at],
        "pending": _pending(kept, run),
        "budget_used": dict(checkpoint.used),
        "events_cursor": checkpoint.feed_no,
        "warnings": list(checkpoint.warnings),
        "created_at": _moment(kept.at),
        "expires_at": None if session.closed_at is None else _moment(session.closed_at + kept_for),
        "state_sha256": hashlib.sha256(_canonical.encode(checkpoint)).hexdigest(),
    }


def _step(effect: Effect, run: Run, at: datetime) -> dict[str, Any]:
    was_over = effect.ended_at is not None and effect.ended_at <= at
    return {
        "step_id": effect.key,
        "idempotency_key": f"{run.first_attempt}:{effect.key}",
        "status": (effect.status if was_over else EffectStatus.STARTED).value,
        "attempts": effect.attempts,
        "result": effect.result if was_over else None,
    }


def _pending(kept: KeptCheckpoint, run: Run) -> dict[str, Any] | None:
    ask = kept.checkpoint.open_ask
    if ask is None:
        return None
    deadline = _moment(run.wait_until) if run.status is RunStatus.WAITING else None
    return {"kind": ask.kind.value, "prompt": ask.shown, "deadline_at": deadline}


def _moment(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def effects_told(effects: Sequence[Effect], run: Run) -> list[Effect]:
    """The effects of a run; one that was under way when its run came to an end is unknown for good."""
    if run.status.is_open:
        return list(effects)
    return [
        replace(effect, status=EffectStatus.UNKNOWN) if effect.status is EffectStatus.STARTED else effect
        for effect in effects
    ]
