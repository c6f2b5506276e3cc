"""Who answers: what an agent is handed, and what it hands back."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from turnkeeper.errors import AgentFailed
from turnkeeper.model.approval import ApprovalWish
from turnkeeper.model.budget import Budget
from turnkeeper.model.checkpoint import Ask, AskKind
from turnkeeper.model.compiled import CompiledContext
from turnkeeper.model.dialogue import IntentView
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.event import Event
from turnkeeper.model.feed import FeedType
from turnkeeper.model.ids import AgentId, SessionId, UnitId
from turnkeeper.model.message import Message
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.unit import Unit
from turnkeeper.model.verdict import Verdict
from turnkeeper.ports.effects import Effects
from turnkeeper.ports.memory import Memory
from turnkeeper.ports.notes import Notes
from turnkeeper.ports.runs import AgentTerms
from turnkeeper.ports.substrate import Substrate
from turnkeeper.ports.tools import RunTools

if TYPE_CHECKING:
    from turnkeeper.ports.critic import Critic


class Suspended(BaseException):
    """Unwinds an agent that asked something; not an Exception, so that no agent swallows it by accident.

    `position` is where an agent with a memory of its own goes on once there is an answer; see `AgentTurn.position`.
    With a `wish` it is an approval that is asked for.
    """

    def __init__(
        self,
        question: str,
        kind: AskKind = AskKind.INPUT,
        *,
        position: Mapping[str, Any] | None = None,
        wish: ApprovalWish | None = None,
    ) -> None:
        super().__init__(question)
        self.question, self.kind, self.position, self.wish = question, kind, position, wish


class Answer(str):
    """What a person answered; async agents may await it, sync ones use it as it is."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, "Answer"]:
        return self
        yield  # pragma: no cover - makes this a generator


class AgentTurn:
    """One turn as its agent sees it. What is put into `state` and what is remembered is kept only if the turn is."""

    __slots__ = (
        "_answered",
        "_asks",
        "_calls",
        "_compiled",
        "_effects",
        "_substrate",
        "_tell",
        "_tools",
        "context",
        "events",
        "forgotten_units",
        "head",
        "memory",
        "next_head",
        "notes",
        "position",
        "staged_units",
        "state",
    )

    def __init__(
        self,
        context: RunContext,
        events: tuple[Event, ...],
        state: MutableMapping[str, Any],
        asks: tuple[Ask, ...] = (),
        *,
        memory: Memory,
        notes: Notes,
        compiled: CompiledContext | None = None,
        effects: Effects | None = None,
        answered: int = 0,
        head: Mapping[str, Any] | None = None,
        position: Mapping[str, Any] | None = None,
        tell: Callable[[FeedType, Mapping[str, Any]], Awaitable[None]] | None = None,
        tools: RunTools | None = None,
    ) -> None:
        self.context = context
        self.events = events
        self.state = state
        self.memory = memory
        self.notes = notes
        self.staged_units: list[Unit] = []
        self.forgotten_units: list[UnitId] = []
        self._asks = asks
        self._answered = answered
        self._effects = effects
        self._compiled = compiled
        self._tell = tell
        self._tools = tools
        self._substrate: Substrate | None = None
        self._calls = 0
        self.head = None if head is None else MappingProxyType(head)
        self.position = None if position is None else MappingProxyType(position)
        self.next_head: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """What the user said; several messages answered as one stand on a line each."""
        return "\n".join(event.as_text for event in self.events)

    @property
    def compiled(self) -> CompiledContext:
        """The words of the packs, what was said and what is asked, within a bound; `messages` are for a model."""
        return self._compiled or CompiledContext(trace_id=self.context.trace_id)

    @property
    def budget(self) -> Budget:
        """What the run may still spend: `turn.budget.debit("tokens", 120)` raises before a limit is crossed."""
        return self.context.budget

    @property
    def number(self) -> int:
        return self.context.turn

    @property
    def session_id(self) -> SessionId:
        return self.context.session_id

    @property
    def history(self) -> tuple[Message, ...]:
        return self.context.history

    @property
    def params(self) -> Mapping[str, Any]:
        return self.context.params

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.context.metadata

    @property
    def intent(self) -> IntentView | None:
        """What the user wants, as the pack of the session understands it, and what is still missing for it."""
        return self.context.intent

    def remember(self, *units: Unit) -> None:
        """Stage units; those that are new are kept with the turn. Their ids are given at the commit."""
        self.staged_units.extend(units)

    def forget(self, *units: UnitId) -> None:
        """Have the turn lose what these units of the session say, for good; if the turn fails, they stay."""
        self.forgotten_units.extend(units)

    def move_head(self, head: Mapping[str, Any]) -> None:
        """Stage where the memory of an agent stands that keeps one of its own; what `head` is in the next turn.

        `head` is what the session holds of it, None before the first turn that moved it and after a reset.
        `position` is where this run stood when it asked what has been answered by now, as its Suspended said.
        """
        self.next_head = dict(head)

    async def tell(self, type: FeedType, said: Mapping[str, Any]) -> None:
        """Put something that happens in this run into the feed of its session, whatever becomes of the turn."""
        if self._tell is not None:
            await self._tell(type, said)

    @property
    def answered(self) -> int:
        """How many questions of this turn have been passed, in this walk through the agent."""
        return self._answered

    def ask(self, question: str) -> Answer:
        """Ask the person and wait, for days if need be, without holding anything.

        The agent is left here and started again from its beginning when the answer has come, maybe on another node;
        then this returns it at once. So what comes before it should do no harm when done twice.
        """
        if self._answered < len(self._asks):
            if self._asks[self._answered].approval_id is not None:
                raise AgentFailed("The agent asked for something else than in its earlier walk. Ask in one order.")
            return Answer(self.next_answer().answer or "")
        raise Suspended(question)

    def tools(self) -> Any:
        """The tools that the session permits right now, as ToolSpecs. Async agents await it."""
        return self._its_tools.offered()

    def call(self, tool: str, *, call_id: str | None = None, **arguments: Any) -> Any:
        """Have a tool called, and give its ToolResult. Async agents await it; see also `call_with`."""
        return self.call_with(tool, arguments, call_id=call_id)

    def call_with(self, tool: str, arguments: Mapping[str, Any], *, call_id: str | None = None) -> Any:
        """Have a tool called: its arguments are validated, then the session, the policy and maybe a person are asked.

        What is denied, and a tool that fails, is a result like any other. When the run comes by again, the kept
        result is returned. `call_id` tells calls of one run apart; without one they are counted, so that an agent
        that calls several at once gives each its own.
        """
        self._calls += 1
        return self._its_tools.call(self, tool, arguments, call_id or f"call-{self._calls:03d}")

    def approval(self, key: str) -> Ask | None:
        """What was decided about the approval of this key in an earlier walk through the agent."""
        for place in range(self._answered, len(self._asks)):
            if self._asks[place].approval_key == key:
                return self.next_answer() if place == self._answered else self._asks[place]
        return next((ask for ask in self._asks[: self._answered] if ask.approval_key == key), None)

    @property
    def asked(self) -> int:
        """How many questions of this turn have been answered in all, also those that come later in this walk."""
        return len(self._asks)

    def next_answer(self) -> Ask:
        """The question that comes next and was answered in an earlier walk through the agent."""
        ask = self._asks[self._answered]
        self._answered += 1
        return ask

    def once(self, key: str, function: Callable[..., Any], *args: Any, repeatable: bool = False, **kwargs: Any) -> Any:
        """Do something to the world at most once in this run, and give what `function` gave. Async agents await it.

        It is written down before and after. When the run comes by again, because its node died or it asked
        something, the kept result is returned and `function` is not called. If nobody knows whether it happened,
        this raises EffectUnknown; a `repeatable` one is called again, with the same `effect_key`. A `function` that
        raises may be tried again. The result must be JSON.
        """
        return self._its_effects.once(key, partial(function, *args, **kwargs), repeatable=repeatable)

    def effect_key(self, key: str) -> str:
        """What names this effect to the outside world, the same in every attempt: an idempotency key."""
        return self._its_effects.key_of(key)

    @property
    def _its_tools(self) -> RunTools:
        assert self._tools is not None, "a turn that is handed off has its tools"
        return self._tools

    @property
    def substrate(self) -> Substrate:
        """Artifacts, manifests and pointers, as far as the session reaches them."""
        if self._substrate is None:
            self._substrate = self._its_tools.substrate(self)
        return self._substrate

    @property
    def _its_effects(self) -> Effects:
        assert self._effects is not None, "a turn that is handed off has a ledger of effects"
        return self._effects


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentPolicy:
    """How an agent wants to be used: `allows` says which ways of double texting it can bear.

    `pack` is what a session with this agent is pinned to when nothing else is asked for. `tools` are patterns of the
    tools that it has; None is every one that the session permits.
    """

    double_text: DoubleText = DoubleText.ENQUEUE
    allows: frozenset[DoubleText] = frozenset(DoubleText)
    retry_safe: bool = False
    run_seconds: float | None = None
    pack: str | None = None
    safety_mode: SafetyMode | None = None
    tools: tuple[str, ...] | None = None
    critic: "Critic | None" = None

    def __post_init__(self) -> None:
        if self.double_text not in self.allows:
            raise ValueError(f"an agent allows its own double_text {self.double_text.value!r}")
        if self.run_seconds is not None and self.run_seconds <= 0:
            raise ValueError("run_seconds is more than nothing")


class Agent(Protocol):
    @property
    def id(self) -> AgentId: ...

    @property
    def policy(self) -> AgentPolicy: ...

    def answer(self, turn: AgentTurn) -> AsyncGenerator[str | Verdict, None]:
        """The answer, piece by piece, with verdicts between. May raise anything; cancelling it must stop it."""


class Agents(Protocol):
    """The agents that are registered in this process, and the critic of those that bring none of their own."""

    @property
    def critic(self) -> "Critic | None": ...

    def get(self, agent: AgentId) -> Agent | None: ...

    def all(self) -> Mapping[AgentId, Agent]: ...

    def terms(self) -> Mapping[AgentId, AgentTerms]:
        """What a store must know of them to queue for them."""
