"""The session as it travels on the bus: which fields there are, what counts as present, and how two are merged.

It stays a plain mapping all the way: presence is what the rules go by, and keys that nobody here knows must come out
as they went in. A field is left out, never null.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from turnkeeper.bus.message import Message, copied

log = logging.getLogger(__name__)

DEFAULT = "default"
CONVERSATION = "turnkeeper"
"""The field in which a conversation with one of our agents travels; see `custody.packing`."""

MOST = 1e18
"""No moment and no place is further away."""

TRANSFORMER_KINDS = ("audio", "utterance", "metadata", "intent", "dialog", "tts")


class MalformedCarrier(ValueError):
    """`session` is there and no object: the message is dropped, and never served as the default session."""


def carried(message: Message) -> dict[str, Any]:
    """What a message brings of its session, without what is null or malformed. Raises MalformedCarrier."""
    session = message.session
    if session is None:
        return {}
    if not isinstance(session, dict):
        raise MalformedCarrier(wire_type(session))
    return fields_of(session)


def fields_of(session: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a carrier really brings: null and wrong ones read as omitted, unknown ones as they are."""
    found: dict[str, Any] = {}
    for name, value in session.items():
        if value is None:
            log.warning("session field left out", extra={"field": name, "wire_type": "null"})
            continue
        check = FIELDS.get(name)
        if check is None:
            found[name] = copied(value)
            continue
        kept = check(value)
        if kept is None:
            if value not in ([], {}, ""):
                log.warning("session field left out", extra={"field": name, "wire_type": wire_type(value)})
            continue
        found[name] = kept
    return found


def session_id_of(session: Mapping[str, Any]) -> str:
    """Which session this is; what names none is `default`."""
    value = session.get("session_id")
    return value if isinstance(value, str) and value else DEFAULT


def is_default(session: Mapping[str, Any]) -> bool:
    return session_id_of(session) == DEFAULT


def merged(stored: Mapping[str, Any], brought: Mapping[str, Any]) -> dict[str, Any]:
    """What is present replaces, field by field; what is left out stays. `session_id` is never changed by it.

    The context of intents is merged entry by entry, and an entry that is null goes.
    """
    fields = fields_of(brought)
    result = {**copied(dict(stored)), **fields}
    if "intent_context" in fields:
        entries = {**stored.get("intent_context", {}), **fields["intent_context"]}
        _put(result, "intent_context", {key: entry for key, entry in entries.items() if entry is not None})
    if "session_id" in stored:
        result["session_id"] = stored["session_id"]
    return _apart(result)


def replaced(current: Mapping[str, Any], base: Mapping[str, Any], snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """What somebody made of a whole session: their changes since `base`, upon what it is by now.

    A field that they left out is gone. What others changed meanwhile, and they did not, stays.
    """
    after = fields_of(snapshot)
    result = copied(dict(current))
    for name in {*base, *after} - {"session_id", "intent_context"}:
        if name not in after:
            result.pop(name, None)
        elif name not in base or after[name] != base[name]:
            result[name] = after[name]
    was, wanted = base.get("intent_context", {}), after.get("intent_context", {})
    entries = dict(result.get("intent_context", {}))
    for key in {*was, *wanted}:
        if wanted.get(key) is None:
            entries.pop(key, None)
        elif key not in was or wanted[key] != was[key]:
            entries[key] = wanted[key]
    _put(result, "intent_context", entries)
    return _apart(result)


def _put(session: dict[str, Any], name: str, value: Any) -> None:
    if value:
        session[name] = value
    else:
        session.pop(name, None)


def _apart(session: dict[str, Any]) -> dict[str, Any]:
    """The other languages do not hold the first one."""
    if "lang" in session and session["lang"] in session.get("secondary_langs", ()):
        others = [each for each in session["secondary_langs"] if each != session["lang"]]
        _put(session, "secondary_langs", others)
    return session


def wire_type(value: Any) -> str:
    """What JSON calls it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        ((int, float), "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    )
    return next(name for kind, name in names if isinstance(value, kind))


# --- what a field may be: the value to keep, or None for one that reads as omitted


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _any_text(value: Any) -> str | None:
    """Here the empty one says something: no persona."""
    return value if isinstance(value, str) else None


def _language(value: Any) -> str | None:
    return value if isinstance(value, str) and value and not any(char.isspace() for char in value) else None


def _languages(value: Any) -> list[str] | None:
    if not isinstance(value, list):
        return None
    return list(dict.fromkeys(each for each in value if _language(each))) or None


def _names(value: Any) -> list[str] | None:
    """Of a list that overrides, an empty one is the same as none."""
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return None
    return list(value) or None


def _handlers(value: Any) -> list[dict[str, Any]] | None:
    """Here an empty list is a value: it says that there are none. Entries that say nothing useful are left out."""
    if not isinstance(value, list):
        return None
    return [copied(each) for each in value if _is_handler(each, "activated_at")]


def _is_handler(value: Any, at: str) -> bool:
    return isinstance(value, dict) and bool(_text(value.get("skill_id"))) and is_number(value.get(at))


def _response_mode(value: Any) -> dict[str, Any] | None:
    return copied(value) if _is_handler(value, "expires_at") else None


def _intent_context(value: Any) -> dict[str, Any] | None:
    """Entries that are null stay: they mean that a key goes."""
    if not isinstance(value, dict):
        return None
    return {key: copied(entry) for key, entry in value.items() if entry is None or _is_context_entry(entry)} or None


def _is_context_entry(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    value, expires, turns = entry.get("value"), entry.get("expires_at"), entry.get("turns_remaining")
    return (
        (value is None or isinstance(value, str))
        and (expires is None or is_number(expires))
        and (turns is None or (isinstance(turns, int) and not isinstance(turns, bool)))
    )


def _location(value: Any) -> dict[str, Any] | None:
    """A wrong key is dropped alone; keys that are none of ours stay."""
    if not isinstance(value, dict):
        return None
    wrong = {
        "lat": not is_number(value.get("lat")) or abs(value["lat"]) > 90,
        "lon": not is_number(value.get("lon")) or abs(value["lon"]) > 180,
        "tz": not _text(value.get("tz")),
    }
    kept = {name: copied(each) for name, each in value.items() if not wrong.get(name) and each is not None}
    return kept or None


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST < value < MOST


def _all(names: Iterable[str], check: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    return dict.fromkeys(names, check)


FIELDS: dict[str, Callable[[Any], Any]] = {
    "session_id": _text,
    **_all(("lang", "output_lang", "stt_lang", "request_lang", "detected_lang"), _language),
    "secondary_langs": _languages,
    **_all(("pipeline", "blacklisted_pipelines", "blacklisted_skills", "blacklisted_intents"), _names),
    **_all(("active_handlers", "converse_handlers"), _handlers),
    "response_mode": _response_mode,
    "intent_context": _intent_context,
    "fallback_handlers": _names,
    "persona_id": _any_text,
    **_all((f"{kind}_transformers" for kind in TRANSFORMER_KINDS), _names),
    **_all((f"blacklisted_{kind}_transformers" for kind in TRANSFORMER_KINDS), _names),
    "site_id": _text,
    "location": _location,
}
"""The fields that have an owner among the specifications, with what may stand in them."""
