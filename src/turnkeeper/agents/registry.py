"""The agents that this process has."""

from collections.abc import Mapping

from turnkeeper.model.ids import AgentId
from turnkeeper.ports.agent import Agent


class AgentRegistry:
    def __init__(self) -> None:
        self._agents: dict[AgentId, Agent] = {}

    def add(self, agent: Agent) -> None:
        if agent.id in self._agents:
            raise ValueError(f"an agent {agent.id!r} is already registered")
        self._agents[agent.id] = agent

    def get(self, agent: AgentId) -> Agent | None:
        return self._agents.get(agent)

    def all(self) -> Mapping[AgentId, Agent]:
        return self._agents
