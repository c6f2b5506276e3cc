"""What schemathesis checks on top of its own checks: hooks that `st run` loads into its own process."""

from typing import Any

import schemathesis
from schemathesis import Case, CheckContext, Response

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
    "should be a valid integer",  # 1.0 is a whole number to JSON Schema.
    "is true or false, not",  # What a value may be depends on the key in the address.
    "is a list of",
    "is a number",
    "is a text",
    "is a whole number from",
    "is one of auto, rules, model",
    "lies between 0 and 1",
)
"""Rules about the shape of a request that JSON Schema cannot say, by what is told of a breach."""


@schemathesis.check
def nothing_of_the_right_shape_is_called_misshapen(ctx: CheckContext, response: Response, case: Case[Any]) -> None:
    """The document promises that such a request is understood: then nothing about its shape is to be complained of."""
    if case.meta is None or not case.meta.generation.mode.is_positive or response.status_code < 400:
        return
    problem = response.json()
    if problem["code"] not in SHAPE:
        return
    said = [detail["message"] for detail in problem.get("details", [])] or [problem["detail"]]
    assert all(any(rule in each for rule in UNSAYABLE) for each in said), f"{problem['code']}: {said}"
