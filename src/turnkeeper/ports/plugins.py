"""What we ask of those who plan, read, find, answer and judge inside a turn: plugins, by kind.

A plugin that cannot do its part raises; whatever it raises counts as its failure and the next one is tried. It calls
`PluginCall.model_call` before each call of a model, so that no run spends more than it may. What a plugin gives back
cannot be made of nonsense: that is a ValueError where it is made, inside the plugin.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from turnkeeper.errors import BudgetExceeded
from turnkeeper.model.budget import Reservation
from turnkeeper.model.ids import KnowledgeBaseId, RunId, SessionId, TenantId, UnitId
from turnkeeper.model.plain_text import is_plain_text, says_plain_text
from turnkeeper.model.recall import FoundUnit
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.unit import Act, Unit
from turnkeeper.ports.memory import Memory

T = TypeVar("T")

PLUGIN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class PluginKind(StrEnum):
    """The kinds that the agent `symbolic` asks for. Others may be declared; they are kept for whoever asks."""

    PLANNER = "mrp-plan-plugin"
    SEED_DETECTOR = "sd-plugin"
    KNOWLEDGE = "kb-plugin"
    GOAL_SOLVER = "gs-plugin"
    VALIDATOR = "val-plugin"


class CostClass(StrEnum):
    CHEAP = "cheap"
    MODERATE = "moderate"
    EXPENSIVE = "expensive"


class Depth(StrEnum):
    """How deep a plugin digs: what is quick and shallow comes first, unless depth is asked for."""

    SHALLOW = "shallow"
    MEDIUM = "medium"
    DEEP = "deep"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerHints:
    """What a plugin is good at: acts that it serves, words of the fields it knows, and how deep it digs."""

    acts: tuple[Act, ...] = ()
    topics: tuple[str, ...] = ()
    depth: Depth = Depth.MEDIUM


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginDescriptor:
    """Who a plugin is. `most_model_calls` is reserved before it runs, so a plugin without a model has none."""

    id: str
    kind: str
    name: str
    version: str = "1"
    description: str = ""
    cost: CostClass = CostClass.CHEAP
    uses_model: bool = False
    most_model_calls: int = 0
    tags: tuple[str, ...] = ()
    hints: PlannerHints = field(default_factory=PlannerHints)

    def __post_init__(self) -> None:
        if not PLUGIN_ID.fullmatch(self.id):
            raise ValueError(
                f"a plugin id is lower-case letters, digits, dots, dashes and underscores, not {self.id!r}"
            )
        if not (self.kind and self.name and self.version):
            raise ValueError("a plugin needs a kind, a name and a version")
        if self.most_model_calls < 0 or self.uses_model != (self.most_model_calls > 0):
            raise ValueError("a plugin uses a model exactly when its most_model_calls is above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCall:
    """What every plugin is told of the run it works for. `model` is the name of the model that is wished for."""

    context: RunContext
    memory: Memory
    frame_id: str
    depth: int
    level: int
    model: str | None
    reservation: Reservation

    def model_call(self) -> None:
        """A model is called now. Raises BudgetExceeded when the plugin has used up what it declared."""
        if not self.reservation.take():
            budget = self.context.budget
            raise BudgetExceeded(spent=budget.model_calls, limit=budget.limits.model_calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What a message wants: one question or request, or for a message that asks nothing the message itself.

    `refers_to` is what "it" and "they" stand for, where it says so and something was named before. `brief` asks for
    yes or no, or for one word.
    """

    id: str
    text: str
    asks: bool = True
    acts: tuple[Act, ...] = ()
    refers_to: str | None = None
    brief: bool = False


class DetectionStatus(StrEnum):
    SUCCESS = "success"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """`unsupported`: this is nothing for me, ask the next one. `asked` are the questions, as they were said."""

    status: DetectionStatus = DetectionStatus.SUCCESS
    units: tuple[Unit, ...] = ()
    asked: tuple[str, ...] = ()
    model: str | None = None

    def __post_init__(self) -> None:
        _put(self, status=DetectionStatus(self.status), units=_all(Unit, self.units), asked=_texts(self.asked))
        _check_model(self.model)
        if not all(says_plain_text(unit) for unit in self.units):
            raise ValueError("a Unit holds no NUL character and no half of a surrogate pair")


class RetrievalStatus(StrEnum):
    SUCCESS = "success"
    INSUFFICIENT = "insufficient"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieval:
    """`insufficient`: this is all that I found, and it may not do."""

    status: RetrievalStatus
    evidence: tuple[FoundUnit, ...] = ()

    def __post_init__(self) -> None:
        _put(self, status=RetrievalStatus(self.status), evidence=_found(self.evidence))


class SolveStatus(StrEnum):
    SUCCESS = "success"
    NO_CONTEXT = "no-context"
    NEEDS_DECOMPOSITION = "needs-decomposition"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that is said, and the places in `Solution.sources` that it rests on."""

    text: str
    rests_on: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _texts((self.text,))
        _put(self, rests_on=_all(int, self.rests_on))


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """An answer without its form: how it is laid out is decided once for the whole turn.

    `no-context` says plainly that it is not known. `needs-decomposition` names simpler questions to ask first.
    `verdict` is the answer to a question for yes or no. `forgets` are units that are lost with the turn that says so.
    """

    status: SolveStatus
    statements: tuple[Statement, ...] = ()
    sources: tuple[FoundUnit, ...] = ()
    questions: tuple[str, ...] = ()
    verdict: bool | None = None
    is_list: bool = False
    model: str | None = None
    forgets: tuple[UnitId, ...] = ()

    def __post_init__(self) -> None:
        _put(
            self,
            status=SolveStatus(self.status),
            statements=_all(Statement, self.statements),
            sources=_found(self.sources),
            questions=_texts(self.questions),
            forgets=_texts(self.forgets),
        )
        _check_model(self.model)
        if not (self.verdict is None or isinstance(self.verdict, bool)):
            raise ValueError("a verdict is True, False or None")
        if any(place not in range(len(self.sources)) for said in self.statements for place in said.rests_on):
            raise ValueError("a Statement rests on sources that its Solution has")
        if (self.status is SolveStatus.NEEDS_DECOMPOSITION) != bool(self.questions):
            raise ValueError("a Solution names questions exactly when it needs decomposition")
        if self.status is not SolveStatus.NEEDS_DECOMPOSITION and not self.statements:
            raise ValueError("a Solution says something")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a goal solver works on. `staged` are all units of this turn; `evidence` are those that match the seed.

    `guidance` says how to answer; it is no evidence and is never cited.
    """

    seed: Seed
    evidence: tuple[FoundUnit, ...] = ()
    staged: tuple[Unit, ...] = ()
    guidance: tuple[Unit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether an answer may be given. Only `accepted=True` accepts."""

    accepted: bool
    reason: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.accepted, bool):
            raise ValueError("a Judgement is accepted=True or accepted=False, and nothing else")
        _texts((self.reason,))


class PlanPhase(StrEnum):
    POST_SEED = "post-seed"
    POST_KNOWLEDGE = "post-kb"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a planner goes by. `knowledge` and `solvers` are those it may order, in their default order."""

    phase: PlanPhase
    seeds: tuple[Seed, ...]
    knowledge: tuple[PluginDescriptor, ...]
    solvers: tuple[PluginDescriptor, ...]
    guidance: tuple[Unit, ...] = ()
    retrievals: tuple[Retrieval, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Ids in the order to try. Ids that are not known are passed over. `separate` asks for a child frame per seed."""

    knowledge: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
    separate: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _put(self, knowledge=_texts(self.knowledge), solvers=_texts(self.solvers), notes=_texts(self.notes))
        if not isinstance(self.separate, bool):
            raise ValueError("separate is True or False")


class KnowledgeEventType(StrEnum):
    SESSION_CREATED = "session-created"
    BASE_MOUNTED = "base-mounted"
    BASE_UNMOUNTED = "base-unmounted"
    UNITS_STAGED = "units-staged"
    UNITS_COMMITTED = "units-committed"
    UNITS_GONE = "units-gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeEvent:
    """Something that a plugin with an index of its own wants to know. Staged units may never be committed.

    `gone` are the ids of units that were superseded, pushed out or forgotten: an index must not find them any more.
    """

    type: KnowledgeEventType
    tenant: TenantId
    session_id: SessionId
    run_id: RunId | None = None
    units: tuple[Unit, ...] = ()
    gone: tuple[UnitId, ...] = ()
    base: KnowledgeBaseId | None = None


class Plugin(Protocol):
    @property
    def descriptor(self) -> PluginDescriptor: ...


class Planner(Plugin, Protocol):
    async def plan(self, request: PlanRequest, call: PluginCall) -> Plan: ...


class SeedDetector(Plugin, Protocol):
    async def detect(self, text: str, call: PluginCall) -> Detection:
        """What the message says, as units with provisional ids, and what it asks."""


class KnowledgePlugin(Plugin, Protocol):
    async def retrieve(self, seed: Seed, staged: Sequence[Unit], call: PluginCall) -> Retrieval:
        """Evidence for one seed. `staged` are those units of this turn that match it; they count as found."""

    async def heard(self, event: KnowledgeEvent) -> None:
        """Told of staged units, of committed ones, and of what was mounted. A cache is keyed by session and hash."""


class GoalSolver(Plugin, Protocol):
    async def solve(self, task: Task, call: PluginCall) -> Solution: ...


class Validator(Plugin, Protocol):
    async def judge(self, task: Task, solution: Solution, call: PluginCall) -> Judgement: ...


class Plugins(Protocol):
    """Where plugins are added: what an entry point of the group `turnkeeper.plugins` is called with."""

    def declare(self, kind: str) -> None:
        """Make a kind known; declaring it twice does no harm."""

    def add(self, plugin: Plugin) -> None:
        """Raises ValueError for a kind that was not declared, an id that is taken, or a descriptor that is none."""


def _put(made: object, **values: object) -> None:
    """What was given, as the types say it: a list becomes a tuple, a plain word its enum."""
    for name, value in values.items():
        object.__setattr__(made, name, value)


def _all(kind: type[T], given: Any) -> tuple[T, ...]:
    """Raises ValueError for anything but a tuple or list of this kind."""
    if not isinstance(given, tuple | list) or not all(isinstance(each, kind) for each in given):
        raise ValueError(f"a tuple of {kind.__name__} is needed here, not {type(given).__name__}")
    return tuple(given)


def _texts(given: Any) -> tuple[str, ...]:
    texts = _all(str, given)
    if not all(is_plain_text(each) for each in texts):
        raise ValueError("a text holds no NUL character and no half of a surrogate pair")
    return texts


def _found(given: Any) -> tuple[FoundUnit, ...]:
    found = _all(FoundUnit, given)
    _all(Unit, [each.unit for each in found])
    _texts([each.place for each in found])
    if not all(isinstance(each.score, int | float) for each in found):
        raise ValueError("the score of a FoundUnit is a number")
    return found


def _check_model(model: object) -> None:
    if model is not None:
        _texts((model,))
