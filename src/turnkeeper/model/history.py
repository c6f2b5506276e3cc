"""A session as it stood after one of its turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.ids import RunId, SessionId
from turnkeeper.model.message import Message
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.unit import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class StateAt:
    """`messages` are the newest of its epoch up to `last_seq`. `session_id` is where the turn was committed.

    `run_id` is None for a state that no run made: the beginning, and what a session took over from another one.
    """

    session_id: SessionId
    turn: int
    epoch: Epoch
    last_seq: int
    at: datetime
    run_id: RunId | None = None
    messages: tuple[Message, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    preferences: Preferences = field(default_factory=Preferences)
    dialogue: Dialogue = field(default_factory=Dialogue)
    units: tuple[Unit, ...] = ()
    agent_head: Mapping[str, Any] | None = None
