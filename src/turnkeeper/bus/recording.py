"""Every round is a Run: what became of an utterance is written down, whoever handled it."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from turnkeeper.errors import AgentFailed, TurnkeeperError
from turnkeeper.keeper import Turnkeeper
from turnkeeper.keeping.door import Ticket
from turnkeeper.model.principal import Principal
from turnkeeper.ports.agent import AgentTurn

log = logging.getLogger(__name__)

AGENT = "bus"
"""Under this name rounds are recorded that none of our agents answered."""
SILENCE = "(nothing was said)"
MOST_ID = 128

Work = Callable[[], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFacts:
    """What a Run tells of its round. `decided` is what was decided before anybody was asked to handle it."""

    session_id: str
    utterance_id: str
    utterance: str
    decided: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ledger_id(self) -> str:
        """The session's id in the ledger, which does not take every id that a client may think of."""
        id = self.session_id
        if len(id) <= MOST_ID and id.isascii() and id.isprintable() and " " not in id:
            return id
        return f"bus_{hashlib.sha256(id.encode(errors='surrogatepass')).hexdigest()[:40]}"

    @property
    def metadata(self) -> dict[str, Any]:
        told = {"utterance_id": self.utterance_id, "session_id": self.session_id[:MOST_ID], **self.about}
        return {"bus": {name: value for name, value in told.items() if value is not None}}


class RoundRuns:
    """Has a round walked through the steps like any other Run; the agent that it is given to is the round itself."""

    def __init__(self, keeper: Turnkeeper, principal: Principal, *, seconds: float) -> None:
        self._keeper, self._principal = keeper, principal
        self._works: dict[str, Work] = {}
        # A handler has its own time; the Run only must not be over before it.
        keeper.agent(AGENT, run_seconds=seconds)(self._answer)

    async def perform(self, facts: RoundFacts, work: Work, *, began: Callable[[str], None]) -> None:
        """Do the work as a Run, and say which. Raises what the work raises, and what keeps it from being recorded."""
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def watched() -> str:
            try:
                said = await work()
            except BaseException as error:
                if not ended.done():
                    ended.set_exception(error if isinstance(error, Exception) else AgentFailed("The run was stopped."))
                raise
            if not ended.done():
                ended.set_result(said)
            return said

        self._works[facts.utterance_id] = watched
        try:
            ticket = await self._keeper.submit(
                facts.utterance[: self._keeper.settings.message_chars] or SILENCE,
                agent=AGENT,
                session_id=facts.ledger_id,
                custody="client",
                channel="bus",
                principal=self._principal,
                metadata=facts.metadata,
                before=facts.decided,
            )
            began(ticket.run.id)
            await self._awaited(ticket)
        except TurnkeeperError:
            if not ended.done():
                raise
        finally:
            self._works.pop(facts.utterance_id, None)
            if ended.done():
                # Looked at below, or by nobody when we are stopped.
                ended.exception()
        await ended

    async def _awaited(self, ticket: Ticket) -> None:
        try:
            await self._keeper.reply_to(ticket)
        except asyncio.CancelledError:
            await self._keeper.cancel(ticket.run.id, principal=self._principal)
            raise

    async def _answer(self, turn: AgentTurn) -> str:
        work = self._works.pop(str(turn.metadata.get("bus", {}).get("utterance_id")), None)
        if work is None:
            raise AgentFailed("The round is not on in this process any more. Say it again.")
        return await work()
