"""The same conversation in the hands of each custodian."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.contract.backends import Backend, PostgresBackend, SqliteBackend
from turnkeeper import Turnkeeper
from turnkeeper.model.reply import Reply


class Talk:
    """One session, whoever keeps it: what is said in it next goes on where it stands."""

    def __init__(self, keeper: Turnkeeper, agent: str) -> None:
        self.keeper, self.agent = keeper, agent

    async def say(self, text: str, **asked: Any) -> Reply:
        raise NotImplementedError


class KeptByTheEngine(Talk):
    session_id: str | None = None

    async def say(self, text: str, **asked: Any) -> Reply:
        reply = await self.keeper.chat(text, session_id=self.session_id, **{"agent": self.agent, **asked})
        self.session_id = reply.session_id
        return reply


class KeptByTheClient(Talk):
    carried: Mapping[str, Any] | None = None

    async def say(self, text: str, **asked: Any) -> Reply:
        more = {"agent": self.agent, "custody": "client", "session_id": "mine", "carried": self.carried, **asked}
        reply = await self.keeper.chat(text, **more)
        self.carried = reply.carried
        return reply


class KeptByTheDevice(Talk):
    async def say(self, text: str, **asked: Any) -> Reply:
        return await self.keeper.chat(text, **{"agent": self.agent, "custody": "device", **asked})


Custodian = Callable[[Turnkeeper, str], Talk]
EVERY_CUSTODY = [KeptByTheEngine, KeptByTheClient, KeptByTheDevice]


def backend_of(address: str) -> Backend:
    return PostgresBackend(address) if "://" in address else SqliteBackend(Path(address))
