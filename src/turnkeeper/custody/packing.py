"""A conversation as one plain mapping, so that somebody else than our store can keep it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
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
from turnkeeper.model.plain_text import is_plain_text, says_plain_text
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.run import Run
from turnkeeper.model.session import Conversation, Freshness, Session
from turnkeeper.model.unit import Unit, UnitChanges, UnitPlace
from turnkeeper.ports.units import UnitReader

VERSION = 2
MOST_COUNTED = 2**53 - 1
"""As far as anything in a session is counted; every store and every reader of JSON can go on from there."""
CARRIED_CUT = "carried_cut"

FIRST_LEFT_OUT: Mapping[str, Any] = {"units": [], "preferences": {}, "packs": [], "dialogue": {}, "agent_head": None}
"""What a state of version 1 may not say, since it has grown part by part."""


class Carried(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What travels between turnkeeper and whoever keeps the session. It says every part of it: what is missing was
    lost on its way, and is not taken for nothing. `agent` is whose memory `agent_head` is; a state that does not say
    so is from before it was said.
    """

    version: int
    revision: int
    turns: int
    last_seq: int
    epoch: Epoch
    created_at: datetime
    history: tuple[Message, ...]
    state: dict[str, Any]
    units: tuple[dict[str, Any], ...]
    preferences: Preferences
    packs: tuple[PackPin, ...]
    dialogue: dict[str, Any]
    agent_head: dict[str, Any] | None
    agent: str | None = None

    def head_for(self, agent: str) -> dict[str, Any] | None:
        """Where the memory of this agent stands. That of another one is none of its business."""
        return self.agent_head if self.agent in (None, agent) else None


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
            agent_head=carried.head_for(run.agent) if carried else None,
        )
        sent = session.revision if run.input.freshness is Freshness.STRICT else None
        if carried is None:
            return Conversation(session=session, sent=sent)
        return Conversation(
            session=session,
            history=carried.history[-self.window :],
            state=carried.state,
            units=units_of(carried),
            sent=sent,
        )

    def taken(self, value: Mapping[str, Any]) -> Carried:
        """What a client hands over for us to keep. Raises EnvelopeInvalid."""
        try:
            size = _size(value)
        except (TypeError, ValueError, RecursionError):
            raise EnvelopeInvalid.at(
                "/carried", "must hold JSON values only, without NaN, and no half of a surrogate pair"
            ) from None
        if size > self.most_bytes:
            raise EnvelopeInvalid.at("/carried", f"is {size} bytes as JSON; at most {self.most_bytes} are taken")
        return carried_of(value)

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
    packed: Mapping[str, Any] = _as_json(
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
            agent=session.agent,
        )
    )
    return packed


def _as_json(carried: Carried) -> Any:
    """As it comes back from a wire, so that two copies can be compared."""
    return msgspec.json.decode(msgspec.json.encode(carried))


def _size(carried: Mapping[str, Any]) -> int:
    """As it is measured when it comes back: with the spaces that the plainest way of writing JSON puts in."""
    return len(json.dumps(carried, ensure_ascii=False, allow_nan=False).encode())


def units_of(carried: Carried) -> tuple[Unit, ...]:
    """They travel without the fields that say nothing."""
    return msgspec.convert(carried.units, tuple[Unit, ...])


def dialogue_of(carried: Carried) -> Dialogue:
    """It travels without the parts that say nothing."""
    return msgspec.convert(carried.dialogue, Dialogue)


def carried_of(value: object) -> Carried:
    """Raises EnvelopeInvalid when this is not what an earlier reply gave out."""
    if (version := _version_of(value)) > VERSION:
        raise EnvelopeInvalid(
            f"The carried state has version {version}; this turnkeeper reads up to {VERSION}. Send it to a node that "
            "runs the newer release, or leave it out to begin anew.",
            details=[{"pointer": "/carried", "message": f"is of version {version}"}],
        )
    try:
        carried = msgspec.convert(upgraded(value), Carried, strict=True)
        units = units_of(carried)
        dialogue_of(carried)
    except (msgspec.ValidationError, ValueError) as error:
        raise EnvelopeInvalid(
            "The carried state is not one that turnkeeper gave out. Send back `carried` exactly as it was received, "
            "or leave it out to begin anew.",
            details=[{"pointer": "/carried", "message": str(error)}],
        ) from error
    is_sound = (
        carried.version == VERSION
        and 0 <= carried.turns <= carried.revision
        and _counts_well(carried)
        and all(is_plain_text(line.id) and is_plain_text(line.content) for line in carried.history)
        and all(says_plain_text(unit) for unit in units)
        and carried.created_at.tzinfo is not None
        and carried.epoch.started_at.tzinfo is not None
        and all(parse_ref(pin.ref) == (pin.id, pin.version) for pin in carried.packs)
    )
    if not is_sound:
        raise EnvelopeInvalid(
            "The carried state fits no session. Send back `carried` exactly as it was received.",
            details=[{"pointer": "/carried", "message": "its numbers, times or texts do not fit together"}],
        )
    return carried


def _counts_well(carried: Carried) -> bool:
    """Each message after the one before it, and nothing further than the session has come."""
    seqs = [0, *(line.seq for line in carried.history), carried.last_seq + 1]
    reached = (carried.revision, carried.last_seq, carried.epoch.number, carried.epoch.first_seq)
    told = (number for line in carried.history for number in (line.turn, line.epoch))
    return all(one < next for one, next in pairwise(seqs)) and max(*reached, *told) <= MOST_COUNTED


def upgraded(value: Any) -> Any:
    """The same state as this release writes it down; one step for each version that there was."""
    while (upgrade := _UPGRADES.get(_version_of(value))) is not None:
        value = upgrade(value)
    return value


def _version_of(value: object) -> int:
    """0 for what has none."""
    version = value.get("version") if isinstance(value, Mapping) else None
    return version if type(version) is int else 0


def _from_the_first(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**FIRST_LEFT_OUT, **value, "version": 2}


_UPGRADES: Mapping[int, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {1: _from_the_first}
