"""The JSON Schemas of what we take and give, as we publish them."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

NAMES = ("envelope", "event", "run-context", "session-checkpoint", "frame", "error")


def whole(name: str) -> dict[str, Any]:
    """The same with its parts where they are used, for documents in which a reference would lead elsewhere."""
    document = schema(name)
    parts = document.get("$defs", {})

    def put_in(value: Any) -> Any:
        if isinstance(value, dict) and "$ref" in value:
            return put_in(parts[value["$ref"].rpartition("/")[2]])
        if isinstance(value, dict):
            return {key: put_in(each) for key, each in value.items() if key not in ("$defs", "$schema", "$id")}
        return [put_in(each) for each in value] if isinstance(value, list) else value

    filled: dict[str, Any] = put_in(document)
    return filled


@cache
def schema(name: str) -> dict[str, Any]:
    """One of NAMES, draft 2020-12. Raises KeyError for any other name."""
    if name not in NAMES:
        raise KeyError(name)
    read: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return read
