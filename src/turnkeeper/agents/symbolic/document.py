"""The answer as an Explanation keeps it: never so large that explaining costs more than answering."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

MOST_BYTES = 65_536


def bounded(document: Mapping[str, Any], *, most_bytes: int = MOST_BYTES) -> Mapping[str, Any]:
    """The first groups that fit, with the sources that they cite; `groups_left_out` says how many did not."""
    if _size(document) <= most_bytes:
        return document
    kept, sources, left = [], {}, most_bytes - _size({**document, "groups": [], "sources": [], "groups_left_out": 0})
    by_mark = {source["mark"]: source for source in document["sources"]}
    groups: Sequence[Mapping[str, Any]] = document["groups"]
    for group in groups:
        cited = {mark: by_mark[mark] for mark in group["sources"] if mark not in sources}
        left -= _size(group) + sum(map(_size, cited.values())) + len(cited) + 1
        if left < 0:
            break
        kept.append(group)
        sources.update(cited)
    return {
        **document,
        "groups": kept,
        "sources": [sources[mark] for mark in sorted(sources)],
        "groups_left_out": len(groups) - len(kept),
    }


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))
