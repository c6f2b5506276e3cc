"""Sessions that the client keeps and sends with every message.

Nothing that was kept from an earlier turn is read, and any id is usable at any time. Who is asking, and what they may
do, never comes from the carried state.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.ids import UnitId
from turnkeeper.model.lease import Lease
from turnkeeper.model.message import Message
from turnkeeper.model.pack import PackPin, parse_ref
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.session import Conversation, Custody, Session
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import Unit, UnitChanges, UnitPlace
from turnkeeper.ports.audit import AuditStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Kept, ResetOrder
from turnkeeper.ports.runs import RunEnd, RunStore
from turnkeeper.ports.units import UnitReader

VERSION = 1
CARRIED_CUT = "carried_cut"


class Carried(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """What travels between client and engine."""

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
class ClientCustodian:
    runs: RunStore
    units: UnitReader
    audit: AuditStore
    clock: Clock
    window: int
    most_units: int
    idle_seconds: int
    most_bytes: int

    async def open(self, run: Run) -> Conversation:
        carried = carried_of(run.input.carried) if run.input.carried is not None else None
        created_at = carried.created_at if carried else run.accepted_at
        session = Session(
            tenant=run.tenant,
            id=run.session_id,
            owner=run.user,
            agent=run.agent,
            custody=Custody.CLIENT,
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

    async def reset(self, run: Run, lease: Lease, conversation: Conversation, order: ResetOrder) -> Conversation:
        now = self.clock.now()
        await self.audit.record(order.audited(run, conversation, now))
        epoch = conversation.session.epoch.next(at=now, last_seq=conversation.session.last_seq)
        return conversation.after_reset(epoch, order.params)

    def memory(self, conversation: Conversation) -> UnitMemory:
        return UnitMemory(CarriedBesideBases(conversation.units, self.units), view_of(conversation.session))

    async def settle(
        self,
        conversation: Conversation,
        staged: Sequence[Unit],
        place: UnitPlace,
        *,
        forgotten: Sequence[UnitId] = (),
    ) -> UnitChanges:
        reader, view = CarriedUnits(conversation.units), view_of(conversation.session)
        return await settle(staged, place, reader, view, most=self.most_units, forgotten=forgotten)

    def carried(self, conversation: Conversation) -> Mapping[str, Any]:
        return self._fitting(conversation)[0]

    def _fitting(self, conversation: Conversation) -> tuple[Mapping[str, Any], bool]:
        """What the client is given, and whether something old was left out so that it can be taken back."""
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

    async def keep(self, turn: Turn, lease: Lease, conversation: Conversation, explanation: Explanation) -> Kept:
        after = conversation.after(turn)
        carried, is_cut = self._fitting(after)
        warnings = (CARRIED_CUT,) if is_cut else ()
        explanation = replace(explanation, warnings=explanation.warnings + warnings)
        result = {"text": turn.messages[-1].content, "turn": turn.number, "carried": carried, "intent": turn.intent}
        end = RunEnd(
            status=RunStatus.COMPLETED,
            explanation=explanation,
            at=turn.committed_at,
            result=result,
            deliveries=turn.deliveries,
        )
        committed = await self.runs.end(lease, end)
        revised = replace(committed, revision=after.session.revision)
        return Kept(committed=revised, carried=carried, warnings=warnings)


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
