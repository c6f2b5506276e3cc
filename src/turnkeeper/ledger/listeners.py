"""Telling an agent what became of what its sessions know, once it is durable."""

import asyncio
import logging
from dataclasses import dataclass

from turnkeeper.model.ids import AgentId
from turnkeeper.ports.agent import Agents
from turnkeeper.ports.listening import Listening
from turnkeeper.ports.plugins import KnowledgeEvent

HEARING_SECONDS = 10.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listeners:
    agents: Agents

    async def tell(self, agent: AgentId, event: KnowledgeEvent) -> None:
        """Tell the agent of a session, if it is here and listens. What is durable stays, however it takes it."""
        listener = self.agents.get(agent)
        if not isinstance(listener, Listening):
            return
        try:
            async with asyncio.timeout(HEARING_SECONDS):
                await listener.heard(event)
        except Exception:
            log.exception("agent failed to listen", extra={"agent": agent, "event": event.type})
