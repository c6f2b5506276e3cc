"""What the feed says of checkpoints and of going on from them, the same for every backend."""

from typing import Any

from turnkeeper.model.checkpoint import KeptCheckpoint
from turnkeeper.model.feed import FeedType
from turnkeeper.stores import rows

RUNS_AT_ONCE = 500


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
