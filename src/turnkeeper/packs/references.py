"""Whether everything that one file names is there in another."""

import re
from collections.abc import Iterable

from turnkeeper.intent.rendering import Variable, variables_of
from turnkeeper.model.control import VARIABLES
from turnkeeper.model.pack import ANY, UNKNOWN, Intent
from turnkeeper.packs.faults import PackFaultCode, meant_instead, shown
from turnkeeper.packs.intents import WrittenIntent
from turnkeeper.packs.parts import Part
from turnkeeper.packs.responses import WrittenResponse
from turnkeeper.packs.schemas import WrittenSchema
from turnkeeper.packs.written import WrittenPack

_WORD = re.compile(r"(\w[\w-]*(\.\w[\w-]*)*)?")


def check_references(pack: WrittenPack) -> None:
    for written, intent in pack.read_intents():
        _check_rules(pack, written, intent)
        _check_carried(pack, written, intent)
        _check_locales(pack, written.part.inside("locales"), intent.locales)
    for schema in pack.schemas:
        _check_schema(pack, schema)
    for response in pack.responses:
        _check_response(pack, response)


def _check_rules(pack: WrittenPack, written: WrittenIntent, intent: Intent) -> None:
    rules = written.part.inside("rules")
    for at in range(len(rules.value) if isinstance(rules.value, list) else 0):
        state = rules.inside(at).inside("state")
        if isinstance(state.value, str) and pack.lacks_state(intent.code, state.value):
            _refuse_state(state, intent, state.value)


def _check_carried(pack: WrittenPack, written: WrittenIntent, intent: Intent) -> None:
    own = pack.fields(intent.code)
    for at, name in enumerate(intent.carries if pack.knows_fields(intent.code) else ()):
        if name not in own:
            message = f"{intent.code} has no field {shown(name)} to carry it to. {_fields(name, own)}"
            written.part.inside("carries").inside(at).refuse(PackFaultCode.UNKNOWN_FIELD, message)


def _check_schema(pack: WrittenPack, schema: WrittenSchema) -> None:
    if not _knows_intent(pack, schema.part, schema.intent, "Rename the file, or declare the intent."):
        return
    intent = pack.intent(schema.intent)
    if intent and schema.state is not None and pack.lacks_state(intent.code, schema.state):
        _refuse_state(schema.part, intent, schema.state)


def _check_response(pack: WrittenPack, written: WrittenResponse) -> None:
    response, part = written.response, written.part
    _check_locales(pack, part.inside("locale"), (response.locale,) if response.locale else ())
    _check_variables(pack, written)
    if response.intent == UNKNOWN:
        if response.state not in (ANY, UNKNOWN):
            message = "While no intent is known there is no state. Leave `state` out."
            part.inside("state").refuse(PackFaultCode.UNKNOWN_STATE, message)
        return
    if response.intent != ANY:
        _knows_intent(pack, part.inside("intent"), response.intent, "Correct it, or declare the intent.")
    _check_response_state(pack, part.inside("state"), response.intent, response.state)


def _check_response_state(pack: WrittenPack, part: Part, code: str, state: str) -> None:
    if state in (ANY, UNKNOWN):
        return
    intent = pack.intent(code)
    if intent and pack.lacks_state(code, state):
        _refuse_state(part, intent, state)
    states = {each.code for _, every in pack.read_intents() for each in every.states}
    if code == ANY and state not in states and not pack.lacks_intents:
        message = f"No intent has a state {shown(state)}. {meant_instead(state, states)}"
        part.refuse(PackFaultCode.UNKNOWN_STATE, message)


def _check_variables(pack: WrittenPack, written: WrittenResponse) -> None:
    response, part = written.response, written.part
    code = None if response.intent == ANY else response.intent
    for key, text in (("text", response.text), ("hint", response.hint)):
        for variable in variables_of(text or ""):
            _check_variable(pack, part.inside(key), variable, code)


def _check_variable(pack: WrittenPack, part: Part, variable: Variable, code: str | None) -> None:
    if not variable.path:
        message = f"{_said_of_braces(part, variable)} A brace that shall stay is doubled: {{{{ and }}}}."
        part.refuse(PackFaultCode.UNFIT_VARIABLE, message, at_letter=variable.at)
        return
    first, *rest = variable.path
    if first == "params":
        is_known = len(rest) == 1
    elif first in VARIABLES:
        is_known = not rest
    else:
        is_known = ".".join(variable.path) in pack.fields(code) or not pack.knows_fields(code)
    if not is_known:
        known = {*pack.fields(code), *(VARIABLES - {"params"}), "params.NAME"}
        message = f"Nothing fills in {shown(variable.written)}. {meant_instead('.'.join(variable.path), known)}"
        part.refuse(PackFaultCode.UNKNOWN_VARIABLE, message, at_letter=variable.at)


def check_certainty(pack: WrittenPack) -> None:
    """Warn of a text that names what may have no answer: it then reads as "We write to . Shall I book it?"."""
    uncertain = {written.code: pack.uncertain_fields(written.code) for written in pack.intents}
    for written in pack.responses:
        for variable in variables_of(written.response.text or ""):
            name = ".".join(variable.path)
            if name in uncertain.get(written.response.intent, ()):
                message = (
                    f"{shown(variable.written)} may be empty: {name} is not required. Require it in the schema, or "
                    "leave it out of the text."
                )
                part = written.part.inside("text")
                part.refuse(PackFaultCode.MAY_BE_EMPTY, message, is_warning=True, at_letter=variable.at)


def _said_of_braces(part: Part, variable: Variable) -> str:
    if variable.written == "{":
        begun = _WORD.match(str(part.value), variable.at + 1)[0]  # type: ignore[index]
        return f"The brace of {shown(f'{{{begun}')} is not closed. Write {{{begun or 'party_size'}}}."
    if variable.written == "}":
        return "This brace closes nothing. Open it before the name, or take it away."
    return (
        f"{shown(variable.written)} names nothing. Write a name, as in {{party_size}} or {{params.x}}, without "
        "brackets, ! or :."
    )


def _check_locales(pack: WrittenPack, part: Part, locales: Iterable[str]) -> None:
    known = {each.lower() for each in pack.manifest.locales}
    for locale in locales:
        if locale.lower() not in known and locale.lower().split("-")[0] not in known:
            message = (
                f"The pack does not speak {shown(locale)}. Add it to `locales` in pack.yaml, or take it away here."
            )
            part.refuse(PackFaultCode.UNKNOWN_LOCALE, message)


def _knows_intent(pack: WrittenPack, part: Part, code: str, remedy: str) -> bool:
    if not pack.lacks_intent(code):
        return True
    message = f"There is no intent {shown(code)}. {meant_instead(code, pack.usable_codes)} {remedy}"
    part.refuse(PackFaultCode.UNKNOWN_INTENT, message)
    return False


def _refuse_state(part: Part, intent: Intent, state: str) -> None:
    known = [each.code for each in intent.states]
    message = f"{intent.code} has no state {shown(state)}. {meant_instead(state, known)} Correct it, or add the state."
    part.refuse(PackFaultCode.UNKNOWN_STATE, message)


def _fields(name: str, known: frozenset[str]) -> str:
    return f"{meant_instead(name, known)} Correct it, or add the field to the schema."
