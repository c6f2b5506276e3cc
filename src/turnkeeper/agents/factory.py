"""Making agents: out of functions, out of graphs."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnkeeper.agents.function import AgentFunction, FunctionAgent
from turnkeeper.agents.threads import AgentThreads
from turnkeeper.agents.tools import FunctionTool
from turnkeeper.errors import ExtraMissing
from turnkeeper.model.ids import AgentId
from turnkeeper.ports.agent import Agent, AgentPolicy
from turnkeeper.ports.threads import Threads

if TYPE_CHECKING:
    from turnkeeper.agents.langgraph.memory import GraphMemory


class AgentFactory:
    """Makes agents out of functions, with threads for those that are not async, and out of graphs; and tools."""

    def __init__(self, database: str, *, synchronous: str, most_threads: int) -> None:
        self._threads = AgentThreads(most_threads)
        self._database, self._synchronous = database, synchronous
        self._memory: GraphMemory | None = None

    def of_function(self, name: str, function: AgentFunction, policy: AgentPolicy) -> FunctionAgent:
        return FunctionAgent(AgentId(name), function, policy, self._threads)

    def of_tool(self, name: str, function: Callable[..., Any], **how: Any) -> FunctionTool:
        return FunctionTool(name, function, **how)

    def of_graph(self, name: str, graph: Any, policy: AgentPolicy, **how: Any) -> Agent:
        memory = self.memory()
        from turnkeeper.agents.langgraph.agent import GraphAgent

        return GraphAgent(AgentId(name), graph, policy, memory, **how)

    def memory(self) -> "GraphMemory":
        """Where graphs keep what they remember; opens nothing. Raises ExtraMissing."""
        if self._memory is None:
            try:
                from turnkeeper.agents.langgraph.memory import GraphMemory
            except ModuleNotFoundError as missing:
                raise ExtraMissing("langgraph", str(missing.name)) from None
            self._memory = GraphMemory(self._database, synchronous=self._synchronous)
        return self._memory

    def threads(self, *, is_needed: bool = False) -> Threads | None:
        """The memory of graphs; None where there is none to be seen, or the extra for it is missing.

        Unless it `is_needed`, a node that has no graph looks no further than for the file beside its database.
        """
        if self._memory is None and (is_needed or Path(f"{self._database}.graphs").exists()):
            with suppress(ExtraMissing):
                return self.memory()
        return self._memory
