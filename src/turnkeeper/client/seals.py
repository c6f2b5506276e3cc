"""The keys under which clients carry their state, looked after from a distance."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from turnkeeper.client.part import Part
from turnkeeper.client.shapes import read


@dataclass(frozen=True, slots=True, kw_only=True)
class SealKey:
    """A key by its id; its bytes are told to nobody."""

    id: str
    created_at: datetime
    retired_at: datetime | None


class Seals(Part):
    async def keys(self) -> Sequence[SealKey]:
        """The oldest first; the newest one that is not retired is the one that seals. Raises NotAllowed."""
        return read((await self._ask("GET", "seals"))["items"], list[SealKey])

    async def rotate(self) -> SealKey:
        """Seal with a new key from now on. What was sealed before is opened as before. Raises NotAllowed."""
        return read(await self._ask("POST", "seals", "rotate"), SealKey)

    async def retire(self, id: str) -> None:
        """Destroy a key: what it has sealed is opened by nobody any more. Raises NotAllowed or SealKeyNotFound."""
        await self._ask("POST", "seals", id, "retire")
