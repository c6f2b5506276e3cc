"""What a session knows, looked after from a distance."""

from collections.abc import Mapping
from typing import Any

from turnkeeper.client.pages import Page
from turnkeeper.client.part import Part
from turnkeeper.client.shapes import Reply, read
from turnkeeper.client.transport import new_key
from turnkeeper.model.run import RunStatus
from turnkeeper.model.unit import KeptUnit

CHANGES = ("added", "superseded", "pushed_out", "dropped")


class Units(Part):
    async def import_text(
        self,
        session_id: str,
        text: str,
        *,
        format: str = "text",
        name: str | None = None,
        request_id: str | None = None,
    ) -> Reply:
        """Read units out of a text, in their text form or out of plain sentences, and keep what is new.

        `units` of the reply says what became of them.
        """
        body = {"text": text, "format": str(format), "name": name}
        told = await self._ask("POST", "sessions", session_id, "units", body=body, key=request_id or new_key())
        return Reply(
            session_id=told["session_id"],
            run_id=told["run_id"],
            status=RunStatus.COMPLETED,
            text="",
            warnings=tuple(told["warnings"]),
            units={what: told[what] for what in CHANGES if told[what]},
        )

    async def list(
        self, session_id: str, *, all_epochs: bool = False, after: int = 0, limit: int = 100
    ) -> Page[tuple[int, KeptUnit]]:
        """In the order in which they were kept, superseded and forgotten ones too, each with its number."""
        return await self._page(
            _numbered,
            "sessions",
            session_id,
            "units",
            cursor=after or None,
            limit=limit,
            all_epochs=str(all_epochs).lower(),
        )

    async def get(self, session_id: str, unit_id: str) -> KeptUnit:
        """Raises UnitNotFound."""
        return await self._get(KeptUnit, "sessions", session_id, "units", unit_id)

    async def edit(
        self, session_id: str, unit_id: str, change: Mapping[str, Any], *, request_id: str | None = None
    ) -> KeptUnit:
        """Put an edited unit in the place of this one, which stays as superseded. Returns the new one."""
        key = request_id or new_key()
        return read(await self._ask("PATCH", "sessions", session_id, "units", unit_id, body=change, key=key), KeptUnit)

    async def forget(self, session_id: str, unit_id: str, *, request_id: str | None = None) -> KeptUnit:
        """Lose what a unit says for good; that there was one is still known."""
        key = request_id or new_key()
        return read(await self._ask("DELETE", "sessions", session_id, "units", unit_id, key=key), KeptUnit)


def _numbered(told: Mapping[str, Any]) -> tuple[int, KeptUnit]:
    return told["no"], read(told, KeptUnit)
