"""What all pictures of a run have in common: the tone of a status, a span of time, text on one line."""

from enum import StrEnum


class Tone(StrEnum):
    """What a status means to an eye that runs over the picture."""

    GOOD = "good"
    DECLINED = "declined"
    LACKING = "lacking"
    BAD = "bad"
    IDLE = "idle"
    BUSY = "busy"
    PLAIN = "plain"


_STATUSES = {
    Tone.GOOD: ("ok", "success", "succeeded", "accepted", "answered", "completed", "resolved", "settled"),
    Tone.DECLINED: ("unsupported", "refused"),
    Tone.LACKING: ("insufficient", "no-context", "needs-decomposition", "fallback", "waiting"),
    Tone.BAD: ("error", "failed", "rejected", "timed_out"),
    Tone.IDLE: ("skipped", "unfinished", "inactive", "deactivated", "stopped", "idle", "cancelled", "superseded"),
    Tone.BUSY: ("running", "active", "queued", "exploring", "open"),
}
_TONES = {status: tone for tone, statuses in _STATUSES.items() for status in statuses}


def tone_of(status: str) -> Tone:
    """Agents may invent statuses; one that is not known, and not a known one with more said behind it, is plain."""
    return _TONES.get(status) or _TONES.get(status.partition("-")[0], Tone.PLAIN)


def span(microseconds: int) -> str:
    """How long something took, for people; nothing when it is not worth the room."""
    milliseconds = microseconds / 1000
    if milliseconds < 0.05:
        return ""
    return f"{milliseconds:.1f} ms" if milliseconds < 999.95 else f"{milliseconds / 1000:.1f} s"


def on_one_line(text: str) -> str:
    """Text without line breaks and without anything that a terminal or a page would obey."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
