"""Rows of the ledger of effects to what they mean and back, the same for every backend."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from turnkeeper.model.effect import Effect, EffectStatus
from turnkeeper.model.ids import RunId
from turnkeeper.model.lease import Lease
from turnkeeper.stores import rows


def effect_params(lease: Lease, first_run: RunId, key: str, at: datetime) -> rows.Params:
    return {"tenant": lease.tenant, "run_id": first_run, "key": key, "now": rows.micros(at)}


def finished_params(
    place: rows.Params, status: EffectStatus, result: Any = None, *, result_lost: bool = False
) -> rows.Params:
    """An effect that gave nothing has the result `null`; one that is done without a result has lost it."""
    kept = rows.json_text(result) if status is EffectStatus.DONE and not result_lost else None
    return place | {"status": status.value, "result": kept}


def effect_of(row: rows.Row) -> Effect:
    status = EffectStatus(row["status"])
    return Effect(
        key=row["key"],
        status=status,
        attempts=row["attempts"],
        started_at=rows.moment(row["started_at"]),
        ended_at=None if row["ended_at"] is None else rows.moment(row["ended_at"]),
        result=None if row["result"] is None else rows.from_json(row["result"]),
        result_lost=status is EffectStatus.DONE and row["result"] is None,
    )


def may_begin(known: Effect, *, repeatable: bool) -> bool:
    """Whether an effect that is not done may be tried: it failed, or doing it twice does no harm."""
    return repeatable or known.status is EffectStatus.FAILED


def told_of(effect: Effect, about: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the feed says of it; of the result of a tool how it came out, never what it gave."""
    said: dict[str, Any] = {"key": effect.key, "status": effect.status, "attempt": effect.attempts, **(about or {})}
    if about is not None and isinstance(effect.result, Mapping):
        said |= {name: effect.result[name] for name in ("code", "took_ms") if effect.result.get(name)}
        said["outcome"] = effect.result.get("status")
    return said
