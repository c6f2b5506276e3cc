"""Deciding once an utterance in which language it was said."""

from collections.abc import Collection, Mapping
from typing import Any

SIGNALS = ("stt_lang", "detected_lang", "request_lang", "lang")
"""What a session says about the language, the surest first; what the utterance itself says goes before all of it."""


def resolved(data: Mapping[str, Any], session: Mapping[str, Any], enabled: Collection[str], default: str) -> str:
    """The first signal that names a language which is spoken here; the signals stay as they are."""
    for tag in (data.get("lang"), *(session.get(name) for name in SIGNALS)):
        known = spoken(tag, enabled) if isinstance(tag, str) else None
        if known is not None:
            return known
    return default


def spoken(tag: str, enabled: Collection[str]) -> str | None:
    """How a language is written here, or None if it is not spoken.

    Some clients cut the region off, so `en` stands for the first enabled `en-..`; one that says more than what is
    enabled stands for nothing.
    """
    folded = tag.casefold().replace("_", "-")
    exact = next((each for each in enabled if each.casefold() == folded), None)
    if exact is not None or not folded:
        return exact
    return next((each for each in enabled if each.casefold().startswith(f"{folded}-")), None)
