"""Reading units from text: all of it is right, or none of it is taken and every fault is named."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from turnkeeper.knowledge.text_form.document import (
    Document,
    DocumentKind,
    Link,
    ObjectKind,
    Ref,
    Said,
    TextObject,
    children_by_parent,
)
from turnkeeper.knowledge.text_form.faults import Fault, FaultCode, Refused, clipped, refusal_of, shown
from turnkeeper.knowledge.text_form.language import (
    ALLOWED_IN,
    COMMANDS,
    ENDS,
    EVERY_FIELD,
    FIELDS,
    REQUIRED,
    SCALAR,
    TRIPLE,
    UNIT_FIELDS,
    Command,
    Parameter,
    Takes,
)
from turnkeeper.knowledge.text_form.statements import Argument, Statement, Written, statements_in
from turnkeeper.knowledge.text_form.values import READ, act_of
from turnkeeper.model.ids import UnitId
from turnkeeper.model.unit import Unit, UnitKind, UnitRole

MAX_CHARS = 1_000_000
_FRAME = re.compile(r"f[A-Za-z0-9_:-]*")


def parse_units(
    text: str, *, kind: DocumentKind = DocumentKind.CONTEXT, max_chars: int = MAX_CHARS
) -> tuple[Unit, ...]:
    """The units of a text, in their order. Raises UnitTextInvalid."""
    return parse_document(text, kind=kind, max_chars=max_chars).units


def parse_document(text: str, *, kind: DocumentKind = DocumentKind.MIXED, max_chars: int = MAX_CHARS) -> Document:
    """All that a text says. Raises UnitTextInvalid with its first fault of form, or with all faults of meaning."""
    if len(text) > max_chars:
        message = f"The text has {len(text)} characters; at most {max_chars} are read. Cut it into several."
        raise refusal_of([Fault(code=FaultCode.TEXT_TOO_LONG, line=1, column=1, message=message)])
    reader = _Reader(kind, list(statements_in(text)))
    return reader.document()


@dataclass(slots=True, kw_only=True)
class _Thing:
    """An object while it is being read. What its constructor should have made is unknown when that has a fault."""

    kind: ObjectKind | None
    statement: Statement
    said: tuple[Argument, ...] = ()
    arguments: tuple[Said, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    parents: list["_Thing"] = field(default_factory=list)
    origins: list["_Thing"] = field(default_factory=list)
    states: list[tuple[str, int, int]] = field(default_factory=list)
    name: str = ""


class _Reader:
    """Goes through the statements once, in order, and collects objects and faults."""

    def __init__(self, kind: DocumentKind, statements: list[Statement]) -> None:
        self._kind = kind
        self._statements = statements
        self._faults: list[Fault] = []
        self._things: dict[str, _Thing] = {}
        self._made_in_line: dict[str, int] = {}
        self._first_line: dict[str, int] = {}
        self._unit_ids: dict[str, int] = {}
        self._links: list[tuple[str, tuple[Any, ...]]] = []
        self._with_result: set[str] = set()

    def document(self) -> Document:
        for statement in self._statements:
            command = COMMANDS.get(statement.command)
            if command is None or command.makes is not None:
                self._made_in_line.setdefault(statement.name, statement.line)
        for statement in self._statements:
            self._take(statement)
        self._look_for_what_is_missing()
        if self._faults:
            raise refusal_of(self._faults)
        return self._built()

    def _take(self, statement: Statement) -> None:
        first = self._first_line.setdefault(statement.name, statement.line)
        if first != statement.line:
            self._fault(
                FaultCode.DUPLICATE_STATEMENT_ID,
                statement,
                f"@{clipped(statement.name)} is the id of line {first} already. Give every statement an id of its own.",
            )
            return
        command = COMMANDS.get(statement.command)
        if command is None:
            known = ", ".join(COMMANDS)
            message = f"There is no command {shown(statement.command)}. There are: {known}."
            self._fault(FaultCode.UNKNOWN_COMMAND, statement, message, column=statement.command_column)
        elif statement.command not in ALLOWED_IN[self._kind]:
            message = (
                f"{statement.command} has no place in {_a(self._kind)} document. "
                "Take it out, or read the text as a mixed document."
            )
            self._fault(FaultCode.COMMAND_NOT_ALLOWED, statement, message, column=statement.command_column)
        elif len(statement.arguments) != len(command.parameters):
            names = " ".join(parameter.name for parameter in command.parameters)
            message = (
                f"{statement.command} takes {len(command.parameters)} arguments ({names}), "
                f"not {len(statement.arguments)}. Put text with spaces in quotes."
            )
            self._fault(FaultCode.INVALID_ARGUMENT_COUNT, statement, message, column=statement.command_column)
        else:
            self._take_command(statement, command)
            return
        if command is None or command.makes is not None:
            # Its name is known, so that one fault is not told again by every statement that refers to it.
            self._things[statement.name] = _Thing(kind=None, statement=statement)

    def _take_command(self, statement: Statement, command: Command) -> None:
        faults_before = len(self._faults)
        said: list[Any] = []
        for parameter, argument in zip(command.parameters, statement.arguments, strict=True):
            try:
                said.append(self._argument(statement.command, parameter, argument))
            except Refused as refused:
                self._refuse(statement, refused)
        is_sound = len(self._faults) == faults_before
        if command.makes is not None:
            thing = _Thing(kind=command.makes, statement=statement, said=statement.arguments, arguments=tuple(said))
            self._things[statement.name] = thing
            if is_sound and thing.kind is ObjectKind.UNIT:
                self._note_unit(statement, *said)
            return
        if not is_sound or any(isinstance(part, _Thing) and part.kind is None for part in said):
            return
        try:
            self._take_about(statement, said)
        except Refused as refused:
            self._refuse(statement, refused)

    def _take_about(self, statement: Statement, said: list[Any]) -> None:
        """What is said about an object that is there."""
        thing: _Thing = said[0]
        match statement.command:
            case "set":
                self._set(thing, statement)
                return
            case "parent":
                thing.parents.append(said[1])
                return
            case "derived_from":
                thing.origins.append(said[1])
                return
            case "result":
                self._with_result.add(said[1].statement.name)
            case "status" | "fail" | "deactivate":
                state = {"fail": "failed", "deactivate": "deactivated"}.get(statement.command, said[1])
                thing.states.append((state, statement.line, statement.arguments[1].column))
        self._links.append((statement.command, tuple(said)))

    def _argument(self, command: str, parameter: Parameter, argument: Argument) -> Any:
        if argument.written not in parameter.written:
            wanted = " or ".join(sorted(parameter.written))
            raise Refused(
                FaultCode.INVALID_ARGUMENT_KIND,
                f"{parameter.name} of {command} is {wanted}, not {argument.written}.",
                column=argument.column,
                field=parameter.name,
            )
        if argument.written is Written.REFERENCE and parameter.refers_to:
            return self._resolved(argument, parameter.refers_to)
        if parameter.is_frame:
            return self._frame(argument)
        if argument.written is Written.LIST and parameter.refers_to:
            return tuple(self._listed(item, parameter) for item in argument.items)
        if parameter.may_be and argument.text not in parameter.may_be:
            raise Refused(
                FaultCode.INVALID_ARGUMENT_KIND,
                f"{parameter.name} of {command} is one of {', '.join(parameter.may_be)}; not {shown(argument.text)}.",
                column=argument.column,
                field=parameter.name,
            )
        if command == ObjectKind.INTENT and parameter.name == "act":
            return act_of(argument)
        return argument.text

    def _listed(self, item: Argument, parameter: Parameter) -> _Thing:
        if item.written is not Written.REFERENCE:
            message = f"{parameter.name} is a list of references such as $candidate1; {shown(item.text)} is none."
            raise Refused(FaultCode.INVALID_ARGUMENT_KIND, message, column=item.column, field=parameter.name)
        return self._resolved(item, parameter.refers_to)

    def _resolved(self, argument: Argument, kinds: frozenset[ObjectKind]) -> _Thing:
        thing = self._things.get(argument.text)
        if thing is None:
            raise self._unresolved(argument)
        if thing.kind is not None and thing.kind not in kinds:
            wanted = ", ".join(sorted(kinds))
            message = f"{_dollar(argument)} is {_a(thing.kind)}. What can stand here: {wanted}."
            raise Refused(FaultCode.INVALID_ARGUMENT_KIND, message, column=argument.column)
        return thing

    def _frame(self, argument: Argument) -> Ref:
        thing = self._things.get(argument.text)
        if thing is not None and thing.kind is not None:
            message = f"{_dollar(argument)} is {_a(thing.kind)} of this text. A frame lies outside of it, such as $f1."
            raise Refused(FaultCode.INVALID_ARGUMENT_KIND, message, column=argument.column, field="frame")
        if thing is None and (argument.text in self._made_in_line or not _FRAME.fullmatch(argument.text)):
            raise self._unresolved(argument, hint=" A frame outside of this text is called $f... or $frame-....")
        return Ref(name=argument.text)

    def _unresolved(self, argument: Argument, *, hint: str = "") -> Refused:
        later = self._made_in_line.get(argument.text)
        if later is not None:
            return Refused(
                FaultCode.CONSTRUCTOR_REQUIRED_FIRST,
                f"{_dollar(argument)} is made in line {later}. Move this statement below it.{hint}",
                column=argument.column,
            )
        line = self._first_line.get(argument.text)
        what = "Nothing in this text has that name" if line is None else f"Line {line} of that name makes no object"
        message = f"{_dollar(argument)} refers to nothing. {what}; correct it, or make the object first.{hint}"
        return Refused(FaultCode.UNRESOLVED_REFERENCE, message, column=argument.column)

    def _note_unit(self, statement: Statement, kind: str, unit_id: str) -> None:
        if not unit_id:
            message = "The id of a unit is empty. Give it one, such as session::t1::unit-000."
            refused = Refused(
                FaultCode.MISSING_REQUIRED_FIELD, message, column=statement.arguments[1].column, field="id"
            )
            self._refuse(statement, refused)
            return
        first = self._unit_ids.setdefault(unit_id, statement.line)
        if first != statement.line:
            message = f"The unit {shown(unit_id)} is in line {first} already. Give each unit an id of its own."
            refused = Refused(FaultCode.DUPLICATE_UNIT_ID, message, column=statement.arguments[1].column, field="id")
            self._refuse(statement, refused)

    def _set(self, thing: _Thing, statement: Statement) -> None:
        _, named, argument = statement.arguments
        name = named.text
        assert thing.kind is not None
        takes = FIELDS[thing.kind].get(name)
        if takes is None:
            code = FaultCode.INVALID_FIELD_FOR_OBJECT if name in EVERY_FIELD else FaultCode.UNKNOWN_FIELD
            known = ", ".join(FIELDS[thing.kind]) or "none"
            message = f"{_a(thing.kind).capitalize()} has no field {shown(name)}. Its fields: {known}."
            raise Refused(code, message, column=named.column, field=clipped(name))
        if name in thing.places:
            message = f"{name} was set in line {thing.places[name][0]} already. Keep one of the two."
            raise Refused(FaultCode.REPEATED_FIELD, message, column=named.column, field=name)
        # Noted before it is looked at: a field with a fault is not missing as well.
        thing.places[name] = (statement.line, argument.column)
        try:
            thing.values[name] = self._value(name, takes, argument)
        except Refused as refused:
            refused.field = name
            raise

    def _value(self, name: str, takes: Takes, argument: Argument) -> Any:
        if takes.is_list != (argument.written is Written.LIST):
            wanted = f"{takes.value}, in brackets" if takes.is_list else f"{takes.value}, not a list"
            raise Refused(FaultCode.INVALID_ARGUMENT_KIND, f"{name} takes {wanted}.", column=argument.column)
        if takes in (Takes.UNIT, Takes.UNITS):
            ids = [self._unit_named(item) for item in (argument.items if takes.is_list else (argument,))]
            return tuple(ids) if takes.is_list else ids[0]
        for part in argument.items if takes.is_list else (argument,):
            if part.written not in SCALAR:
                self._resolved(part, frozenset(ObjectKind))
                message = f"{name} takes {takes.value}, not a reference. Put {_dollar(part)} in quotes if it is meant."
                raise Refused(FaultCode.INVALID_ARGUMENT_KIND, message, column=part.column)
        return READ[takes](argument)

    def _unit_named(self, argument: Argument) -> str | _Thing:
        if argument.written is not Written.REFERENCE:
            return argument.text
        return self._resolved(argument, frozenset({ObjectKind.UNIT}))

    def _look_for_what_is_missing(self) -> None:
        for thing in self._things.values():
            if thing.kind is None:
                continue
            for name in REQUIRED.get(thing.kind, ()):
                if name not in thing.places:
                    self._missing(thing, name)
            self._look_at_states(thing)
            if thing.kind is ObjectKind.UNIT:
                self._look_at_unit(thing)
            elif thing.kind is ObjectKind.RESULT and thing.statement.name not in self._with_result:
                message = (
                    f"No branch has this result. Add a line: @... result $branch ${clipped(thing.statement.name)}."
                )
                self._fault(FaultCode.MISSING_REQUIRED_FIELD, thing.statement, message, field="result")
        needed = {DocumentKind.CONTEXT: ObjectKind.UNIT, DocumentKind.INTENT: ObjectKind.INTENT}.get(self._kind)
        is_bare = not self._statements and self._kind is DocumentKind.CONTEXT
        if needed and not is_bare and not any(thing.kind in (needed, None) for thing in self._things.values()):
            message = f"{_a(self._kind).capitalize()} document has at least one {needed}. Add one."
            place = self._statements[0] if self._statements else _NOWHERE
            self._fault(FaultCode.MISSING_REQUIRED_FIELD, place, message, field=needed.value)

    def _look_at_states(self, thing: _Thing) -> None:
        # What is set is where it begins, wherever in the text it is set.
        begins_as = thing.values.get("state" if thing.kind is ObjectKind.SEED else "status")
        end = begins_as if begins_as in ENDS else None
        for state, line, column in thing.states:
            if end is not None:
                message = (
                    f"@{clipped(thing.statement.name)} is {end} already and cannot become {shown(state)}. "
                    "Take out one of the two."
                )
                code = FaultCode.INVALID_STATUS_TRANSITION
                self._faults.append(Fault(code=code, line=line, column=column, message=message))
            elif state in ENDS:
                end = state

    def _look_at_unit(self, thing: _Thing) -> None:
        for name in REQUIRED[ObjectKind.UNIT]:
            if thing.values.get(name) == "":
                message = f"{name} is empty. Say what it is."
                self._fault_at(FaultCode.MISSING_REQUIRED_FIELD, thing, name, message)
        role = thing.values.get("role")
        content = "procedure" if role is UnitRole.PROCEDURE else "claim"
        given = [name for name in ("claim", "procedure") if name in thing.places]
        if len(given) == 2:
            later = max(given, key=lambda name: thing.places[name])
            message = f"A unit has a claim or a procedure, not both. Keep the {content}."
            self._fault_at(FaultCode.CLAIM_AND_PROCEDURE_CONFLICT, thing, later, message)
        elif not given or (role is not None and content not in given):
            self._missing(thing, content)
        parts = [name for name in TRIPLE if name in thing.places]
        if parts and len(parts) < len(TRIPLE):
            lost = ", ".join(name for name in TRIPLE if name not in parts)
            message = f"Subject, relation and object come together. Set {lost} as well, or none of them."
            self._fault_at(FaultCode.INCOMPLETE_SYMBOLIC_FACT, thing, parts[0], message)
        if "confidence" in thing.places and len(parts) < len(TRIPLE):
            message = f"confidence says how sure a triple is. Set {', '.join(TRIPLE)} as well, or leave it out."
            self._fault_at(FaultCode.INVALID_CONFIDENCE_VALUE, thing, "confidence", message)

    def _missing(self, thing: _Thing, name: str) -> None:
        statement = thing.statement
        message = (
            f"@{clipped(statement.name)} has no {name}. Add a line: @... set ${clipped(statement.name)} {name} ..."
        )
        self._fault(FaultCode.MISSING_REQUIRED_FIELD, statement, message, field=name)

    def _refuse(self, statement: Statement, refused: Refused) -> None:
        self._fault(refused.code, statement, refused.message, column=refused.column, field=refused.field)

    def _fault(
        self,
        code: FaultCode,
        statement: Statement,
        message: str,
        *,
        column: int | None = None,
        field: str | None = None,
    ) -> None:
        place = statement.column if column is None else column
        self._faults.append(Fault(code=code, line=statement.line, column=place, field=field, message=message))

    def _fault_at(self, code: FaultCode, thing: _Thing, name: str, message: str) -> None:
        line, column = thing.places[name]
        self._faults.append(Fault(code=code, line=line, column=column, field=name, message=message))

    def _built(self) -> Document:
        counts: dict[ObjectKind, int] = {}
        for thing in self._things.values():
            assert thing.kind is not None
            number = counts[thing.kind] = counts.get(thing.kind, 0) + 1
            thing.name = f"k{number}" if thing.kind is ObjectKind.UNIT else f"{thing.kind.value}{number}"
        unit_things = [thing for thing in self._things.values() if thing.kind is ObjectKind.UNIT]
        return Document(
            units=_with_children(unit_things),
            objects=tuple(_object(thing) for thing in self._things.values() if thing.kind is not ObjectKind.UNIT),
            links=tuple(Link(command=command, arguments=_arguments(said)) for command, said in self._links),
        )


_NOWHERE = Statement(name="", command="", arguments=(), line=1, column=1, command_column=1)


def _with_children(things: list[_Thing]) -> tuple[Unit, ...]:
    """Who names no children of its own has those that name it as a parent."""
    units = tuple(_unit(thing) for thing in things)
    children = children_by_parent(units)
    return tuple(
        unit if "childUnitIds" in thing.values else replace(unit, child_ids=children.get(unit.id, ()))
        for unit, thing in zip(units, things, strict=True)
    )


def _unit(thing: _Thing) -> Unit:
    kind, unit_id = thing.said
    values = {UNIT_FIELDS[name].attribute: value for name, value in thing.values.items()}
    for name in ("parent_ids", "derived_from_ids", "child_ids"):
        values[name] = _ids(values.get(name, ()))
    values["parent_ids"] += _ids(thing.parents)
    values["derived_from_ids"] += _ids(thing.origins)
    if "supersedes" in values:
        (values["supersedes"],) = _ids([values["supersedes"]])
    return Unit(id=UnitId(unit_id.text), kind=UnitKind(kind.text), **values)


def _ids(named: Iterable[str | _Thing]) -> tuple[UnitId, ...]:
    return tuple(UnitId(one if isinstance(one, str) else one.said[1].text) for one in named)


def _object(thing: _Thing) -> TextObject:
    assert thing.kind is not None
    fields = tuple((name, thing.values[name]) for name in FIELDS[thing.kind] if name in thing.values)
    return TextObject(name=thing.name, kind=thing.kind, arguments=_arguments(thing.arguments), fields=fields)


def _arguments(said: Iterable[Any]) -> tuple[Said, ...]:
    return tuple(
        tuple(Ref(name=thing.name) for thing in part)
        if isinstance(part, tuple)
        else Ref(name=part.name)
        if isinstance(part, _Thing)
        else part
        for part in said
    )


def _a(kind: StrEnum) -> str:
    return f"{'an' if kind.value[0] in 'aeiou' else 'a'} {kind.value}"


def _dollar(argument: Argument) -> str:
    return f"${clipped(argument.text)}"
