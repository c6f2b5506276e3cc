"""Turns of the agent `symbolic` without a store: what was said is scripted, what is known is at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar

from turnkeeper.agents.symbolic.agent import SymbolicAgent
from turnkeeper.agents.symbolic.builtin import add_builtin
from turnkeeper.agents.symbolic.registry import PluginRegistry
from turnkeeper.knowledge.carried import CarriedUnits
from turnkeeper.knowledge.retrieval import UnitMemory
from turnkeeper.ledger.notes import RunNotes
from turnkeeper.model.budget import Budget, BudgetLimits
from turnkeeper.model.event import Event
from turnkeeper.model.graph import EdgeType, Graph, Node, NodeType
from turnkeeper.model.ids import AgentId, MessageId, RunId, SessionId, TenantId, TraceId, UnitId, UserId
from turnkeeper.model.message import Message, Speaker
from turnkeeper.model.names import content_hash, name_key
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.unit import Lifetime, PhaseScope, Relation, Unit, UnitRole
from turnkeeper.ports.agent import AgentTurn
from turnkeeper.ports.chat_model import ChatModel
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.extractor import Extraction, Extractor
from turnkeeper.ports.plugins import (
    Detection,
    Judgement,
    KnowledgeEvent,
    Plan,
    PlanRequest,
    Plugin,
    PluginCall,
    PluginDescriptor,
    PluginKind,
    Retrieval,
    Seed,
    Solution,
    SolveStatus,
    Statement,
    Task,
)
from turnkeeper.ports.units import UnitView
from turnkeeper.testing.clock import NOON, SteppedClock

VIEW = UnitView(tenant=TenantId("t"), session_id=SessionId("sess_1"), epoch=1)


def unit(claim: str, topic: str, role: UnitRole = UnitRole.DESCRIPTION, **more: Any) -> Unit:
    """A unit as a reader of messages would make it; a triple as `triple=(subject, relation, object)`."""
    triple = more.pop("triple", None)
    if triple is not None:
        more |= {"subject": triple[0], "relation": Relation(triple[1]), "object": triple[2]}
    said: dict[str, Any] = {"procedure": claim} if role is UnitRole.PROCEDURE else {"claim": claim}
    number = more.pop("number", 1)
    made = Unit(
        id=UnitId(more.pop("id", f"staged::unit-{number:03}")),
        source_id=more.pop("source_id", "session"),
        chunk_id="session::turn",
        role=role,
        topic=topic,
        **said,
        **more,
    )
    return replace(made, hash=content_hash(made))


def guidance(claim: str, *, scope: PhaseScope = PhaseScope.SOLVE, lifetime: Lifetime = Lifetime.SESSION) -> Unit:
    return unit(claim, "answers", UnitRole.CONSTRAINT, phase_scopes=(scope,), lifetime=lifetime)


def is_a(claim: str, subject: str, kind: str) -> Unit:
    return unit(claim, subject, UnitRole.DEFINITION, triple=(subject, "instance_of", kind))


def relates(claim: str, subject: str, relation: str, object: str) -> Unit:
    return unit(claim, subject, triple=(subject, relation, object))


class ScriptedExtractor:
    """Knows the units of the sentences it was told about. A sentence with a question mark is asked; others are lost."""

    def __init__(self, script: Mapping[str, Unit] | None = None) -> None:
        self.script = dict(script or {})

    def knows(self, *units: Unit) -> ScriptedExtractor:
        self.script |= {each.content: each for each in units}
        return self

    def corrects(self, text: str) -> bool:
        return False

    def extract(self, text: str, *, known: Sequence[Unit] = ()) -> Extraction:
        sentences = re.findall(r"[^.?!\n]+[.?!]?", text)
        said = [self.script[each.strip()] for each in sentences if each.strip() in self.script]
        numbered = [replace(each, id=UnitId(f"staged::unit-{n:03}")) for n, each in enumerate(said, start=1)]
        asked = tuple(each.strip() for each in sentences if each.strip().endswith("?"))
        return Extraction(units=tuple(numbered), asked=asked)


@dataclass(kw_only=True)
class Told:
    """What came of one turn."""

    text: str
    notes: RunNotes
    budget: Budget
    turn: AgentTurn

    @property
    def graph(self) -> Graph:
        graph = self.notes.graph()
        assert graph is not None
        return graph

    def nodes(self, type: NodeType) -> list[Node]:
        return [node for node in self.graph.nodes if node.type is type]

    def executions(self) -> list[tuple[str, str]]:
        """Every plugin that was begun, in order, with its status."""
        types = (NodeType.PLUGIN, NodeType.PLANNER)
        return [(node.label, node.status) for node in self.graph.nodes if node.type in types]

    def edges(self, type: EdgeType) -> list[tuple[str, str]]:
        return [(edge.source, edge.target) for edge in self.graph.edges if edge.type is type]

    @property
    def document(self) -> Mapping[str, Any]:
        assert self.notes.document is not None
        return self.notes.document


@dataclass(kw_only=True)
class Talk:
    """A conversation with the agent: what it commits is known in the next turn, in the manner of the engine."""

    extractor: Extractor = field(default_factory=ScriptedExtractor)
    known: list[Unit] = field(default_factory=list)
    plugins: list[Plugin] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    only: bool = False
    limits: BudgetLimits = field(default_factory=BudgetLimits)
    preferred: Preferences = field(default_factory=Preferences)
    session: str = "sess_1"
    seconds: float = 60.0
    model: ChatModel | None = None
    now: Clock = field(default_factory=SteppedClock)
    history: list[Message] = field(default_factory=list)
    turns: int = 0
    last: Told | None = None

    def agent(self) -> SymbolicAgent:
        def gather() -> PluginRegistry:
            registry = PluginRegistry()
            registry.declare(PluginKind.VALIDATOR)
            for kind in self.kinds:
                registry.declare(kind)
            for plugin in self.plugins:
                registry.add(plugin)
            taken = {each.descriptor.kind for each in self.plugins}
            add_builtin(registry, self.extractor, self.model, without=taken if self.only else ())
            return registry

        return SymbolicAgent(gather, self.now)

    async def say(self, text: str, explicit: Preferences | None = None) -> Told:
        """Raises what the agent raises; `last` then still tells what happened."""
        budget, notes = Budget(self.limits), RunNotes()
        context = RunContext(
            run_id=RunId(f"run_{self.turns + 1}"),
            trace_id=TraceId("trace"),
            session_id=SessionId(self.session),
            tenant=TenantId("t"),
            user=UserId("u"),
            agent=AgentId("symbolic"),
            turn=self.turns + 1,
            epoch=1,
            deadline=self.now.now() + timedelta(seconds=self.seconds),
            history=tuple(self.history),
            params={},
            metadata={},
            explicit=explicit or Preferences(),
            preferred=self.preferred,
            budget=budget,
        )
        memory = UnitMemory(CarriedUnits(self.known), VIEW)
        turn = AgentTurn(context, (Event(text=text),), {}, memory=memory, notes=notes)
        self.last = Told(text="", notes=notes, budget=budget, turn=turn)
        self.last.text = "".join([piece async for piece in self.agent().answer(turn)])
        self._commit(text, self.last)
        return self.last

    def _commit(self, text: str, told: Told) -> None:
        self.turns += 1
        for role, content in ((Speaker.USER, text), (Speaker.ASSISTANT, told.text)):
            seq = len(self.history) + 1
            message = Message(
                id=MessageId(f"msg_{seq}"),
                seq=seq,
                turn=self.turns,
                epoch=1,
                role=role,
                content=content,
                created_at=NOON,
            )
            self.history.append(message)
        for number, each in enumerate(told.turn.staged_units, start=1):
            if each.lifetime is Lifetime.TURN or each.hash in {old.hash for old in self.known}:
                continue
            slot = name_key(each.slot) if each.slot else None
            self.known = [old for old in self.known if slot is None or not old.slot or name_key(old.slot) != slot]
            kept = replace(each, id=UnitId(f"session::{self.turns}::unit-{number:03}"))
            self.known = [*self.known, kept]


def descriptor(id: str, kind: str, **more: Any) -> PluginDescriptor:
    return PluginDescriptor(id=id, kind=kind, name=id, **more)


class Detector:
    def __init__(self, id: str, result: Detection | BaseException, **more: Any) -> None:
        self.descriptor = descriptor(id, PluginKind.SEED_DETECTOR, **more)
        self.result, self.calls = result, 0

    async def detect(self, text: str, call: PluginCall) -> Detection:
        self.calls += 1
        return _given(self.result)


class Knowledge:
    def __init__(self, id: str, result: Retrieval | BaseException, *, deaf: bool = False, **more: Any) -> None:
        self.descriptor = descriptor(id, PluginKind.KNOWLEDGE, **more)
        self.result, self.deaf = result, deaf
        self.seen: list[tuple[Seed, tuple[Unit, ...]]] = []
        self.events: list[KnowledgeEvent] = []

    async def retrieve(self, seed: Seed, staged: Sequence[Unit], call: PluginCall) -> Retrieval:
        self.seen.append((seed, tuple(staged)))
        return _given(self.result)

    async def heard(self, event: KnowledgeEvent) -> None:
        if self.deaf:
            raise OSError("the index is gone")
        self.events.append(event)


class Solver:
    """Answers the same always, after so many calls of a model."""

    def __init__(self, id: str, result: Solution | BaseException, *, model_calls: int = 0, **more: Any) -> None:
        self.descriptor = descriptor(id, PluginKind.GOAL_SOLVER, **more)
        self.result, self.model_calls = result, model_calls
        self.tasks: list[Task] = []

    async def solve(self, task: Task, call: PluginCall) -> Solution:
        self.tasks.append(task)
        for _ in range(self.model_calls):
            call.model_call()
        return _given(self.result)


class Judge:
    def __init__(self, id: str, *verdicts: Judgement | BaseException, **more: Any) -> None:
        self.descriptor = descriptor(id, PluginKind.VALIDATOR, **more)
        self.verdicts = list(verdicts)

    async def judge(self, task: Task, solution: Solution, call: PluginCall) -> Judgement:
        return _given(self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0])


class ScriptedPlanner:
    def __init__(self, id: str, result: Plan | BaseException, **more: Any) -> None:
        self.descriptor = descriptor(id, PluginKind.PLANNER, **more)
        self.result = result
        self.requests: list[PlanRequest] = []

    async def plan(self, request: PlanRequest, call: PluginCall) -> Plan:
        self.requests.append(request)
        return _given(self.result)


def answer(text: str, **more: Any) -> Solution:
    return Solution(status=SolveStatus.SUCCESS, statements=(Statement(text=text),), **more)


def no_idea(text: str = "No idea.") -> Solution:
    return Solution(status=SolveStatus.NO_CONTEXT, statements=(Statement(text=text),))


T = TypeVar("T")


def _given(result: T | BaseException) -> T:
    if isinstance(result, BaseException):
        raise result
    return result
