"""What a conversation is about for a while: entries of the session that run out by turns or by the clock.

A key with an owner in front, `<owner>:<key>`, is that one's own; a bare key is shared. Every function here takes a
session, or what stands in its `intent_context`, and leaves it as it is.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from turnkeeper.bus.message import copied

MOST_ENTRIES = 1024
FIELD = "intent_context"

Gate = str | Mapping[str, Any]
"""What an intent asks of the context: a key of its owner, or `{key, scope}` where the scope may be `shared`."""


def pruned(session: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The session without what has run out; before anybody matches."""
    return _with(session, {key: entry for key, entry in _entries(session).items() if is_live(entry, now)})


def decremented(session: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The session one turn later. What is not as it was `before` the round was written in it, and loses no turn."""
    was = _read(before)
    entries = _entries(session)
    for key, entry in entries.items():
        turns = _turns(entry)
        if turns is not None and was.get(key) == entry:
            entries[key] = {**entry, "turns_remaining": turns - 1}
    return _with(session, entries)


def capped(session: Mapping[str, Any], most: int = MOST_ENTRIES) -> dict[str, Any]:
    """The session with so many entries at most; those that would run out first go first."""
    entries = _entries(session)
    ranked = sorted(entries, key=lambda key: _nearness(entries[key]))
    for key in ranked[: max(0, len(entries) - most)]:
        del entries[key]
    return _with(session, entries)


def live_value(session: Mapping[str, Any], owner: str, name: str, now: float) -> str | None:
    """What the context says for a slot: the owner's own entry before the shared one. A flag says nothing."""
    entries = _read(session)
    for key in (f"{owner}:{name}", name):
        entry = entries.get(key)
        if is_live(entry, now) and isinstance(entry, Mapping) and isinstance(entry.get("value"), str):
            return str(entry["value"])
    return None


def candidates(session: Mapping[str, Any], owner: str, slots: Iterable[str], now: float) -> dict[str, str]:
    """What the context offers for these slots; what the utterance itself says goes before it."""
    offered = ((name, live_value(session, owner, name, now)) for name in slots)
    return {name: value for name, value in offered if value is not None}


def is_open(
    session: Mapping[str, Any], owner: str, requires: Iterable[Gate], excludes: Iterable[Gate], now: float
) -> bool:
    """Whether an intent may match at all. A gate that cannot be read is shut where it requires something."""
    entries = _read(session)
    needed, unwanted = [stored_key(gate, owner) for gate in requires], [stored_key(gate, owner) for gate in excludes]
    return all(key is not None and is_live(entries.get(key), now) for key in needed) and not any(
        key is not None and is_live(entries.get(key), now) for key in unwanted
    )


def stored_key(gate: Any, owner: str) -> str | None:
    """Under which key a gate looks; a private one never sees what is shared, nor the other way round."""
    if isinstance(gate, str):
        return f"{owner}:{gate}" if gate else None
    if not isinstance(gate, Mapping) or not isinstance(gate.get("key"), str) or not gate["key"]:
        return None
    return str(gate["key"]) if gate.get("scope") == "shared" else f"{owner}:{gate['key']}"


def is_live(entry: Any, now: float) -> bool:
    if not isinstance(entry, Mapping):
        return False
    turns, expires = _turns(entry), entry.get("expires_at")
    return (turns is None or turns > 0) and (expires is None or expires > now)


def _entries(session: Mapping[str, Any]) -> dict[str, Any]:
    """A copy, to be changed."""
    return copied(dict(_read(session)))


def _read(session: Mapping[str, Any]) -> Mapping[str, Any]:
    found = session.get(FIELD)
    return found if isinstance(found, dict) else {}


def _with(session: Mapping[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    result = {name: copied(value) for name, value in session.items() if name != FIELD}
    return {**result, FIELD: entries} if entries else result


def _turns(entry: Any) -> int | None:
    turns = entry.get("turns_remaining") if isinstance(entry, Mapping) else None
    return turns if isinstance(turns, int) and not isinstance(turns, bool) else None


def _nearness(entry: Any) -> tuple[float, float]:
    """How soon it would go by itself; what never does comes last."""
    turns, expires = _turns(entry), entry.get("expires_at") if isinstance(entry, Mapping) else None
    return (math.inf if turns is None else turns, math.inf if expires is None else expires)
