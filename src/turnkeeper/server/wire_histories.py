"""What goes over the wire about the past of a session."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from turnkeeper.model.history import StateAt
from turnkeeper.server.wire import Inbound, Outbound, Title
from turnkeeper.server.wire_chat import IntentOut
from turnkeeper.server.wire_knowledge import said_by
from turnkeeper.server.wire_sessions import MessageOut, PreferencesOut

TurnNo = Annotated[int, Field(ge=0, le=2**53)]


class ForkIn(Inbound):
    at_turn: TurnNo | None = Field(default=None, description="The turn to go on from; the last one unless named.")
    title: Title | None = None


class UnitThenOut(Outbound):
    id: str
    unit: dict[str, Any]


class StateAtOut(Outbound):
    """`messages` are the newest of the epoch up to then. `session_id` is where the turn was committed: of a fork,
    turns before it are those of another session. `run_id` is null where no run made the turn."""

    session_id: str
    turn: int
    epoch: int
    last_seq: int
    at: datetime
    run_id: str | None
    messages: list[MessageOut]
    state: dict[str, Any]
    preferences: PreferencesOut
    intent: IntentOut | None
    params: dict[str, Any]
    units: list[UnitThenOut]
    thread: dict[str, Any] | None

    @classmethod
    def of(cls, then: StateAt) -> "StateAtOut":
        intent = then.dialogue.told
        return cls(
            session_id=then.session_id,
            turn=then.turn,
            epoch=then.epoch.number,
            last_seq=then.last_seq,
            at=then.at,
            run_id=then.run_id,
            messages=[MessageOut.of(message) for message in then.messages],
            state=dict(then.state),
            preferences=PreferencesOut.of(then.preferences),
            intent=None if intent is None else IntentOut.model_validate(dict(intent)),
            params=dict(then.dialogue.params),
            units=[UnitThenOut(id=unit.id, unit=said_by(unit)) for unit in then.units],
            thread=None if then.agent_head is None else dict(then.agent_head),
        )
