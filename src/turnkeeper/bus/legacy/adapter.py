"""The wire as clients from before the specifications know it: old names, copies under old names, old sessions.

It knows nothing of what goes on: it only remembers of which messages a copy is still to come. What follows the
specifications comes in as it is, and goes out as it is with a marked copy under its old name behind it.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from turnkeeper.bus import carrier, topics
from turnkeeper.bus.legacy import pipelines, sessions
from turnkeeper.bus.legacy import topics as old
from turnkeeper.bus.legacy.copies import Originals
from turnkeeper.bus.message import Message

TWIN = "_namespace_compat_twin"
INTENT_TWIN = "_intent_compat_twin"
"""Marks of a copy under another name; see `copies`."""


class LegacyWire:
    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        """The clock is asked only where an old session says that a skill waits, and not for how long."""
        self._clock = clock
        self._originals = Originals()

    def inbound(self, message: Message) -> Message | None:
        is_marked = message.context.get(TWIN) is True or message.context.get(INTENT_TWIN) is True
        context = _unmarked(message.context)
        now = old.name_now(message.type)
        if is_marked and now != message.type and self._originals.has(now, message.data, context):
            return None
        if now == message.type and old.has_copies(now):
            self._originals.heard(now, message.data, context)
        if isinstance(context.get("session"), dict):
            context["session"] = sessions.understood(context["session"], self._clock)
        return old.understood(replace(message, context=context))

    def outbound(self, message: Message) -> Sequence[Message]:
        message = old.told(replace(message, context=_told(message.context), data=_data(message)))
        copies = (
            replace(message, type=name, context={**message.context, TWIN: True}) for name in old.old_names(message.type)
        )
        return (message, *copies)

    def stages(self, entry: str) -> Sequence[str]:
        return pipelines.stages(entry)


def _unmarked(context: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in context.items() if name not in (TWIN, INTENT_TWIN)}


def _told(context: dict[str, Any]) -> dict[str, Any]:
    """A session that is null or no object would cut off clients of the old kind, so it is left out."""
    told = _unmarked(context)
    session = told.pop("session", None)
    return {**told, "session": sessions.told(session)} if isinstance(session, dict) else told


def _data(message: Message) -> dict[str, Any]:
    """Old clients are sent the whole default session under a topic of its own."""
    session = message.data.get("session_data")
    if message.type != topics.UPDATE_DEFAULT or not isinstance(session, dict):
        return message.data
    return {**message.data, "session_data": sessions.told({"session_id": carrier.DEFAULT, **session})}
