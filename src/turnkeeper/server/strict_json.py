"""Reading a body that is JSON, and telling its sender what is wrong with it."""

from typing import Any

from turnkeeper.errors import MalformedJson
from turnkeeper.model.strict_json import NestedTooDeep, NotStrictJson, NumberTooLarge, read_strictly


def read_json(body: bytes, *, most_depth: int) -> Any:
    """Raises MalformedJson, which says what is wrong and never what was sent."""
    if not body.strip():
        raise MalformedJson("The body is empty. Send a JSON object.")
    try:
        return read_strictly(body, most_depth=most_depth)
    except NestedTooDeep as fault:
        raise MalformedJson(f"The body {fault.reason}.", limit_depth=most_depth) from None
    except NumberTooLarge as fault:
        raise MalformedJson(f"The body {fault.reason}. Send it as a string.") from None
    except NotStrictJson as fault:
        raise MalformedJson(f"The body {fault.reason}.") from None
