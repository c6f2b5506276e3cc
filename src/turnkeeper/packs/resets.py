"""Intents that start a conversation afresh, and those that nothing leads to: both are seldom meant.

`RESET_INTENT_CODES` wipes a session. So a code in it that looks like business is told, before a user who wants a new
password loses the whole conversation.
"""

from collections.abc import Iterator

from turnkeeper.model.pack import Intent
from turnkeeper.packs.faults import PackFaultCode, meant_instead
from turnkeeper.packs.intents import WrittenIntent
from turnkeeper.packs.parts import Part
from turnkeeper.packs.written import WrittenPack

KEY = "RESET_INTENT_CODES"

_VERBS = (("RESET",), ("RESTART",), ("START", "OVER"), ("START", "AGAIN"), ("BEGIN", "AGAIN"), ("CLEAR",), ("FORGET",))
_OBJECTS = frozenset(("SESSION", "CONVERSATION", "CHAT", "DIALOG", "DIALOGUE", "TALK", "ALL", "EVERYTHING", "NOW"))


def check_resets(pack: WrittenPack) -> None:
    for code in pack.manifest.config.reset_intent_codes:
        written = pack.by_code.get(code)
        part = _place(pack, written)
        if part is None:
            continue
        if written is None or written.intent is None:
            _warn_unknown(pack, part, code)
            continue
        work = list(_work_of(pack, written.intent))
        if work:
            message = (
                f"{code} is in {KEY}, so whoever asks for it loses the conversation, and yet {' and '.join(work)}. "
                f"Take it out of {KEY}, or take that away."
            )
            part.warn(PackFaultCode.RESET_INTENT, message)


def check_resolvable(pack: WrittenPack) -> None:
    for written, intent in pack.read_intents():
        if not intent.rules and not intent.examples:
            message = f"Nothing leads to {intent.code}. Write `examples` of what users say, or `rules`."
            written.part.warn(PackFaultCode.UNRESOLVABLE, message)


def looks_like_reset(code: str) -> bool:
    """RESET_SESSION does, RESET_PASSWORD does not."""
    words = tuple(code.split("_"))
    return any(words[: len(verb)] == verb and _OBJECTS.issuperset(words[len(verb) :]) for verb in _VERBS)


def _place(pack: WrittenPack, written: WrittenIntent | None) -> Part | None:
    """Where the code is written in the config; without it, where the intent is declared."""
    config = pack.manifest.config_part
    if config is not None and KEY in (config.value or {}):
        return config.inside(KEY)
    return written.part.inside("code") if written else None


def _warn_unknown(pack: WrittenPack, part: Part, code: str) -> None:
    if pack.lacks_intent(code):
        near = meant_instead(code, pack.usable_codes)
        message = f"There is no intent {code!r}. {near} Correct it, or declare the intent."
        part.warn(PackFaultCode.RESET_INTENT, message)


def _work_of(pack: WrittenPack, intent: Intent) -> Iterator[str]:
    """What an intent has that is of no use when all it does is to reset."""
    if not looks_like_reset(intent.code):
        yield "its name says something else"
    if pack.has_form(intent.code):
        yield "it has a schema"
    if len(intent.states) > 1:
        yield "it has several states"
    if intent.grants:
        yield "it needs grants"
    if intent.code in pack.handed_to_agent:
        yield "it is handed to the agent"
