"""What the feed says of checkpoints and of going on from them, the same for every backend."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from turnkeeper.model.checkpoint import KeptCheckpoint
from turnkeeper.model.feed import FeedType
from turnkeeper.model.pack import Classification
from turnkeeper.stores import rows

RUNS_AT_ONCE = 500


def is_long_over(row: rows.Row, before: datetime, by_class: Mapping[Classification, datetime]) -> bool:
    """Whether a run and its session have ended, the session long enough ago for the class of its data."""
    if row["ended_at"] is None or row["closed_at"] is None:
        return False
    own = Classification(row["classification"]) if row["classification"] else None
    closed_at: int = row["closed_at"]
    return closed_at <= rows.micros(by_class.get(own, before) if own else before)


def saved_said(kept: KeptCheckpoint) -> dict[str, Any]:
    return {"checkpoint_id": kept.id, "checkpoint_seq": kept.seq}


def resumed_said(kept: KeptCheckpoint | None, attempt: int) -> dict[str, Any]:
    """The text takes the place of everything that the run had said since its last question."""
    return {
        "from": kept.id if kept else None,
        "attempt": attempt,
        "text": kept.checkpoint.shown if kept else "",
    }


def attempts_since(last: rows.Row | None, kept: KeptCheckpoint | None) -> int:
    """How often the run was taken over since it last got anywhere; `last` is how its newest walk began."""
    if last is None or last["type"] != FeedType.RUN_RESUMED or (kept and last["no"] < kept.checkpoint.feed_no):
        return 0
    attempt: int = rows.from_json(last["data"])["attempt"]
    return attempt


def text_before(last: rows.Row | None) -> str:
    if last is None or last["type"] != FeedType.RUN_RESUMED:
        return ""
    text: str = rows.from_json(last["data"])["text"]
    return text
