"""The JSON Schemas of what we take and give, as we publish them."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

NAMES = ("envelope", "event", "run-context", "session-checkpoint", "frame", "error")


@cache
def schema(name: str) -> dict[str, Any]:
    """One of NAMES, draft 2020-12. Raises KeyError for any other name."""
    if name not in NAMES:
        raise KeyError(name)
    read: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return read
