"""Looking at what a session knows, and changing it by hand."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from turnkeeper.errors import EnvelopeInvalid, UnitNotFound
from turnkeeper.knowledge.importing import ImportFormat, units_in
from turnkeeper.model.envelope import Command, OnMissing
from turnkeeper.model.ids import UnitId
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.reply import Reply
from turnkeeper.model.session import Session
from turnkeeper.model.unit import KeptUnit
from turnkeeper.ports.extractor import Extractor
from turnkeeper.ports.units import UnitStore
from turnkeeper.steps.change_units import edited_unit
from turnkeeper.steps.receive import Inbound

ROOM_FOR_THE_REST = 1_024
"""What a command needs beside its text."""


class SessionOf(Protocol):
    async def __call__(self, session_id: str, *, principal: Principal) -> Session: ...


class Units:
    """The units of sessions. What changes them takes its turn in the queue of the session, like a message."""

    def __init__(
        self,
        units: UnitStore,
        extractor: Extractor,
        session_of: SessionOf,
        perform: Callable[[Inbound, Principal], Awaitable[Reply]],
        *,
        most_bytes: int,
    ) -> None:
        self._units, self._extractor, self._session_of, self._perform = units, extractor, session_of, perform
        self._most_bytes = most_bytes

    async def list(
        self,
        session_id: str,
        *,
        principal: Principal = LOCAL,
        all_epochs: bool = False,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[tuple[int, KeptUnit]]:
        """In the order in which they were kept, superseded and forgotten ones too, each with its number."""
        session = await self._session_of(session_id, principal=principal)
        epoch = None if all_epochs else session.epoch.number
        return await self._units.list(session.tenant, session.id, epoch=epoch, after=after, limit=limit)

    async def get(self, session_id: str, unit_id: str, *, principal: Principal = LOCAL) -> KeptUnit:
        """Raises UnitNotFound."""
        session = await self._session_of(session_id, principal=principal)
        if not is_plain_text(unit_id):
            raise UnitNotFound(UnitId(unit_id.encode("ascii", "replace").decode()))
        return await self._units.get(session.tenant, session.id, UnitId(unit_id))

    async def import_text(
        self,
        session_id: str,
        text: str,
        *,
        format: str = ImportFormat.TEXT,
        name: str | None = None,
        principal: Principal = LOCAL,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> Reply:
        """Read units out of a text, in their text form or out of plain sentences, and keep what is new.

        The Explanation of the reply says what was added, superseded and dropped. Raises UnitTextInvalid, and then
        has changed nothing.
        """
        await self._session_of(session_id, principal=principal)
        faults = _faults_of_import(text, format, name, self._most_bytes)
        if faults:
            raise EnvelopeInvalid("The units cannot be imported like this. See details.", details=faults)
        if format == ImportFormat.UNITS:
            await units_in(text, format, self._extractor)
        params: dict[str, Any] = {"text": text, "format": format}
        if name is not None:
            params["name"] = name
        inbound = _command(Command.IMPORT_UNITS, session_id, params, request_id, trace_id)
        return await self._perform(inbound, principal)

    async def edit(
        self,
        session_id: str,
        unit_id: str,
        change: Mapping[str, Any],
        *,
        principal: Principal = LOCAL,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> KeptUnit:
        """Put an edited unit in the place of this one, which stays as superseded. Returns the new one."""
        kept = await self.get(session_id, unit_id, principal=principal)
        if kept.unit is not None:
            edited_unit(kept.unit, change)
        params = {"unit_id": unit_id, "change": change}
        reply = await self._perform(_command(Command.EDIT_UNIT, session_id, params, request_id, trace_id), principal)
        # Edited into something that is known already, it gives way to that; edited into itself, it stays.
        by = {change["unit"]: change["by"] for change in reply.units.get("superseded", ())}
        return await self.get(session_id, by.get(unit_id, unit_id), principal=principal)

    async def forget(
        self,
        session_id: str,
        unit_id: str,
        *,
        principal: Principal = LOCAL,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> KeptUnit:
        """Lose what a unit says for good; that there was one is still known."""
        await self.get(session_id, unit_id, principal=principal)
        params = {"unit_id": unit_id}
        await self._perform(_command(Command.FORGET_UNIT, session_id, params, request_id, trace_id), principal)
        return await self.get(session_id, unit_id, principal=principal)


def _command(
    command: Command, session_id: str, params: Mapping[str, Any], request_id: str | None, trace_id: str | None
) -> Inbound:
    return Inbound(
        command=command,
        session_id=session_id,
        params=params,
        request_id=request_id,
        trace_id=trace_id,
        on_missing=OnMissing.ERROR,
    )


def _faults_of_import(text: object, format: object, name: object, most_bytes: int) -> list[dict[str, str]]:
    faults = []
    if not isinstance(text, str) or not text.strip() or not is_plain_text(text):
        faults.append({"pointer": "/text", "message": "must be text, without NUL and not empty"})
    elif (size := len(text.encode())) > most_bytes - ROOM_FOR_THE_REST:
        most = most_bytes - ROOM_FOR_THE_REST
        faults.append({"pointer": "/text", "message": f"is {size} bytes long; at most {most} are taken"})
    if format not in set(ImportFormat):
        faults.append({"pointer": "/format", "message": "must be 'text' or 'units'"})
    if name is not None and (not isinstance(name, str) or not 0 < len(name) <= 200 or not is_plain_text(name)):
        faults.append({"pointer": "/name", "message": "must be a name of at most 200 characters"})
    return faults
