"""Which skills a session had to do with, newest first, and the one that waits for an answer.

Two lists go by recency: `active_handlers`, whom a stop would reach, and `converse_handlers`, who may speak up before
everybody else. Every function takes a session and leaves it as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from turnkeeper.bus.message import copied

MOST_CONVERSING = 64


def activated(session: Mapping[str, Any], skill_id: str, now: float) -> dict[str, Any]:
    """The session with this skill as the most recent one."""
    return _with(session, "active_handlers", _promoted(active(session), skill_id, now))


def deactivated(session: Mapping[str, Any], skill_id: str) -> dict[str, Any]:
    """The session without this skill among the active ones; who converses stays."""
    return _with(session, "active_handlers", without(active(session), {skill_id}))


def stamped(session: Mapping[str, Any], skill_id: str, now: float, most: int = MOST_CONVERSING) -> dict[str, Any]:
    """The session with this skill first among those that converse. The oldest goes, unless it waits for an answer."""
    handlers = _promoted(conversing(session), skill_id, now)
    waiting = _waiting(session, now)
    too_old = [each for each in handlers[most:] if each["skill_id"] == waiting]
    # The newest is the one that is stamped just now, so it is never dropped either.
    kept = handlers[: max(1, most - len(too_old))]
    return _with(session, "converse_handlers", [*kept, *too_old])


def not_conversing(session: Mapping[str, Any], skill_ids: Iterable[str]) -> dict[str, Any]:
    """The session without these skills among those that converse."""
    if "converse_handlers" not in session:
        return copied(dict(session))
    return _with(session, "converse_handlers", without(conversing(session), set(skill_ids)))


def pruned_converse(session: Mapping[str, Any], ttl: float, now: float) -> dict[str, Any]:
    """The session without those that conversed too long ago; who waits for an answer stays. A ttl of 0 keeps all."""
    if ttl <= 0 or "converse_handlers" not in session:
        return copied(dict(session))
    waiting = _waiting(session, now)
    kept = [each for each in conversing(session) if each["skill_id"] == waiting or not now - each["activated_at"] > ttl]
    return _with(session, "converse_handlers", kept)


def holder(session: Mapping[str, Any], now: float) -> str | None:
    """Who waits for the next utterance as an answer: one that converses, and whose time is not over."""
    waiting = _waiting(session, now)
    return waiting if waiting in {each["skill_id"] for each in conversing(session)} else None


def without_response_mode(session: Mapping[str, Any]) -> dict[str, Any]:
    return {name: copied(value) for name, value in session.items() if name != "response_mode"}


def newest(handlers: Sequence[Mapping[str, Any]]) -> str | None:
    """The most recent of these; of two at once the one nearer the head."""
    best = max(handlers, key=lambda each: float(each["activated_at"]), default=None)
    return None if best is None else str(best["skill_id"])


def active(session: Mapping[str, Any]) -> list[dict[str, Any]]:
    return _handlers(session, "active_handlers")


def conversing(session: Mapping[str, Any]) -> list[dict[str, Any]]:
    return _handlers(session, "converse_handlers")


def without(handlers: Iterable[dict[str, Any]], skill_ids: Iterable[str]) -> list[dict[str, Any]]:
    gone = set(skill_ids)
    return [each for each in handlers if each["skill_id"] not in gone]


def blacklisted(session: Mapping[str, Any]) -> frozenset[str]:
    """The skills that this session is not to be served by."""
    names = session.get("blacklisted_skills")
    return frozenset(each for each in names if isinstance(each, str)) if isinstance(names, list) else frozenset()


def _handlers(session: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Unique by skill: the one nearest the head counts."""
    found: dict[str, dict[str, Any]] = {}
    entries = session.get(name)
    for each in entries if isinstance(entries, list) else []:
        found.setdefault(each["skill_id"], copied(each))
    return list(found.values())


def _promoted(handlers: list[dict[str, Any]], skill_id: str, now: float) -> list[dict[str, Any]]:
    return [{"skill_id": skill_id, "activated_at": now}, *without(handlers, {skill_id})]


def _waiting(session: Mapping[str, Any], now: float) -> str | None:
    mode = session.get("response_mode")
    if not isinstance(mode, Mapping) or not mode["expires_at"] > now:
        return None
    return str(mode["skill_id"])


def _with(session: Mapping[str, Any], name: str, handlers: list[dict[str, Any]]) -> dict[str, Any]:
    return {**copied(dict(session)), name: handlers}
