"""Whether something is said twice, so that nobody could tell which of the two counts."""

from collections.abc import Iterator

from turnkeeper.model.pack import Intent, IntentRule, RuleKind
from turnkeeper.packs.faults import PackFaultCode, shown
from turnkeeper.packs.parts import Part, repeated
from turnkeeper.packs.written import WrittenPack


def check_repeats(pack: WrittenPack) -> None:
    _check_codes(pack)
    _check_schemas(pack)
    _check_responses(pack)
    _check_names(pack)
    _check_rules(pack)
    _check_examples(pack)


def _check_codes(pack: WrittenPack) -> None:
    written = ((each.code, each.part.inside("code")) for each in pack.intents)
    for code, again, first in repeated(written):
        message = f"{code} is declared in {_where(first)} already. Keep one of the two, or rename one."
        again.refuse(PackFaultCode.REPEATED_INTENT, message)
    for each, intent in pack.read_intents():
        for code, again, first in repeated(_states(each.part.inside("states"), intent)):
            message = f"The state {code} stands in line {first.line} already. Keep one of the two."
            again.refuse(PackFaultCode.REPEATED_STATE, message)


def _states(part: Part, intent: Intent) -> Iterator[tuple[str, Part]]:
    if isinstance(part.value, list) and len(part.value) == len(intent.states):
        yield from ((state.code, part.inside(at)) for at, state in enumerate(intent.states))


def _check_names(pack: WrittenPack) -> None:
    written = ((intent.name.casefold(), each.part.inside("name")) for each, intent in pack.read_intents())
    for _, again, first in repeated(written):
        message = f"The intent in {_where(first)} has this name, too. Tell them apart, or users cannot choose."
        again.warn(PackFaultCode.REPEATED_NAME, message)


def _check_schemas(pack: WrittenPack) -> None:
    for name, again, first in repeated((each.name, each.part) for each in pack.schemas):
        message = f"{first.file} is the schema of {name} already. Keep one of the two."
        again.refuse(PackFaultCode.REPEATED_SCHEMA, message)


def _check_responses(pack: WrittenPack) -> None:
    written = (((one.response.intent, one.response.state, one.response.locale), one.part) for one in pack.responses)
    for (intent, state, _), again, first in repeated(written):
        message = f"{intent}, {state} is answered in {_where(first)} already. Keep one, or give it another locale."
        again.refuse(PackFaultCode.REPEATED_RESPONSE, message)


def _check_rules(pack: WrittenPack) -> None:
    for rule, again, first in repeated(_rules(pack)):
        message = f"The rule in {_where(first)} is the same, priority {rule.priority}. Change one, or take it away."
        again.warn(PackFaultCode.REPEATED_RULE, message)


def _rules(pack: WrittenPack) -> Iterator[tuple[IntentRule, Part]]:
    """Rules as they match: case makes no difference, and neither does where they lead to."""
    for written, intent in pack.read_intents():
        part = written.part.inside("rules")
        if isinstance(part.value, list) and len(part.value) == len(intent.rules):
            for at, rule in enumerate(intent.rules):
                pattern = rule.pattern if rule.kind is RuleKind.REGEX else rule.pattern.casefold()
                yield IntentRule(kind=rule.kind, pattern=pattern, priority=rule.priority), part.inside(at)


def _check_examples(pack: WrittenPack) -> None:
    written = (
        (example.strip().casefold(), each.part.inside("examples").inside(at))
        for each, intent in pack.read_intents()
        for at, example in enumerate(intent.examples)
    )
    for example, again, first in repeated(written):
        message = f"{shown(example)} is an example in {_where(first)}, too. Keep it where it is meant."
        again.warn(PackFaultCode.REPEATED_EXAMPLE, message)


def _where(part: Part) -> str:
    return f"{part.file}, line {part.line},"
