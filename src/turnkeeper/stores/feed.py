"""What a reader of the feed is given, the same for every backend."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from turnkeeper.model.feed import FeedEntry, FeedType


def with_text(entries: Sequence[FeedEntry], texts: Mapping[int, str], *, after: int) -> list[FeedEntry]:
    """Put the text of each turn into its end, and one snapshot before an end whose deltas the reader was inside of."""
    told: list[FeedEntry] = []
    for entry in entries:
        seq = entry.data.get("message_seq")
        if seq is None:
            told.append(entry)
            continue
        text = texts[seq]
        first, last = entry.data.get("deltas", (0, 0))
        if first <= after < last:
            told.append(replace(entry, no=last, type=FeedType.OUTPUT_SNAPSHOT, data={"text": text}))
        told.append(replace(entry, data={**entry.data, "text": text}))
    return told
