"""The past of sessions, from rows to what it means, the same for every backend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from turnkeeper.model.checkpoint import Checkpoint
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.history import StateAt
from turnkeeper.model.ids import RunId, SessionId
from turnkeeper.model.message import Message
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.session import Session
from turnkeeper.ports.histories import NamedHeads
from turnkeeper.stores import rows
from turnkeeper.stores.units import unit_of

LAST = 2**62

_decode_preferences = msgspec.json.Decoder(Preferences).decode
_decode_dialogue = msgspec.json.Decoder(Dialogue).decode
_decode_checkpoint = msgspec.json.Decoder(Checkpoint).decode

Segment = tuple[SessionId, int, int]


@dataclass(frozen=True, slots=True)
class StateRow:
    """What a turn left: `last_seq` is that of the newest message by then, also where it added none."""

    row: rows.Row
    last_seq: int

    @property
    def epoch(self) -> int:
        number: int = self.row["epoch"]
        return number

    def units_params(self, turn: int, limit: int) -> rows.Params:
        return {"epoch": self.epoch, "turn": turn, "at": self.row["committed_at"], "limit": limit}


def segments(session: Session, chain: Sequence[tuple[SessionId, int]]) -> list[Segment]:
    """Whose messages are whose, the newest first: the session, after this seq, up to that one."""
    found: list[Segment] = [(session.id, session.fork.seq if session.fork else 0, LAST)]
    for place, (owner, upto) in enumerate(chain):
        found.append((owner, chain[place + 1][1] if place + 1 < len(chain) else 0, upto))
    return found


def owner_of(session: Session, turn: int, chain: Sequence[Session]) -> Session:
    """Where a turn was committed. What a fork began with is a turn of its own."""
    owner = session
    for parent in chain:
        if owner.fork is None or turn >= owner.fork.turn:
            break
        owner = parent
    return owner


def state_row_of(row: rows.Row, owner: Session, turn: int) -> StateRow:
    fork = owner.fork
    return StateRow(row, fork.seq if fork is not None and fork.turn == turn else row["last_seq"])


def at_the_beginning(owner: Session) -> StateAt:
    epoch = Epoch(number=1, started_at=owner.created_at, first_seq=1)
    return StateAt(session_id=owner.id, turn=0, epoch=epoch, last_seq=0, at=owner.created_at)


def state_at(
    owner: Session, turn: int, row: StateRow, epoch: Epoch, messages: tuple[Message, ...], units: Sequence[rows.Row]
) -> StateAt:
    kept = row.row
    return StateAt(
        session_id=owner.id,
        turn=turn,
        epoch=epoch,
        last_seq=row.last_seq,
        at=rows.moment(kept["committed_at"]),
        run_id=RunId(kept["run_id"]) if kept["run_id"] else None,
        messages=messages,
        state=rows.from_json(kept["state"]),
        preferences=_decode_preferences(kept["preferences"]) if kept["preferences"] else Preferences(),
        dialogue=_decode_dialogue(kept["dialogue"]) if kept["dialogue"] else Dialogue(),
        units=tuple(unit_of(each["data"]) for each in reversed(units)),
        agent_head=rows.from_json(kept["agent_head"]) if kept["agent_head"] else None,
    )


def named_heads(lease: Sequence[rows.Row], heads: Sequence[rows.Row], checkpoints: Sequence[rows.Row]) -> NamedHeads:
    named: list[Mapping[str, Any]] = [rows.from_json(row["agent_head"]) for row in heads]
    positions = [_decode_checkpoint(row["data"]).position for row in checkpoints]
    is_busy = any(row["holder"] is not None for row in lease)
    return NamedHeads(heads=[*named, *(each for each in positions if each is not None)], is_busy=is_busy)


def pruned_said(marked: rows.Row, told: Mapping[str, Any]) -> dict[str, Any]:
    return {"status": marked["status"], "what": ["pruned"], **told}
