"""Whether the regular expressions of rules can be used, each by itself and all of a pack together."""

from collections.abc import Iterator

from turnkeeper.intent.patterns import PatternUnfit, pattern_of_pack, work_of
from turnkeeper.model.pack import RuleKind
from turnkeeper.packs.faults import PackFaultCode
from turnkeeper.packs.intents import MOST_PATTERN_CHARS
from turnkeeper.packs.parts import Part
from turnkeeper.packs.written import WrittenPack

MOST_WORK = 20_000
"""So much takes a fifth of a second for the longest text that is looked at, whatever it says."""


def check_patterns(pack: WrittenPack) -> None:
    """Each pattern by itself is harmless; thousands of large ones would still make every message wait."""
    work = 0
    for part in _patterns(pack):
        fault = pattern_fault(part.value)
        work += 0 if fault else work_of(part.value)
        if work > MOST_WORK:
            fault = (
                "The patterns up to this one are too large together, and every message is held against all of them. "
                "Count less far in repeats such as {1,500}, or use CONTAINS for plain words."
            )
        if fault:
            part.refuse(PackFaultCode.UNFIT_PATTERN, fault)
        if work > MOST_WORK:
            return


def pattern_fault(pattern: str) -> str | None:
    """What is wrong with a pattern, and the remedy."""
    try:
        compiled = pattern_of_pack(pattern)
    except PatternUnfit as unfit:
        return str(unfit)
    if compiled.search("") is not None:
        return "This matches every message, the empty one too. Write what must be in the message."
    return None


def _patterns(pack: WrittenPack) -> Iterator[Part]:
    """As they were written, so that those of an intent with other faults are looked at, too."""
    for written in pack.intents:
        rules = written.part.inside("rules")
        for rule in rules.items() if isinstance(rules.value, list) else ():
            pattern = rule.inside("pattern")
            if rule.inside("type").value == RuleKind.REGEX and _can_be_read(pattern.value):
                yield pattern


def _can_be_read(pattern: object) -> bool:
    return isinstance(pattern, str) and bool(pattern.strip()) and len(pattern) <= MOST_PATTERN_CHARS
