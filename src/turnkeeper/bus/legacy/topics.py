"""The old names of topics, and the few whose data has changed with the name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from turnkeeper.bus import topics
from turnkeeper.bus.message import Message
from turnkeeper.bus.plugins import STOPPED

RENAMED = {
    "recognizer_loop:utterance": topics.UTTERANCE,
    "speak": topics.SPEAK,
    "complete_intent_failure": topics.UNMATCHED,
    "mycroft.mic.listen": "ovos.mic.listen",
    "recognizer_loop:audio_output_start": "ovos.audio.output.started",
    "recognizer_loop:audio_output_end": "ovos.audio.output.ended",
    "recognizer_loop:record_begin": "ovos.listener.record.started",
    "recognizer_loop:record_end": "ovos.listener.record.ended",
    "recognizer_loop:sleep": "ovos.listener.sleep",
    "mycroft.awoken": "ovos.listener.awoken",
    "recognizer_loop:speech.recognition.unknown": "ovos.stt.failed",
    "mycroft.stop": topics.STOP,
    "skill.converse.pong": topics.CONVERSE_PONG,
    "skill.stop.pong": topics.STOP_PONG,
    "ovos.skills.fallback.register": topics.FALLBACK_REGISTER,
    "ovos.skills.fallback.deregister": topics.FALLBACK_DEREGISTER,
    "ovos.skills.fallback.ping": topics.FALLBACK_PING,
    "ovos.skills.fallback.pong": topics.FALLBACK_PONG,
    "detach_intent": "ovos.intent.deregister",
    "detach_skill": "ovos.skill.deregister",
    "mycroft.skill.enable_intent": "ovos.intent.enable",
    "mycroft.skill.disable_intent": "ovos.intent.disable",
}
"""What a topic was called, and what it is called now."""

NOT_TOLD = {"ovos.intent.deregister", "ovos.intent.enable", "ovos.intent.disable", topics.CONVERSE_PONG}
"""Nobody listens to these under their old names, or with the data that they have now."""

NEW_NAMES = frozenset(RENAMED.values())
OLD_NAMES = {new: old for old, new in RENAMED.items() if new not in NOT_TOLD}

FILE_ENDING = ".intent"
NOT_SKILLS = frozenset(
    {"recognizer_loop", "padatious", "question", "play", "speak", "stop", "converse", "gui", "mycroft"}
)
"""What stands before a colon in old topics that are no dispatch."""


def understood(message: Message) -> Message:
    """The message under the name that it has now."""
    change = CHANGED.get(message.type, _unchanged)
    return _listening(replace(message, type=name_now(message.type), data=change(message)))


def name_now(name: str) -> str:
    return RENAMED.get(name) or _without_ending(name)


def has_copies(name: str) -> bool:
    """Whether somebody may send this under an old name, too: all that was renamed, and what goes to an intent."""
    return name in NEW_NAMES or ":" in name


def told(message: Message) -> Message:
    """Who speaks for the old kind asks for an answer in another word; both may stand side by side."""
    if message.type != topics.SPEAK or "listen" not in message.data or "expect_response" in message.data:
        return message
    return replace(message, data={**message.data, "expect_response": message.data["listen"]})


def old_names(name: str) -> Sequence[str]:
    """What this was called, if it had another name."""
    if name in OLD_NAMES:
        return (OLD_NAMES[name],)
    skill_id, colon, intent = name.partition(":")
    return (f"{skill_id}.{STOPPED}",) if colon and intent == STOPPED else ()


def _without_ending(name: str) -> str:
    """Old skills leave the name of a file in that of their intent."""
    skill_id, colon, intent = name.partition(":")
    is_intent = bool(colon) and skill_id not in NOT_SKILLS and len(intent) > len(FILE_ENDING)
    return name.removesuffix(FILE_ENDING) if is_intent else name


def _listening(message: Message) -> Message:
    if message.type != topics.SPEAK or "expect_response" not in message.data:
        return message
    data = dict(message.data)
    expected = data.pop("expect_response")
    listen = data.get("listen", expected)
    # Where the two differ somebody means something by it.
    return replace(message, data={**data, "listen": listen}) if listen == expected else message


def _unchanged(message: Message) -> dict[str, Any]:
    return message.data


def _named_whole(message: Message) -> dict[str, Any]:
    """`<skill_id>:<intent>` in one text."""
    skill_id, colon, intent = str(message.data.get("intent_name", "")).partition(":")
    return {"skill_id": skill_id, "intent_name": intent} if colon else message.data


def _without_skill(message: Message) -> dict[str, Any]:
    """The skill is known from the context alone."""
    known: Mapping[str, Any] = {} if message.skill_id is None else {"skill_id": message.skill_id}
    return {**known, **message.data}


CHANGED: dict[str, Callable[[Message], dict[str, Any]]] = {
    "detach_intent": _named_whole,
    "mycroft.skill.enable_intent": _without_skill,
    "mycroft.skill.disable_intent": _without_skill,
}
