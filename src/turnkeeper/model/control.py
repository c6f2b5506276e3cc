"""Names in `params` that steer one turn and are never kept, and words that are commands."""

from collections.abc import Mapping
from typing import Any

RESET_PARAMS = ("reset", "restart", "conversation_reset")
FORCE_PARAMS = ("force_intent_resolution", "resolve_intent", "switch_intent", "switch_flow", "switch_mode")
CONTROL_PARAMS = frozenset((*RESET_PARAMS, *FORCE_PARAMS))
RESET_COMMANDS = frozenset(("reset", "restart", "/reset", "/restart"))

# What a response may name beside fields; no schema may declare any of it, nor a control name.
VARIABLES = frozenset(("intent", "state", "missing", "options", "question", "params"))
RESERVED_NAMES = CONTROL_PARAMS | VARIABLES

_TRUTHS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def truth_of(value: object) -> bool | None:
    """What the value of a control param says; None when it says neither yes nor no. Nothing at all means no."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    return _TRUTHS.get(value.strip().lower()) if isinstance(value, str) else None


def first_true(params: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of these names that the params say yes to."""
    return next((name for name in names if truth_of(params.get(name))), None)


def without_control(params: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in params.items() if name not in CONTROL_PARAMS}


def with_clean_names(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Blanks around a name do not count, and a name of nothing but blanks is none."""
    return {name.strip(): value for name, value in params.items() if name.strip()}


def is_reset_command(text: str) -> bool:
    return text.strip().lower() in RESET_COMMANDS
