"""Stage what a command changes in the units of its session."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from turnkeeper.errors import EnvelopeInvalid, UnitNotCurrent
from turnkeeper.knowledge.importing import units_in
from turnkeeper.model.envelope import Command
from turnkeeper.model.ids import UnitId
from turnkeeper.model.plain_text import says_plain_text
from turnkeeper.model.session import Custody
from turnkeeper.model.unit import EDITABLE, Unit, UnitChanges, UnitPlace, UnitStatus
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.extractor import Extractor
from turnkeeper.ports.units import UnitStore
from turnkeeper.steps.commit import settled
from turnkeeper.steps.draft import TurnDraft
from turnkeeper.steps.receive import pointed


@dataclass(frozen=True, slots=True)
class ChangeUnits:
    custodians: Mapping[Custody, Custodian]
    units: UnitStore
    extractor: Extractor
    clock: Clock

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        command, given = draft.run.input.command, draft.run.input.params
        if command is Command.IMPORT_UNITS:
            return await self._import(draft, given)
        if command is Command.EDIT_UNIT:
            return await self._edit(draft, given)
        if command is Command.FORGET_UNIT:
            kept = await self.units.get(draft.run.tenant, draft.run.session_id, UnitId(given["unit_id"]))
            return replace(draft, unit_changes=UnitChanges(forgotten=(kept.id,)))
        return draft

    async def _import(self, draft: TurnDraft, given: Mapping[str, Any]) -> TurnDraft:
        name = given.get("name")
        place = UnitPlace(
            chunk_id=f"session::i{draft.opened.session.revision + 1:04d}",
            at=self.clock.now(),
            source_id="session",
            source_type="import",
            source_name=name,
        )
        units = await units_in(given["text"], given["format"], self.extractor)
        return settled(draft, await self.custodians[draft.run.custody].settle(draft.opened, units, place))

    async def _edit(self, draft: TurnDraft, given: Mapping[str, Any]) -> TurnDraft:
        """The edited unit is settled like any other, so that one slot and one content stay one."""
        session = draft.opened.session
        kept = await self.units.get(session.tenant, session.id, UnitId(given["unit_id"]))
        if kept.unit is None or kept.status is not UnitStatus.COMMITTED or kept.epoch != session.epoch.number:
            raise UnitNotCurrent(kept.id, kept.status)
        edited = replace(edited_unit(kept.unit, given["change"]), supersedes=kept.id)
        place = UnitPlace(chunk_id=f"session::e{session.revision + 1:04d}", at=self.clock.now(), source_type="edit")
        custodian = self.custodians[draft.run.custody]
        return settled(draft, await custodian.settle(draft.opened, (edited,), place))


def edited_unit(unit: Unit, change: Mapping[str, Any]) -> Unit:
    """The unit with these fields changed. Raises EnvelopeInvalid when that would not be a unit."""
    faults = [
        {"pointer": f"/{pointed(name)}", "message": f"is none of {', '.join(sorted(EDITABLE))}"}
        for name in change
        if name not in EDITABLE
    ]
    if not change:
        faults.append({"pointer": "", "message": "names nothing to change"})
    try:
        edited = msgspec.convert({**msgspec.to_builtins(unit), **change, "hash": None}, Unit)
    except (msgspec.ValidationError, ValueError) as error:
        faults.append({"pointer": "", "message": str(error)})
        edited = unit
    if not says_plain_text(edited):
        faults.append({"pointer": "", "message": "must not hold a NUL character or half of a surrogate pair"})
    if faults:
        raise EnvelopeInvalid("The unit cannot be changed like this. See details.", details=faults)
    return edited
