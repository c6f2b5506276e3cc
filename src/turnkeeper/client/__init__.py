"""What programs outside of the server use to talk to it, and over a bus."""

import importlib
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import ExtraMissing

if TYPE_CHECKING:
    from turnkeeper.client.bus import Answer, BusClient, End
    from turnkeeper.client.carried import FileKeep, MemoryKeep, SessionKeep, SqliteKeep

__all__ = ["Answer", "BusClient", "End", "FileKeep", "MemoryKeep", "SessionKeep", "SqliteKeep"]

_HOMES = {
    **dict.fromkeys(("Answer", "BusClient", "End"), "turnkeeper.client.bus"),
    **dict.fromkeys(("FileKeep", "MemoryKeep", "SessionKeep", "SqliteKeep"), "turnkeeper.client.carried"),
}


def __getattr__(name: str) -> Any:
    """Loaded when first asked for: a websocket needs the extra `bus`. Raises ExtraMissing without it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as missing:
        raise ExtraMissing("bus", str(missing.name)) from None
