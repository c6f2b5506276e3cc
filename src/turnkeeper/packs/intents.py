"""What a user of the pack may want, as its files under `intents` say it."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from turnkeeper.model.pack import ANY, UNKNOWN, Intent, IntentRule, IntentState, OnLeave, RuleKind
from turnkeeper.packs.faults import PackFaultCode, shown
from turnkeeper.packs.manifest import LOCALE, LOCALE_REMEDY, NAME, NAME_REMEDY
from turnkeeper.packs.parts import MOST_NAME_CHARS, Part, given

KEYS = (
    *("code", "name", "description", "examples", "rules", "priority", "states", "grants", "channels", "locales"),
    *("carries", "on_leave"),
)
RULE_KEYS = ("type", "pattern", "priority", "state")
STATE_KEYS = ("code", "confirm")
MOST_PRIORITY = 10_000
MOST_EXAMPLE_CHARS = 500
MOST_PATTERN_CHARS = 500
CODE = re.compile(r"[A-Z][A-Z0-9_]*")

_CODE_REMEDY = "Write capitals, digits and _, beginning with a letter, such as BOOK_TABLE."
_FIELD = re.compile(r"\w[\w-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenIntent:
    """`code` is as it was written, whether it can be one or not, so that what refers to it is not blamed."""

    code: str
    part: Part
    intent: Intent | None


def read_intents(part: Part) -> Iterator[WrittenIntent]:
    """One intent, or a list of them."""
    for each in part.items() if isinstance(part.value, list) else [part]:
        fields = each.fields(KEYS, required={"code"})
        if isinstance(each.value, dict) and isinstance(each.value.get("code"), str):
            yield WrittenIntent(code=each.value["code"], part=each, intent=_intent(fields))
        else:
            _intent(fields)


def read_code(part: Part) -> str | None:
    code = part.name(CODE, _CODE_REMEDY, PackFaultCode.UNFIT_CODE)
    if code in (ANY, UNKNOWN):
        message = f"{code} stands for every one, or for none yet, and cannot be declared. Choose another code."
        part.refuse(PackFaultCode.RESERVED_CODE, message)
        return None
    return code


def _intent(fields: dict[str, Part]) -> Intent | None:
    """None without a usable code. Everything is read all the same, so that all of its faults are told."""
    read = given({name: _READERS[name](part) for name, part in fields.items()})
    if "code" not in read:
        return None
    return Intent(**{"name": _name_of(read["code"]), **read})


def _name_of(code: str) -> str:
    return code.replace("_", " ").strip().capitalize()


def _states(part: Part) -> tuple[IntentState, ...] | None:
    states = tuple(state for each in part.items() if (state := _state(each)))
    if isinstance(part.value, list) and not part.value:
        message = "An intent has at least one state. List them in their order, or leave `states` out."
        part.refuse(PackFaultCode.BLANK, message)
    if states and len(states) == len(part.value):
        _check_confirming(part, states)
    return states or None


def _state(part: Part) -> IntentState | None:
    if not isinstance(part.value, dict):
        code = read_code(part)
        return IntentState(code=code) if code else None
    fields = part.fields(STATE_KEYS, required={"code"})
    confirms = fields["confirm"].truth() if "confirm" in fields else False
    code = read_code(fields["code"]) if "code" in fields else None
    return IntentState(code=code, confirms=bool(confirms)) if code else None


def _check_confirming(part: Part, states: tuple[IntentState, ...]) -> None:
    for at, state in enumerate(states):
        if state.confirms and at in (0, len(states) - 1):
            lacking = "before it to ask for something" if at == 0 else "behind it to go to after a yes"
            message = f"{state.code} confirms, and there is no state {lacking}. Add one, or take `confirm` away."
            part.inside(at).refuse(PackFaultCode.UNFIT_CONFIRMATION, message)


def _rules(part: Part) -> tuple[IntentRule, ...]:
    return tuple(rule for each in part.items() if (rule := _rule(each)))


def _rule(part: Part) -> IntentRule | None:
    fields = part.fields(RULE_KEYS, required={"type", "pattern"})
    kind = fields["type"].one_of(RuleKind) if "type" in fields else None
    pattern = fields["pattern"].text(most=MOST_PATTERN_CHARS) if "pattern" in fields else None
    more: dict[str, Any] = {
        "priority": _priority(fields["priority"]) if "priority" in fields else None,
        "state": read_code(fields["state"]) if "state" in fields else None,
    }
    return IntentRule(kind=kind, pattern=pattern, **given(more)) if kind and pattern else None


def _priority(part: Part) -> int | None:
    return part.whole(least=0, most=MOST_PRIORITY)


def _examples(part: Part) -> tuple[str, ...]:
    if part.value == []:
        part.refuse(PackFaultCode.BLANK, "This list is empty. Write what users say, or leave `examples` out.")
    return part.each(lambda each: each.text(most=MOST_EXAMPLE_CHARS))


def _name(part: Part) -> str | None:
    name = part.text(most=MOST_NAME_CHARS)
    if name and "\n" in name:
        part.refuse(PackFaultCode.UNFIT_VALUE, f"{shown(name)} has several lines. Write a name in one line.")
    return name


_READERS: Mapping[str, Callable[[Part], Any]] = {
    "code": read_code,
    "name": _name,
    "description": lambda part: part.text(),
    "examples": _examples,
    "rules": _rules,
    "priority": _priority,
    "states": _states,
    "grants": lambda part: part.names(NAME, NAME_REMEDY),
    "channels": lambda part: part.names(NAME, NAME_REMEDY),
    "locales": lambda part: part.names(LOCALE, LOCALE_REMEDY),
    "carries": lambda part: part.names(_FIELD, "Write the name of a field as its schema has it."),
    "on_leave": lambda part: part.one_of(OnLeave),
}
