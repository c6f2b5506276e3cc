"""A short natural reply to greetings, thanks and the like."""

import re

from turnkeeper.agents.symbolic.language import speech

REPLIES = {"greetings": "hello", "thanks": "welcome", "farewells": "goodbye", "agreement": "fine", "wellbeing": "well"}


def small_talk(text: str) -> str | None:
    """None when the message says more than that. Of several greetings in one the last decides."""
    said = text.casefold().replace("\u2019", "'")
    parts = [" ".join(part.split()) for part in re.split(r"[,.!?;:]+", said) if part.strip()]
    whole = " ".join(parts)
    replies = [_reply_to(whole)] if _reply_to(whole) else [_reply_to(part) for part in parts]
    return replies[-1] if replies and all(replies) else None


def _reply_to(said: str) -> str | None:
    for group, reply in REPLIES.items():
        if said in speech().small_talk[group]:
            return speech().replies[reply]
    return None
