"""What can be wrong in the text of units, each with a stable code and the place where it stands."""

from dataclasses import asdict, dataclass
from enum import StrEnum

from turnkeeper.errors import UnitTextInvalid

MOST_SHOWN_CHARS = 40
MOST_FAULTS = 1000


class FaultCode(StrEnum):
    """A released code never changes. The last four are of our own making."""

    INVALID_STATEMENT_ID = "INVALID_STATEMENT_ID"
    MALFORMED_LINE = "MALFORMED_LINE"
    UNKNOWN_COMMAND = "UNKNOWN_COMMAND"
    INVALID_ARGUMENT_COUNT = "INVALID_ARGUMENT_COUNT"
    INVALID_ARGUMENT_KIND = "INVALID_ARGUMENT_KIND"
    DUPLICATE_STATEMENT_ID = "DUPLICATE_STATEMENT_ID"
    UNRESOLVED_REFERENCE = "UNRESOLVED_REFERENCE"
    CONSTRUCTOR_REQUIRED_FIRST = "CONSTRUCTOR_REQUIRED_FIRST"
    UNKNOWN_FIELD = "UNKNOWN_FIELD"
    INVALID_FIELD_FOR_OBJECT = "INVALID_FIELD_FOR_OBJECT"
    MISSING_REQUIRED_FIELD = "MISSING_REQUIRED_FIELD"
    INVALID_ACT_VALUE = "INVALID_ACT_VALUE"
    INVALID_ROLE_VALUE = "INVALID_ROLE_VALUE"
    INVALID_RELATION_VALUE = "INVALID_RELATION_VALUE"
    INVALID_PHASE_SCOPE = "INVALID_PHASE_SCOPE"
    INCOMPLETE_SYMBOLIC_FACT = "INCOMPLETE_SYMBOLIC_FACT"
    CLAIM_AND_PROCEDURE_CONFLICT = "CLAIM_AND_PROCEDURE_CONFLICT"
    INVALID_CONFIDENCE_VALUE = "INVALID_CONFIDENCE_VALUE"
    INVALID_STATUS_TRANSITION = "INVALID_STATUS_TRANSITION"
    REPEATED_FIELD = "REPEATED_FIELD"
    DUPLICATE_UNIT_ID = "DUPLICATE_UNIT_ID"
    COMMAND_NOT_ALLOWED = "COMMAND_NOT_ALLOWED"
    TEXT_TOO_LONG = "TEXT_TOO_LONG"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Line and column count from 1; carriage returns are not counted."""

    code: FaultCode
    line: int
    column: int
    field: str | None = None
    message: str


class Refused(Exception):
    """Carries one fault to where its line is known."""

    def __init__(self, code: FaultCode, message: str, *, column: int, field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.column = column
        self.field = field


def refusal_of(faults: list[Fault]) -> UnitTextInvalid:
    """The error for these faults, in the order in which they stand in the text."""
    in_order = sorted(faults, key=lambda fault: (fault.line, fault.column))
    # A text of nothing but faults must not be answered with more than was sent.
    details = [{**asdict(fault), "code": fault.code.value} for fault in in_order[:MOST_FAULTS]]
    return UnitTextInvalid(details, count=len(faults))


def shown(text: str) -> str:
    """Somebody else's word inside a message: in quotes, and not all of it when it is long."""
    return repr(clipped(text))


def clipped(name: str) -> str:
    return name if len(name) <= MOST_SHOWN_CHARS else f"{name[:MOST_SHOWN_CHARS]}..."
