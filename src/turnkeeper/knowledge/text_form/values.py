"""What a field takes from its argument, or why it does not take it."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

from turnkeeper.knowledge.text_form.faults import FaultCode, Refused, shown
from turnkeeper.knowledge.text_form.language import SCOPE_ALIASES, Takes
from turnkeeper.knowledge.text_form.statements import Argument
from turnkeeper.model.unit import LARGEST_COUNT, Act, Lifetime, PhaseScope, Relation, UnitRole

_WHOLE_NUMBER = re.compile(r"[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 100

Word = TypeVar("Word", bound=StrEnum)


def act_of(argument: Argument) -> Act:
    """Acts may be written in any case."""
    return _one_of(Act, FaultCode.INVALID_ACT_VALUE)(replace(argument, text=argument.text.lower()))


def _one_of(words: type[Word], code: FaultCode) -> Callable[[Argument], Word]:
    def read(argument: Argument) -> Word:
        try:
            return words(argument.text)
        except ValueError:
            known = ", ".join(words)
            message = f"{shown(argument.text)} is none of: {known}."
            raise Refused(code, message, column=argument.column) from None

    return read


def _acts(argument: Argument) -> tuple[Act, ...]:
    return tuple(act_of(item) for item in argument.items)


def _scopes(argument: Argument) -> tuple[PhaseScope, ...]:
    known = _one_of(PhaseScope, FaultCode.INVALID_PHASE_SCOPE)
    scopes: dict[PhaseScope, None] = {}
    for item in argument.items:
        scope = SCOPE_ALIASES.get(item.text) or known(item)
        if scope in scopes:
            message = f"{shown(item.text)} is {scope.value}, which is in the list already. Keep one of the two."
            raise Refused(FaultCode.INVALID_PHASE_SCOPE, message, column=item.column)
        scopes[scope] = None
    return tuple(scopes) or (PhaseScope.KNOWLEDGE,)


def _whole_number(argument: Argument) -> int:
    if _WHOLE_NUMBER.fullmatch(argument.text) and int(argument.text) <= LARGEST_COUNT:
        return int(argument.text)
    message = f"{shown(argument.text)} is no whole number from 0 to {LARGEST_COUNT}."
    raise Refused(FaultCode.INVALID_ARGUMENT_KIND, message, column=argument.column)


def _number(argument: Argument) -> float:
    number = _float(argument.text)
    if math.isfinite(number):
        return number
    message = f"{shown(argument.text)} is no number such as 0.9."
    raise Refused(FaultCode.INVALID_ARGUMENT_KIND, message, column=argument.column)


def _confidence(argument: Argument) -> float:
    number = _float(argument.text)
    if 0 <= number <= 1:
        return number
    message = f"{shown(argument.text)} is no number from 0 to 1."
    raise Refused(FaultCode.INVALID_CONFIDENCE_VALUE, message, column=argument.column)


def _float(text: str) -> float:
    """Only what is written in digits: float() itself would also take nan, 1_000 and the digits of every script."""
    return float(text) if len(text) <= _LONGEST_NUMBER and _NUMBER.fullmatch(text) else math.nan


def _text(argument: Argument) -> str:
    return argument.text


def _texts(argument: Argument) -> tuple[str, ...]:
    return tuple(item.text for item in argument.items)


READ: dict[Takes, Callable[[Argument], Any]] = {
    Takes.TEXT: _text,
    Takes.TEXTS: _texts,
    Takes.NUMBER: _number,
    Takes.WHOLE_NUMBER: _whole_number,
    Takes.CONFIDENCE: _confidence,
    Takes.ROLE: _one_of(UnitRole, FaultCode.INVALID_ROLE_VALUE),
    Takes.RELATION: _one_of(Relation, FaultCode.INVALID_RELATION_VALUE),
    Takes.ACTS: _acts,
    Takes.SCOPES: _scopes,
    Takes.LIFETIME: _one_of(Lifetime, FaultCode.INVALID_ARGUMENT_KIND),
}
"""Fields that take units are not here: they may hold references, which only the whole text can resolve."""
