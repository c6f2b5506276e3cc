"""Sessions of clients that know only the old fields: read as what they mean, and written so that nothing gets lost.

Such a client sends back a part of what it was sent, and drops the rest. With the older ones one place survives: the
notes beside the frames of the old context. With the newer ones the fields of the specifications do, but no others. So
what one would lose goes into those notes, and what the other would lose into an entry of the context of intents; from
there it is taken back. Whoever loses nothing sends back a mark as well; then what is missing is meant to be missing.
A session that carries none of the old fields is left alone.
"""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from turnkeeper.bus import carrier
from turnkeeper.bus.message import is_json

STATE = ("active_skills", "utterance_states", "context")
"""By these a session of the old kind is known."""

KEPT = "turnkeeper.kept"
"""What the old kind would lose, in the notes of the first frame."""

ENTRY = "turnkeeper:kept"
"""What the newer kind would lose, as one text in the context of intents. Nobody who matches gets to see it."""

WHOLE = "turnkeeper_whole"
"""The mark: an unknown field that only those return who return everything."""

RETURNED = frozenset(
    {
        *STATE,
        *("session_id", "site_id", "pipeline", "location", "persona_id", "blacklisted_skills", "blacklisted_intents"),
        *("system_unit", "time_format", "date_format", "is_speaking", "is_recording"),
    }
)
"""What comes back from the older kind by itself. A language does too, but without its region."""

WAITING = "response"
WAITS_SECONDS = 60.0
"""For how long a skill waits for an answer, where a session says only that it does."""
FRAME_SECONDS = 120


def understood(session: dict[str, Any], clock: Callable[[], float]) -> dict[str, Any]:
    """The session with what its old fields mean; what it says in the new ones goes before that."""
    if not is_old(session):
        return session
    result = {name: copy.deepcopy(value) for name, value in session.items() if value is not None}
    _locate(result)
    unknown = _taken_out(result)
    is_whole = result.pop(WHOLE, None) is True
    if carrier.is_default(result):
        # Whoever serves the default session knows it better than a client that was told of it some time ago.
        if result.get("site_id") == "unknown":
            del result["site_id"]
        return result
    if is_whole:
        return result
    kept = _kept(result)
    if _is_shortened(result.get("lang"), kept.get("lang")):
        result["lang"] = kept["lang"]
    for name, value in {**unknown, **kept}.items():
        if value is not None:
            result.setdefault(name, copy.deepcopy(value))
    _activate(result)
    _wait(result, clock)
    return result


def told(session: Mapping[str, Any]) -> dict[str, Any]:
    """The session with its old fields as they follow from the new ones; nothing in it is null."""
    result = {name: copy.deepcopy(value) for name, value in session.items() if value is not None and name != WHOLE}
    if not is_old(result):
        return result
    handlers = carrier.fields_of({"active_handlers": result.get("active_handlers", [])}).get("active_handlers", [])
    mode = carrier.fields_of({"response_mode": result.get("response_mode", {})}).get("response_mode")
    result["active_skills"] = [[each["skill_id"], each["activated_at"]] for each in handlers]
    result["utterance_states"] = {} if mode is None else {mode["skill_id"]: WAITING}
    result["context"] = _with_kept(result, handlers)
    unknown = {name: result[name] for name in result.keys() - RETURNED - carrier.FIELDS.keys()}
    if unknown and not carrier.is_default(result):
        entry = {"value": json.dumps(unknown, ensure_ascii=False, sort_keys=True)}
        result["intent_context"] = {**_entries(result), ENTRY: entry}
    return result if carrier.is_default(result) else {**result, WHOLE: True}


def is_old(session: Mapping[str, Any]) -> bool:
    context = session.get("context")
    has_frames = isinstance(context, dict) and "frame_stack" in context
    return has_frames or "active_skills" in session or "utterance_states" in session


def _with_kept(session: dict[str, Any], handlers: list[dict[str, Any]]) -> dict[str, Any]:
    context = session.get("context")
    context = context if isinstance(context, dict) else {}
    frames = [frame for frame in _frames(context) if not _is_ours(frame[0])]
    kept = {} if carrier.is_default(session) else {name: session[name] for name in session.keys() - RETURNED}
    if kept:
        since = handlers[0]["activated_at"] if handlers else 0
        frames.insert(0, [{"entities": [], "metadata": {KEPT: kept}}, since])
    return {**context, "timeout": context.get("timeout") or FRAME_SECONDS, "frame_stack": frames}


def _kept(session: Mapping[str, Any]) -> dict[str, Any]:
    for frame, _ in _frames(session.get("context")):
        kept = frame["metadata"].get(KEPT)
        if isinstance(kept, dict):
            return {name: value for name, value in kept.items() if name not in RETURNED}
    return {}


def _taken_out(session: dict[str, Any]) -> dict[str, Any]:
    """The fields in our entry, which leaves the session with this."""
    entries = _entries(session)
    entry = entries.pop(ENTRY, None)
    if entry is None:
        return {}
    session["intent_context"] = entries
    if not entries:
        del session["intent_context"]
    try:
        unknown = json.loads(entry["value"])
    except (TypeError, KeyError, ValueError, RecursionError):
        return {}
    if not isinstance(unknown, dict) or not is_json(unknown):
        return {}
    return {name: value for name, value in unknown.items() if name not in RETURNED and name not in carrier.FIELDS}


def _entries(session: Mapping[str, Any]) -> dict[str, Any]:
    entries = session.get("intent_context")
    return dict(entries) if isinstance(entries, dict) else {}


def _is_ours(frame: dict[str, Any]) -> bool:
    """What we have put there, and what the newer kind makes of our entry."""
    origins = [each.get("origin") for each in frame["entities"] if isinstance(each, dict)]
    return KEPT in frame["metadata"] or ENTRY in origins


def _frames(context: Any) -> list[list[Any]]:
    """The frames that can be read; others would only make an old client stumble."""
    stack = context.get("frame_stack") if isinstance(context, dict) else None
    return [
        [{"entities": frame[0].get("entities") or [], "metadata": frame[0].get("metadata") or {}}, frame[1]]
        for frame in (stack if isinstance(stack, list) else [])
        if isinstance(frame, list) and len(frame) == 2 and _is_frame(frame[0]) and carrier.is_number(frame[1])
    ]


def _is_frame(frame: Any) -> bool:
    return (
        isinstance(frame, dict)
        and isinstance(frame.get("entities") or [], list)
        and isinstance(frame.get("metadata") or {}, dict)
    )


def _activate(session: dict[str, Any]) -> None:
    """Who was active could also converse. An empty list says nothing: it is what a client sends that knows nothing."""
    skills = session.get("active_skills")
    found: dict[str, dict[str, Any]] = {}
    for each in skills if isinstance(skills, list) else []:
        if isinstance(each, list) and len(each) == 2 and _is_skill(each[0]) and carrier.is_number(each[1]):
            found.setdefault(each[0], {"skill_id": each[0], "activated_at": each[1]})
    if found:
        session.setdefault("active_handlers", list(found.values()))
        session.setdefault("converse_handlers", copy.deepcopy(list(found.values())))


def _wait(session: dict[str, Any], clock: Callable[[], float]) -> None:
    states = session.get("utterance_states")
    if not isinstance(states, dict) or "response_mode" in session:
        return
    waiting = [skill for skill, state in states.items() if state == WAITING and _is_skill(skill)]
    recent = [each["skill_id"] for each in session.get("converse_handlers", []) if _is_handler(each)]
    ranked = sorted(waiting, key=lambda skill: recent.index(skill) if skill in recent else len(recent))
    if ranked:
        session["response_mode"] = {"skill_id": ranked[0], "expires_at": clock() + WAITS_SECONDS}


def _locate(session: dict[str, Any]) -> None:
    """The place as the specifications name it, beside how it was named."""
    place = session.get("location")
    if not isinstance(place, dict):
        return
    coordinate, zone = place.get("coordinate"), place.get("timezone")
    found = {
        "lat": coordinate.get("latitude") if isinstance(coordinate, dict) else None,
        "lon": coordinate.get("longitude") if isinstance(coordinate, dict) else None,
        "tz": zone.get("code") if isinstance(zone, dict) else None,
    }
    for name, value in found.items():
        if value is not None:
            place.setdefault(name, value)


def _is_shortened(lang: Any, kept: Any) -> bool:
    return isinstance(lang, str) and isinstance(kept, str) and bool(lang) and kept.startswith(f"{lang}-")


def _is_skill(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_handler(value: Any) -> bool:
    return isinstance(value, dict) and _is_skill(value.get("skill_id"))
