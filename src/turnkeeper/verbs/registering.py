"""Telling a Turnkeeper who answers, with what, and where messages come from."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.ids import is_id
from turnkeeper.model.safety import SafetyMode
from turnkeeper.ports.agent import Agent, AgentPolicy, AgentTurn
from turnkeeper.ports.channels import Channel
from turnkeeper.ports.critic import Critic
from turnkeeper.ports.tools import Tool
from turnkeeper.verbs.inside import Inside

F = TypeVar("F", bound=Callable[[AgentTurn], Any])
T = TypeVar("T", bound=Callable[..., Any])


class Registering(Inside):
    """Agents, tools and channels of this process."""

    def agent(
        self,
        name: str,
        *,
        double_text: DoubleText | str = DoubleText.ENQUEUE,
        allows: Iterable[DoubleText | str] = tuple(DoubleText),
        retry_safe: bool = False,
        run_seconds: float | None = None,
        pack: str | None = None,
        critic: Critic | None = None,
        safety_mode: SafetyMode | str | None = None,
        tools: Iterable[str] | None = None,
    ) -> Callable[[F], F]:
        """Register a function as an agent: async or sync, returning its answer or yielding it piece by piece.

        `retry_safe` says that an answer may be tried again when the node died in the middle of it. `pack` is what
        its sessions are pinned to, unless the first message asks for another one. `critic` judges its turns: it has
        `verify`, `score` or both, see `turnkeeper.ports.critic`. `safety_mode` is how far its runs may go, at most.
        `tools` are patterns of the tools that it has, such as `crm.*`; without it, all that the session permits.
        """
        policy = _agent_policy(
            name,
            double_text=double_text,
            allows=allows,
            retry_safe=retry_safe,
            run_seconds=run_seconds,
            pack=pack,
            critic=critic,
            safety_mode=safety_mode,
            tools=tools,
        )

        def register(function: F) -> F:
            self._registry.add(self._factory.of_function(name, function, policy))
            return function

        return register

    def add_graph(
        self,
        name: str,
        graph: Any,
        *,
        takes: Callable[[AgentTurn], Mapping[str, Any]] | None = None,
        gives: Callable[[Mapping[str, Any]], str] | None = None,
        speaks: Iterable[str] | None = None,
        context: Callable[[AgentTurn], Any] | None = None,
        recursion_limit: int | None = None,
        **policy: Any,
    ) -> None:
        """Register a LangGraph graph, compiled or not, as an agent; needs the extra `langgraph`.

        It remembers by checkpoints that turnkeeper keeps for it, whatever checkpointer it was compiled with. `takes`
        makes the input of a turn, else it is what was said since its last one, as `messages`; `gives` makes the
        answer out of the state, else it is what the assistant says. `speaks` names the nodes whose words are shown,
        `context` makes LangGraph's runtime context. Other settings are those of `agent`.
        """
        how = {"takes": takes, "gives": gives, "context": context, "recursion_limit": recursion_limit}
        nodes = None if speaks is None else frozenset(speaks)
        terms = _agent_policy(name, **policy)
        self._registry.add(self._factory.of_graph(name, graph, terms, speaks=nodes, **how))

    @property
    def critic(self) -> Critic | None:
        """Who judges the turns of every agent that brings no critic of its own."""
        return self._registry.critic

    @critic.setter
    def critic(self, critic: Critic | None) -> None:
        self._registry.critic = critic

    def add_agent(self, agent: Agent) -> None:
        """Register an agent of one's own making; see `turnkeeper.ports.agent`."""
        if not is_id(agent.id):
            raise ValueError(f"an agent needs a simple name, not {agent.id!r}")
        self._registry.add(agent)

    def tool(
        self,
        name: str,
        *,
        action: str | None = None,
        safety_mode: SafetyMode | str = SafetyMode.READ_ONLY,
        repeatable: bool = False,
    ) -> Callable[[T], T]:
        """Register a function as a tool, async or not; what it takes is read from the types of its parameters.

        `name` is like `crm.ticket.read`, and what policies speak of, unless an `action` says otherwise. A parameter of
        type PointerRef, ManifestRef, ArtifactRef or KnowledgeBaseRef names something that the session must have. One
        of type ToolCall is handed the call. `safety_mode` is what a run needs for it; `repeatable` says that calling
        it twice does no harm when a node dies in the middle.
        """

        def register(function: T) -> T:
            mode = SafetyMode(safety_mode)
            self.add_tool(self._factory.of_tool(name, function, action=action, safety_mode=mode, repeatable=repeatable))
            return function

        return register

    def add_tool(self, tool: Tool) -> None:
        """Register a tool of one's own making; see `turnkeeper.ports.tools`."""
        self._world.tools.add(tool)

    def add_channel(self, channel: Channel) -> None:
        """Teach this turnkeeper a channel of one's own; see `turnkeeper.ports.channels`."""
        self._world.channels.add(channel)


def _agent_policy(
    name: str,
    *,
    double_text: DoubleText | str = DoubleText.ENQUEUE,
    allows: Iterable[DoubleText | str] = tuple(DoubleText),
    retry_safe: bool = False,
    run_seconds: float | None = None,
    pack: str | None = None,
    critic: Critic | None = None,
    safety_mode: SafetyMode | str | None = None,
    tools: Iterable[str] | None = None,
) -> AgentPolicy:
    if not is_id(name):
        raise ValueError(f"an agent needs a simple name, not {name!r}")
    if isinstance(tools, str):
        raise ValueError(f"the tools of an agent are a list of patterns, such as [{tools!r}], and not one text")
    return AgentPolicy(
        double_text=DoubleText(double_text),
        allows=frozenset(DoubleText(way) for way in allows),
        retry_safe=retry_safe,
        run_seconds=run_seconds,
        pack=pack,
        critic=critic,
        safety_mode=None if safety_mode is None else SafetyMode(safety_mode),
        tools=None if tools is None else tuple(tools),
    )
