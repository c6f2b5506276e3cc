"""The device's session, as far as this process owns it."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from turnkeeper.bus.carrier import CONVERSATION
from turnkeeper.bus.working import Session
from turnkeeper.errors import TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.model.principal import Principal

log = logging.getLogger(__name__)

MOST_BYTES = 1_048_576
"""What makes the session of a device larger than this does not count: it must fit on the bus, with every message."""


class OwnedDevice:
    """The memory of this process, as far as it is the bus's; what was kept is taken over with the ownership."""

    def __init__(self, keeper: Turnkeeper, principal: Principal) -> None:
        self._keeper, self._principal = keeper, principal
        self._loading: asyncio.Task[None] | None = None
        self._is_mine = False

    def read(self) -> Session:
        """What the bus has of it. The conversation stays with the device: nobody on the bus has any use for it, and a
        late copy of it that came back would undo what was said meanwhile."""
        return {name: value for name, value in self._all().items() if name != CONVERSATION}

    def write(self, fields: Mapping[str, Any]) -> None:
        conversation = {name: value for name, value in self._all().items() if name == CONVERSATION}
        ours = {name: value for name, value in fields.items() if name != CONVERSATION}
        if len(json.dumps(ours)) > MOST_BYTES:
            log.warning("device too large", extra={"bytes": len(json.dumps(ours))})
            return
        self._keeper.device.write({**ours, **conversation}, self._principal)

    def _all(self) -> Session:
        return self._keeper.device.read(self._principal)

    async def keep(self) -> None:
        """Only the owner's is kept; another one may be at work on it by now."""
        if not self._is_mine:
            return
        try:
            await self._keeper.device.keep(self._principal)
        except TurnkeeperError as error:
            log.warning("device not kept", extra={"code": error.code})

    def owned(self, who: str | None, *, is_me: bool) -> None:
        """From now on. What another one owns is not remembered here; while nobody does, nothing is lost."""
        was_mine = self._is_mine
        if who is not None:
            self._is_mine = is_me
        if is_me and not was_mine:
            self._loading = asyncio.get_running_loop().create_task(self._load())
        elif who is not None and not is_me:
            self._keeper.device.write({}, self._principal)

    async def leave(self) -> None:
        """For the last time."""
        await self.keep()
        self._is_mine = False

    @property
    def is_ready(self) -> bool:
        """Whether what was kept has been taken over."""
        return self._loading is None or self._loading.done()

    async def ready(self) -> None:
        if self._loading is not None:
            await asyncio.shield(self._loading)

    async def _load(self) -> None:
        try:
            await self._keeper.device.load(self._principal)
        except TurnkeeperError as error:
            log.warning("device not loaded", extra={"code": error.code})
