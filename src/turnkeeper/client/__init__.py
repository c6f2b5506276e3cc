"""What programs outside of the server use to talk to it, over HTTP and over a bus."""

import importlib
from typing import TYPE_CHECKING, Any

from turnkeeper.errors import ExtraMissing

if TYPE_CHECKING:
    from turnkeeper.client.bus import Answer, BusClient, End
    from turnkeeper.client.carried import FileKeep, MemoryKeep, SessionKeep, SqliteKeep
    from turnkeeper.client.carried_session import CarriedSession
    from turnkeeper.client.keeper import Turnkeeper
    from turnkeeper.client.pages import Page
    from turnkeeper.client.retrying import Retries
    from turnkeeper.client.sync import SyncTurnkeeper

__all__ = [
    "Answer",
    "BusClient",
    "CarriedSession",
    "End",
    "FileKeep",
    "MemoryKeep",
    "Page",
    "Retries",
    "SessionKeep",
    "SqliteKeep",
    "SyncTurnkeeper",
    "Turnkeeper",
]

_HOMES = {
    **dict.fromkeys(("Answer", "BusClient", "End"), ("bus", "bus")),
    **dict.fromkeys(("FileKeep", "MemoryKeep", "SessionKeep", "SqliteKeep"), ("carried", "client")),
    "CarriedSession": ("carried_session", "client"),
    "Page": ("pages", "client"),
    "Retries": ("retrying", "client"),
    "SyncTurnkeeper": ("sync", "client"),
    "Turnkeeper": ("keeper", "client"),
}
"""The module that a name is in, and the extra that it needs."""


def __getattr__(name: str) -> Any:
    """Loaded when first asked for. Raises ExtraMissing where what it needs is not installed."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, extra = _HOMES[name]
    try:
        return getattr(importlib.import_module(f"turnkeeper.client.{module}"), name)
    except ModuleNotFoundError as missing:
        raise ExtraMissing(extra, str(missing.name)) from None
