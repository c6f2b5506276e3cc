"""Reading a full envelope: every fault in it at once, each at its place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import (
    ExtraMissing,
    MissingRequiredField,
    PackRefConflict,
    PackUnpinned,
    SchemaInvalid,
)
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.schemas import schema

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator, ValidationError

MOST_FAULTS = 50
DEFAULTED = "envelope_defaulted"
UNFIT = "must not hold a NUL character or half of a surrogate pair"
REQUIRED, PIN, FORM = "required", "pin", "form"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`rule` says which kind of fault it is; what stood there is never told."""

    pointer: str
    rule: str
    message: str

    @property
    def detail(self) -> dict[str, str]:
        return {"pointer": self.pointer, "rule": self.rule, "message": self.message}


def check_envelope(document: Mapping[str, Any], *, most_chars: int) -> None:
    """Raises MissingRequiredField, SchemaInvalid, PackUnpinned or PackRefConflict, with all faults in its details."""
    faults = [*_faults_of_texts(document, most_chars)]
    # What cannot be written as JSON cannot be validated either; the rest of it can.
    faults += _faults_of_schema(_cleaned(document) if faults else document)
    kinds = {fault.rule for fault in faults}
    details = [fault.detail for fault in faults[:MOST_FAULTS]]
    places = ", ".join(dict.fromkeys(fault.pointer for fault in faults[:8]))
    if REQUIRED in kinds:
        raise MissingRequiredField(places, details)
    if kinds - {PIN}:
        raise SchemaInvalid(places, details)
    if kinds:
        raise PackUnpinned(places, details)
    names = [ref.partition("@")[0] for ref in document["context_pack_refs"]]
    twice = [place for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise PackRefConflict(twice)


def with_defaults(document: Mapping[str, Any], trace_id: str, span_id: str) -> tuple[dict[str, Any], bool]:
    """The envelope with what is often left out, for callers that are read leniently; and whether anything was.

    It adds a trace of its own and the subject of a delegation; never a scope, a pack or a user.
    """
    filled = dict(document)
    if "trace" not in filled:
        filled["trace"] = {"trace_id": trace_id, "span_id": span_id}
    user = filled.get("user")
    if isinstance(user, dict) and isinstance(user.get("delegation"), dict):
        plain = {"auth_type": "oauth2", "subject": f"u:user:{user.get('user_id')}"}
        filled["user"] = {**user, "delegation": {**plain, **user["delegation"]}}
    return filled, filled != document


@cache
def _validator() -> "Draft202012Validator":
    try:
        from jsonschema_rs import Draft202012Validator
    except ModuleNotFoundError as missing:
        raise ExtraMissing("packs", str(missing.name)) from None
    return Draft202012Validator(schema("envelope"))


def _faults_of_schema(document: Mapping[str, Any]) -> Iterator[Fault]:
    for error in _validator().iter_errors(document):
        yield from _faults_of(error)


def _faults_of(error: "ValidationError") -> Iterator[Fault]:
    place = _pointer(error.instance_path)
    kind: Any = error.kind
    if kind.name == "required":
        yield Fault(pointer=f"{place}/{_part(kind.property)}", rule=REQUIRED, message="is required")
    elif kind.name == "additionalProperties":
        for name in kind.unexpected:
            yield Fault(pointer=f"{place}/{_part(name)}", rule="closed", message="is not known here")
    elif "context_pack_refs" in error.instance_path and kind.name == "pattern":
        yield Fault(pointer=place, rule=PIN, message="must name its exact version, such as helpdesk@1.4.0")
    else:
        yield Fault(pointer=place or "/", rule=kind.name, message=_message(kind, [*error.schema_path]))


def _message(kind: Any, path: list[Any]) -> str:
    """What is expected there, from the schema itself."""
    whole = schema("envelope")
    expected: Any = whole
    for step in path[:-1]:
        if isinstance(expected, dict) and "$ref" in expected:
            expected = whole["$defs"][expected["$ref"].rpartition("/")[2]]
        if step != "$ref":
            expected = expected[step]
    match kind.name:
        case "type":
            return f"must be a value of type {expected.get('type')}"
        case "enum":
            return f"must be one of {', '.join(expected.get('enum', ()))}"
        case "pattern" | "not":
            return f"must be {expected.get('description', 'of another form')}"
        case "exclusiveMinimum":
            return "must be more than 0"
        case "maximum":
            return f"must be at most {expected.get('maximum')}"
        case "minimum":
            return f"must be at least {expected.get('minimum')}"
        case "minItems" | "minLength":
            return "must not be empty"
        case "maxItems" | "maxLength":
            return f"is too long; at most {expected.get(kind.name)} are taken"
    return "does not fit the schema of envelopes"


def _faults_of_texts(document: Mapping[str, Any], most_chars: int) -> Iterator[Fault]:
    """What no schema says: how long a message may be, and which characters no store keeps."""
    said = document.get("input")
    message = said.get("message") if isinstance(said, Mapping) else None
    if isinstance(message, str) and len(message) > most_chars:
        yield Fault(pointer="/input/message", rule=FORM, message=f"is too long; at most {most_chars} characters")
    # Nearly every envelope is fine, and then nobody asks for the place of each text in it.
    if _is_plain(document):
        return
    for pointer, text in _texts(document, ""):
        if not is_plain_text(text):
            yield Fault(pointer=_readable(pointer), rule=FORM, message=UNFIT)


def _cleaned(value: Any) -> Any:
    """The same with a question mark for what no store keeps."""
    if isinstance(value, str):
        return _readable(value)
    if isinstance(value, Mapping):
        return {_readable(str(name)): _cleaned(each) for name, each in value.items()}
    return [_cleaned(each) for each in value] if isinstance(value, list | tuple) else value


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "?")


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return is_plain_text(value)
    if isinstance(value, Mapping):
        return all(is_plain_text(name) and _is_plain(each) for name, each in value.items())
    return all(_is_plain(each) for each in value) if isinstance(value, list | tuple) else True


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield place, name
            yield from _texts(each, f"{place}/{_part(name)}")
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _texts(each, f"{place}/{number}")


def _pointer(path: Any) -> str:
    return "".join(f"/{_part(part)}" for part in path)


def _part(part: Any) -> str:
    return str(part)[:100].replace("~", "~0").replace("/", "~1")
