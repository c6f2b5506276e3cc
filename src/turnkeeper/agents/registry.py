"""The agents that this process has."""

from collections.abc import Mapping

from turnkeeper.model.ids import AgentId
from turnkeeper.ports.agent import Agent
from turnkeeper.ports.critic import Critic
from turnkeeper.ports.runs import AgentTerms


class AgentRegistry:
    def __init__(self) -> None:
        self._agents: dict[AgentId, Agent] = {}
        self._terms: dict[AgentId, AgentTerms] = {}
        self.critic: Critic | None = None

    def add(self, agent: Agent) -> None:
        if agent.id in self._agents:
            raise ValueError(f"an agent {agent.id!r} is already registered")
        self._agents[agent.id] = agent
        self._terms[agent.id] = AgentTerms(double_text=agent.policy.double_text, retry_safe=agent.policy.retry_safe)

    def get(self, agent: AgentId) -> Agent | None:
        return self._agents.get(agent)

    def terms(self) -> Mapping[AgentId, AgentTerms]:
        return self._terms

    def all(self) -> Mapping[AgentId, Agent]:
        return self._agents
