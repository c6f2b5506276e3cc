"""Weighing answers against each other: branches, candidates, comparisons and challenges of one seed."""

from dataclasses import dataclass
from itertools import islice

from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.levels import Level
from turnkeeper.agents.symbolic.stage import PluginUnusable
from turnkeeper.agents.symbolic.trail import FrameTrail
from turnkeeper.model.graph import EdgeType, NodeType
from turnkeeper.model.names import collapsed
from turnkeeper.ports.plugins import Retrieval, Seed, Solution, SolveStatus

BELOW_FLOOR = "answer_below_floor"
TOO_FEW_FAMILIES = "too_few_kinds_of_answers"
STRENGTHS = ("weak", "sufficient", "strong")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer that may be given. Its family is who gave it and what it rests on."""

    node: str
    branch: str
    solver: str
    knowledge: str | None
    retrieval: Retrieval
    solution: Solution

    @property
    def text(self) -> str:
        return " ".join(said.text for said in self.solution.statements)

    @property
    def strength(self) -> str:
        """Strong rests on two units or more, weak on none."""
        return STRENGTHS[min(2, len(self.solution.sources))]

    @property
    def family(self) -> tuple[str, frozenset[str]]:
        return self.solver, frozenset(found.unit.id for found in self.solution.sources)


class Deliberation:
    """Notes every attempt at one seed and says which candidate to judge first."""

    def __init__(self, frame: FrameTrail, seed: Seed, level: Level) -> None:
        self._frame, self._seed, self._level = frame, seed, level
        self._notes = frame.trail.notes
        self.candidates: list[Candidate] = []

    @property
    def is_full(self) -> bool:
        return len(self.candidates) >= self._level.candidates

    def branch(self, solver: str, knowledge: str | None) -> str:
        branch = self._frame.begin(NodeType.BRANCH, solver, metadata={"knowledge": knowledge})
        self._notes.edge(EdgeType.SPAWNED_FROM, self._frame.seed_id(self._seed), branch)
        return branch

    def uses(self, branch: str, execution: str) -> None:
        self._notes.edge(EdgeType.USES, branch, execution)

    def failed(self, branch: str, failure: PluginUnusable) -> None:
        node = self._frame.begin(NodeType.FAILURE, failure.plugin)
        self._notes.end(node, "failed", error=failure.reason)
        self._notes.edge(EdgeType.FAILED_AS, branch, node)
        self._notes.end(branch, "failed", error=failure.reason)

    def produced(self, branch: str, solution: Solution) -> str:
        known = solution.status is SolveStatus.SUCCESS
        node = self._frame.begin(NodeType.RESULT, "answer" if known else SolveStatus.NO_CONTEXT)
        self._notes.end(
            node,
            "answered" if known else SolveStatus.NO_CONTEXT,
            output=" ".join(said.text for said in solution.statements),
            metadata={"sources": [found.unit.id for found in solution.sources]},
        )
        self._notes.edge(EdgeType.PRODUCED, branch, node)
        self._notes.end(branch, "succeeded")
        return node

    def propose(
        self, branch: str, result: str, solver: str, knowledge: str | None, retrieval: Retrieval, solution: Solution
    ) -> Candidate:
        node = self._frame.begin(NodeType.CANDIDATE, " ".join(said.text for said in solution.statements)[:80])
        self._notes.edge(EdgeType.SPAWNED_FROM, branch, node)
        self._notes.edge(EdgeType.DERIVED_FROM, node, result)
        candidate = Candidate(
            node=node, branch=branch, solver=solver, knowledge=knowledge, retrieval=retrieval, solution=solution
        )
        self._notes.end(node, "candidate", metadata={"strength": candidate.strength, "selected": False})
        self.candidates.append(candidate)
        return candidate

    def needs(self, candidate: Candidate, execution: str) -> None:
        self._notes.edge(EdgeType.NEEDS, candidate.branch, execution)

    def ended(self, candidate: Candidate, status: str) -> None:
        accepted = status == "accepted"
        self._notes.end(candidate.node, status, metadata={"selected": accepted, "strength": candidate.strength})

    def best_first(self) -> list[Candidate]:
        """Those that rest on more come first; of equals, the one that came first. Comparing is noted."""
        ordered = sorted(self.candidates, key=lambda each: -STRENGTHS.index(each.strength))
        for other in islice(ordered[1:], self._level.comparisons):
            self._compare(ordered[0], other)
        return ordered

    def settle(self, chosen: Candidate | None) -> None:
        """Say how the weighing ended, and warn where the level asked for more than there was."""
        if chosen is None:
            self._notes.end(self._frame.policy_id(), "fallback")
            return
        self._notes.end(self._frame.policy_id(), "settled" if self._level.number else "single-shot")
        if STRENGTHS.index(chosen.strength) < STRENGTHS.index(self._level.floor) and self._level.number:
            self._notes.warn(BELOW_FLOOR, {"strength": chosen.strength, "floor": self._level.floor})
        families = len({candidate.family for candidate in self.candidates})
        if families < self._level.families:
            self._notes.warn(TOO_FEW_FAMILIES, {"found": families, "wanted": self._level.families})

    def _compare(self, best: Candidate, other: Candidate) -> None:
        same = collapsed(best.text) == collapsed(other.text)
        contrary = None not in (best.solution.verdict, other.solution.verdict) and (
            best.solution.verdict != other.solution.verdict
        )
        resolved = same or best.strength != other.strength
        comparison = self._frame.begin(NodeType.COMPARISON, f"{best.solver} vs {other.solver}")
        for candidate in (best, other):
            self._notes.edge(EdgeType.COMPARES, comparison, candidate.node)
        criterion = "agreement" if same else "support"
        self._notes.end(comparison, "resolved" if resolved else "open", metadata={"criterion": criterion})
        said = "says_same" if same else "says_opposite" if contrary else "says_other"
        challenge = self._frame.begin(NodeType.CHALLENGE, speech().replies[said].format(plugin=other.solver))
        self._notes.edge(EdgeType.CHALLENGES, challenge, best.node)
        severity = "high" if contrary else "medium"
        self._notes.end(challenge, "resolved" if resolved else "open", metadata={"severity": severity})
