"""What schemathesis asks for and checks on top of its own: hooks that `st run` loads into its own process."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, HookContext, Response

KNOWN: Mapping[str, Any] = json.loads(os.environ.get("TURNKEEPER_KNOWN", "{}"))
"""What is there, by the name under which it is asked for: in `paths` by a pattern of operations, `queries`, `bodies`.

What is `kept` stays to be asked for: an operation that `ends` things is given another one of its kind.
"""

SHAPE = {"envelope_invalid", "malformed_json", "malformed_request", "media_type_not_supported", "schema_invalid"}
"""Complaints that speak of how a request is written, and not of what it asks for."""

UNSAYABLE = (
    "must equal",  # Two places that hold the same request id differ.
    "leave it out to begin with the first",  # The same of other lists.
    "is not an entry of this audit",  # A cursor of the right shape that nobody gave out.
    "must be an agent of a living node",  # What lives at the moment is not known to a document.
    "must be a pack that was pushed",  # Nor which packs there are,
    "must name an open session",  # Nor which sessions are open,
    "names a session that knows nothing yet",  # or know something.
    "must name the user whose address this is",  # Nor who is known.
    "needs the project_id that it belongs to",  # Unless it is null, which is as good as left out.
    "for custody 'client' only",  # The same: `any` is as good as left out.
    "needs the session_id of the waiting run",  # And so is false for `reset`.
    "a session in client custody has no waiting runs",  # Null is as good as left out here, too.
    "does not fit into 64 bits",  # Free JSON, wherever it stands, has the numbers of every language.
    "must be a moment to come",  # Nor what time it is.
    "must be an address with http",  # Of which it says more than a pattern could: no password, no odd port.
    "needs a mail server",  # What this server is set up for is not known to the document.
    "must be the address of a mailbox",  # What an address looks like depends on the channel of the binding.
    "must be a phone number",
    "a binding that asks for a signature needs a secret",  # Those that it has already count, too.
    "must be at most 31536000",  # One of the limits has a bound of its own.
    "must be 'whsec_' and a key in base64",  # What a secret looks like depends on what the binding asks for.
    "a Unit needs an id, a source, a chunk and a topic",  # What a unit says besides is not known to its change.
    "a Procedure has a procedure and no claim",
    "come together or not at all",
    "belongs to its triple and lies between 0 and 1",
    "at least one phase scope",
    "is true or false, not",  # What a value may be depends on the key in the address.
    "is a list of",
    "is a number",
    "is a text",
    "is a whole number from",
    "is one of auto, rules, model",
    "lies between 0 and 1",
)
"""Rules about the shape of a request that JSON Schema cannot say, by what is told of a breach."""

_asked: Counter[str] = Counter()


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Every other request that is made up as the document has it asks for what is there."""
    if re.search(KNOWN.get("ends", "^$"), case.operation.label):
        spare = {name: id for name, id in KNOWN["spare"].items() if case.path_parameters.get(name) in KNOWN["kept"]}
        case.path_parameters.update(spare)
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    _asked[case.operation.label] += 1
    if _asked[case.operation.label] % 2:
        for pattern, ids in KNOWN.get("paths", {}).items():
            if re.search(pattern, case.operation.label):
                case.path_parameters.update({name: ids[name] for name in case.path_parameters if name in ids})
        case.query.update({name: known for name, known in KNOWN.get("queries", {}).items() if name in case.query})
        if isinstance(case.body, dict):
            case.body = _with_known(case.body, KNOWN.get("bodies", {}))


def _with_known(value: Any, ids: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {
            name: ids[name] if name in ids and type(part) is type(ids[name]) else _with_known(part, ids)
            for name, part in value.items()
        }
    return [_with_known(part, ids) for part in value] if isinstance(value, list) else value


@schemathesis.check
def nothing_of_the_right_shape_is_called_misshapen(ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """The document promises that such a request is understood: then nothing about its shape is to be complained of."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code < 400:
        return
    problem = response.json()
    if problem["code"] not in SHAPE:
        return
    said = [detail["message"] for detail in problem.get("details", [])] or [problem["detail"]]
    if _holds_a_whole_float(case.body):
        said = [each for each in said if "should be a valid integer" not in each]
    assert all(any(rule in each for rule in UNSAYABLE) for each in said), f"{problem['code']}: {said}"


def _holds_a_whole_float(value: Any) -> bool:
    """1.0 is a whole number to JSON Schema; here it is none."""
    if isinstance(value, dict):
        return any(map(_holds_a_whole_float, value.values()))
    if isinstance(value, list):
        return any(map(_holds_a_whole_float, value))
    return isinstance(value, float) and value.is_integer()
