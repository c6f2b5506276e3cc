"""What makes a turn look for an intent anew, and what makes it begin from nothing."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from turnkeeper.model.control import FORCE_PARAMS, RESET_PARAMS, first_true, is_reset_command
from turnkeeper.model.dialogue import Clarification


class Signal(StrEnum):
    CLARIFICATION = "clarification"
    RESET_COMMAND = "reset_command"
    PARAM = "param"
    SWITCH_PHRASE = "switch_phrase"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForceSignal:
    """`value` says which one fired: a reason, a command, the name of a param, or a phrase without what follows it."""

    signal: Signal
    value: str


def force_signal(text: str, params: Mapping[str, Any], clarification: Clarification | None) -> ForceSignal | None:
    """The first signal to resolve the intent anew. `params` are those of this request: a signal acts once."""
    if clarification is not None:
        return ForceSignal(signal=Signal.CLARIFICATION, value=clarification.reason)
    if is_reset_command(text):
        return ForceSignal(signal=Signal.RESET_COMMAND, value=text.strip().lower())
    if name := first_true(params, FORCE_PARAMS):
        return ForceSignal(signal=Signal.PARAM, value=name)
    if phrase := _switch_phrase(text):
        return ForceSignal(signal=Signal.SWITCH_PHRASE, value=phrase)
    return None


class ResetTrigger(StrEnum):
    """Why a conversation began anew: the reason that `CONVERSATION_RESET` tells."""

    FLAG = "FLAG"
    PARAM_RESET = "INPUT_PARAM:reset"
    PARAM_RESTART = "INPUT_PARAM:restart"
    PARAM_CONVERSATION_RESET = "INPUT_PARAM:conversation_reset"
    TEXT = "USER_TEXT_COMMAND"
    INTENT = "INTENT_RESOLVED_RESET"
    COMMAND = "COMMAND"


def reset_trigger(reset_flag: bool, params: Mapping[str, Any], text: str) -> ResetTrigger | None:
    """What the request itself says. That a reset intent was resolved is known only later."""
    if reset_flag:
        return ResetTrigger.FLAG
    if name := first_true(params, RESET_PARAMS):
        return ResetTrigger(f"INPUT_PARAM:{name}")
    return ResetTrigger.TEXT if is_reset_command(text) else None


# "change mode of payment" is about payment: what a word is of is not what we switch.
_SWITCH = re.compile(
    r"(?<![\w-])(?:(?P<to>switch\s+to)\s+\w"
    r"|(?P<verb>switch|change)\s+(?:(?:the|my)\s+)?(?P<noun>intent|flow|mode)(?![\w-])(?!\s+of\b))",
    re.IGNORECASE,
)


def _switch_phrase(text: str) -> str | None:
    found = _SWITCH.search(text)
    if found is None:
        return None
    return "switch to" if found["to"] else f"{found['verb']} {found['noun']}".lower()
