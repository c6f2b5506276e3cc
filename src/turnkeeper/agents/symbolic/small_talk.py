"""A short natural reply to greetings, thanks and the like."""

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.question import plain_form

REPLIES = {"greetings": "hello", "thanks": "welcome", "farewells": "goodbye", "agreement": "fine", "wellbeing": "well"}


def small_talk(text: str) -> str | None:
    """None when the message says more than that."""
    plain = plain_form(text).replace(",", "").replace("!", "").replace(".", "")
    whole = " ".join(text.casefold().replace("\u2019", "'").replace(",", " ").strip(" .!?").split())
    for group, reply in REPLIES.items():
        if plain in speech().small_talk[group] or whole in speech().small_talk[group]:
            return speech().replies[reply]
    return None
