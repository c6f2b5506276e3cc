"""A conversation as one plain mapping, so that somebody else than our store can keep it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from turnkeeper.errors import EnvelopeInvalid
from turnkeeper.knowledge.beside import CarriedBesideBases
from turnkeeper.knowledge.carried import CarriedUnits
from turnkeeper.knowledge.retrieval import UnitMemory, view_of
from turnkeeper.knowledge.settling import settle
from turnkeeper.model.dialogue import Dialogue
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.ids import UnitId
from turnkeeper.model.message import Message
from turnkeeper.model.pack import PackPin, parse_ref
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.run import Run
from turnkeeper.model.session import Conversation, Session
from turnkeeper.model.unit import Unit, UnitChanges, UnitPlace
from turnkeeper.ports.units import UnitReader

VERSION = 1
CARRIED_CUT = "carried_cut"


class Carried(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What travels between turnkeeper and whoever keeps the session."""

    version: int
    revision: int
    turns: int
    last_seq: int
    epoch: Epoch
    created_at: datetime
    history: tuple[Message, ...]
    state: dict[str, Any]
    units: tuple[dict[str, Any], ...] = ()
    preferences: Preferences = msgspec.field(default_factory=Preferences)
    packs: tuple[PackPin, ...] = ()
    dialogue: dict[str, Any] = msgspec.field(default_factory=dict)
    agent_head: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Packing:
    """Unpacks what was carried into a conversation, and packs it again: so many messages and bytes of it at most."""

    units: UnitReader
    window: int
    most_units: int
    idle_seconds: int
    most_bytes: int

    def opened(self, run: Run, carried: Carried | None) -> Conversation:
        """What a run starts from. Who is asking, and what they may do, never comes from what was carried."""
        created_at = carried.created_at if carried else run.accepted_at
        session = Session(
            tenant=run.tenant,
            id=run.session_id,
            owner=run.user,
            agent=run.agent,
            custody=run.custody,
            revision=carried.revision if carried else 0,
            turns=carried.turns if carried else 0,
            last_seq=carried.last_seq if carried else 0,
            epoch=carried.epoch if carried else Epoch(number=1, started_at=created_at, first_seq=1),
            idle_for_seconds=self.idle_seconds,
            created_at=created_at,
            last_active_at=run.accepted_at,
            preferences=carried.preferences if carried else Preferences(),
            packs=carried.packs if carried else (),
            dialogue=dialogue_of(carried) if carried else Dialogue(),
            agent_head=carried.agent_head if carried else None,
        )
        if carried is None:
            return Conversation(session=session)
        return Conversation(
            session=session,
            history=carried.history[-self.window :],
            state=carried.state,
            units=units_of(carried),
        )

    def packed(self, conversation: Conversation) -> tuple[Mapping[str, Any], bool]:
        """What is to be kept, and whether something old was left out so that it can be taken back."""
        history, units = conversation.history[-self.window :], conversation.units
        carried, is_cut = _packed(conversation, history, units), False
        while _size(carried) > self.most_bytes and (history or units):
            # Messages first, the oldest of them: what they said that is worth knowing is in the units.
            if history:
                history = history[1 + len(history) // 4 :]
            else:
                units = units[1 + len(units) // 4 :]
            carried, is_cut = _packed(conversation, history, units), True
        return carried, is_cut

    def memory(self, conversation: Conversation) -> UnitMemory:
        return UnitMemory(CarriedBesideBases(conversation.units, self.units), view_of(conversation.session))

    async def settle(
        self, conversation: Conversation, staged: Sequence[Unit], place: UnitPlace, forgotten: Sequence[UnitId]
    ) -> UnitChanges:
        reader, view = CarriedUnits(conversation.units), view_of(conversation.session)
        return await settle(staged, place, reader, view, most=self.most_units, forgotten=forgotten)


def _packed(conversation: Conversation, history: tuple[Message, ...], units: tuple[Unit, ...]) -> Mapping[str, Any]:
    session = conversation.session
    packed: Mapping[str, Any] = msgspec.to_builtins(
        Carried(
            version=VERSION,
            revision=session.revision,
            turns=session.turns,
            last_seq=session.last_seq,
            epoch=session.epoch,
            created_at=session.created_at,
            history=history,
            state=dict(conversation.state),
            units=tuple(unit.given for unit in units),
            preferences=session.preferences,
            packs=session.packs,
            dialogue=dict(session.dialogue.given),
            agent_head=None if session.agent_head is None else dict(session.agent_head),
        )
    )
    return packed


def _size(carried: Mapping[str, Any]) -> int:
    """As it is measured when it comes back: with the spaces that the plainest way of writing JSON puts in."""
    return len(json.dumps(carried, ensure_ascii=False).encode())


def units_of(carried: Carried) -> tuple[Unit, ...]:
    """They travel without the fields that say nothing."""
    return msgspec.convert(carried.units, tuple[Unit, ...])


def dialogue_of(carried: Carried) -> Dialogue:
    """It travels without the parts that say nothing."""
    return msgspec.convert(carried.dialogue, Dialogue)


def carried_of(value: Mapping[str, Any]) -> Carried:
    """Raises EnvelopeInvalid when this is not what an earlier reply gave out."""
    try:
        carried = msgspec.convert(value, Carried, strict=True)
        units_of(carried)
        dialogue_of(carried)
    except (msgspec.ValidationError, ValueError) as error:
        raise EnvelopeInvalid(
            "The carried state is not one that turnkeeper gave out. Send back `carried` exactly as it was received, "
            "or leave it out to begin anew.",
            details=[{"pointer": "/carried", "message": str(error)}],
        ) from error
    is_sound = (
        0 <= carried.turns <= carried.revision
        and carried.last_seq >= len(carried.history)
        and carried.created_at.tzinfo is not None
        and carried.epoch.started_at.tzinfo is not None
        and all(parse_ref(pin.ref) == (pin.id, pin.version) for pin in carried.packs)
    )
    if not is_sound:
        raise EnvelopeInvalid(
            "The carried state fits no session. Send back `carried` exactly as it was received.",
            details=[{"pointer": "/carried", "message": "its numbers or times do not fit together"}],
        )
    if carried.version != VERSION:
        raise EnvelopeInvalid(f"The carried state has version {carried.version}; this turnkeeper reads {VERSION}.")
    return carried
