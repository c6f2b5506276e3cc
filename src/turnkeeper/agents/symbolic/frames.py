"""Answering seeds: finding evidence, asking solvers, judging what they say, and taking questions apart."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from turnkeeper.agents.symbolic.choice import Choice
from turnkeeper.agents.symbolic.deliberation import Candidate, Deliberation
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.levels import Level
from turnkeeper.agents.symbolic.reference import antecedent, put_in
from turnkeeper.agents.symbolic.solver import SymbolicSolver
from turnkeeper.agents.symbolic.stage import PluginUnusable, Stages, Told, exhausted
from turnkeeper.agents.symbolic.trail import FrameTrail
from turnkeeper.agents.symbolic.words import share_a_word
from turnkeeper.errors import AnswerRejected, BudgetExceeded, FrameDepthExceeded, PluginStageExhausted, TurnkeeperError
from turnkeeper.model.unit import Unit
from turnkeeper.ports.plugins import (
    GoalSolver,
    Judgement,
    KnowledgePlugin,
    Plan,
    Planner,
    PlanPhase,
    PlanRequest,
    PluginKind,
    Retrieval,
    RetrievalStatus,
    Seed,
    Solution,
    SolveStatus,
    Task,
)

PART_FAILED = "question_failed"
MOST_SEEDS = 16
"""How many questions are answered at once: of a message, or of one that is taken apart."""
RETRYABLE = (PluginStageExhausted, BudgetExceeded, AnswerRejected, FrameDepthExceeded)
"""What another planner may get around."""

Found = tuple[str | None, Retrieval]
NOTHING_TO_FIND: Found = (None, Retrieval(status=RetrievalStatus.SUCCESS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What came of one seed. One that failed says why in `error`; one that was taken apart has `parts`.

    `left_out` are the parts that were too many.
    """

    seed: Seed
    solution: Solution | None
    knowledge: str | None = None
    solver: str | None = None
    sufficient: bool = True
    error: str | None = None
    parts: tuple["Answered", ...] = ()
    left_out: int = 0

    @property
    def is_known(self) -> bool:
        if self.parts:
            return any(part.is_known for part in self.parts)
        return self.solution is not None and self.solution.status is SolveStatus.SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """The frames of one turn under one planner."""

    stages: Stages
    choice: Choice
    level: Level
    planner: Planner
    staged: tuple[Unit, ...]
    planning_guidance: tuple[Unit, ...]
    answering_guidance: tuple[Unit, ...]
    judging_guidance: tuple[Unit, ...]

    async def answer(self, frame: FrameTrail, seeds: tuple[Seed, ...]) -> tuple[Answered, ...]:
        """One answer for each seed, in their order. Raises one of RETRYABLE when there is none."""
        plan = await self._plan(frame, PlanPhase.POST_SEED, seeds)
        if plan.separate and len(seeds) > 1:
            return await self._apart(frame, seeds, "parallel-question")
        return tuple([await self._answer_one(frame, seed, plan) for seed in seeds])

    async def _apart(self, frame: FrameTrail, seeds: Sequence[Seed], purpose: str) -> tuple[Answered, ...]:
        """A child frame for each seed, some at once. What one of them fails at does not stop the others."""
        limits = self.stages.context.budget.limits
        if frame.depth + 1 > limits.depth:
            raise FrameDepthExceeded(limits.depth)
        slots = asyncio.Semaphore(limits.parallel_frames)
        errors: list[TurnkeeperError] = []

        async def one(seed: Seed) -> Answered:
            async with slots:
                child = frame.child(purpose=purpose, seed=seed, level=self.level, max_depth=limits.depth)
                try:
                    plan = await self._plan(child, PlanPhase.POST_SEED, (seed,))
                    answered = await self._answer_one(child, seed, plan)
                except RETRYABLE as error:
                    child.end("failed", error=error.code)
                    errors.append(error)
                    return Answered(seed=seed, solution=None, error=error.code)
                child.end("succeeded")
                return answered

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(seed)) for seed in seeds]
        answers = tuple(task.result() for task in tasks)
        if len(errors) == len(answers):
            raise errors[0]
        if errors:
            frame.trail.notes.warn(PART_FAILED, {"seeds": [answer.seed.id for answer in answers if answer.error]})
        return answers

    async def _answer_one(self, frame: FrameTrail, seed: Seed, plan: Plan) -> Answered:
        found = await self._find(frame, seed, plan) if seed.asks else [NOTHING_TO_FIND]
        plan = await self._plan(frame, PlanPhase.POST_KNOWLEDGE, (seed,), tuple(each for _, each in found))
        return await self._solve(frame, seed, plan, found)

    async def _plan(
        self, frame: FrameTrail, phase: PlanPhase, seeds: tuple[Seed, ...], retrievals: tuple[Retrieval, ...] = ()
    ) -> Plan:
        words = " ".join(seed.text for seed in seeds)
        request = PlanRequest(
            phase=phase,
            seeds=seeds,
            knowledge=self.choice.registry.descriptors(PluginKind.KNOWLEDGE),
            solvers=self.choice.registry.descriptors(PluginKind.GOAL_SOLVER),
            guidance=tuple(unit for unit in self.planning_guidance if share_a_word(words, unit)),
            retrievals=retrievals,
        )
        asked = {
            "phase": phase,
            "seeds": [seed.text for seed in seeds],
            "guidance": len(request.guidance),
            "evidence": sum(len(each.evidence) for each in retrievals),
        }
        try:
            _, plan = await self.stages.run(
                frame, self.planner, Plan, partial(self.planner.plan, request), _tell_plan, input=asked
            )
        except PluginUnusable as failure:
            raise exhausted(PluginKind.PLANNER, [failure], self.stages.context) from failure
        return plan

    async def _find(self, frame: FrameTrail, seed: Seed, plan: Plan) -> list[Found]:
        """What knowledge plugins found, until one of them has enough or, above level 0, until all were asked."""
        staged = tuple(
            unit for unit in self.staged if unit.is_evidence and share_a_word(put_in(seed.text, seed.refers_to), unit)
        )
        order = self.choice.order(PluginKind.KNOWLEDGE, plan.knowledge)
        found: list[Found] = []
        failures: list[PluginUnusable] = []
        for place, id in enumerate(order):
            plugin: KnowledgePlugin = self.choice.registry.knowledge(id)
            try:
                _, retrieval = await self.stages.run(
                    frame,
                    plugin,
                    Retrieval,
                    partial(plugin.retrieve, seed, staged),
                    _tell_retrieval,
                    input={"seed": seed.text, "staged": [unit.id for unit in staged]},
                    is_last=place == len(order) - 1,
                )
            except PluginUnusable as failure:
                failures.append(failure)
                continue
            frame.trail.notes.ran(PluginKind.KNOWLEDGE, id)
            found.append((id, retrieval))
            if retrieval.status is RetrievalStatus.SUCCESS and self.level.number == 0:
                break
        if not found:
            raise exhausted(PluginKind.KNOWLEDGE, failures, self.stages.context)
        # What sufficed is solved first.
        return sorted(found, key=lambda each: each[1].status is not RetrievalStatus.SUCCESS)

    async def _solve(self, frame: FrameTrail, seed: Seed, plan: Plan, found: list[Found]) -> Answered:
        weighing = Deliberation(frame, seed, self.level)
        sufficient = any(retrieval.status is RetrievalStatus.SUCCESS for _, retrieval in found)
        order = self.choice.order(PluginKind.GOAL_SOLVER, plan.solvers)
        failures: list[PluginUnusable] = []
        weak: list[Answered] = []
        rejected: list[str] = []
        attempts = [(knowledge, retrieval, id) for knowledge, retrieval in found for id in order]
        for place, (knowledge, retrieval, id) in enumerate(attempts):
            task = Task(seed=seed, evidence=retrieval.evidence, staged=self.staged, guidance=self.answering_guidance)
            branch = weighing.branch(id, knowledge)
            try:
                solution = await self._ask(frame, weighing, branch, id, task, place == len(attempts) - 1)
            except PluginUnusable as failure:
                weighing.failed(branch, failure)
                failures.append(failure)
                continue
            if solution.status is SolveStatus.NEEDS_DECOMPOSITION:
                frame.trail.notes.ran(PluginKind.GOAL_SOLVER, id)
                return await self._take_apart(frame, seed, solution.questions, knowledge, id)
            result = weighing.produced(branch, solution)
            if solution.status is SolveStatus.NO_CONTEXT:
                weak.append(
                    Answered(seed=seed, solution=solution, knowledge=knowledge, solver=id, sufficient=sufficient)
                )
                continue
            candidate = weighing.propose(branch, result, id, knowledge, retrieval, solution)
            if self.level.number == 0:
                if await self._accepts(frame, weighing, task, candidate, rejected):
                    return self._chosen(frame, weighing, seed, candidate)
            elif weighing.is_full:
                break
        if self.level.number:
            for candidate in weighing.best_first():
                task = Task(
                    seed=seed,
                    evidence=candidate.retrieval.evidence,
                    staged=self.staged,
                    guidance=self.answering_guidance,
                )
                if await self._accepts(frame, weighing, task, candidate, rejected):
                    return self._chosen(frame, weighing, seed, candidate)
        weighing.settle(None)
        if weak:
            best = max(weak, key=_worth)
            assert best.solver is not None, "a weak answer was given by a solver"
            frame.trail.notes.ran(PluginKind.GOAL_SOLVER, best.solver)
            return best
        if rejected:
            raise AnswerRejected(rejected)
        raise exhausted(PluginKind.GOAL_SOLVER, failures, self.stages.context)

    async def _ask(
        self, frame: FrameTrail, weighing: Deliberation, branch: str, id: str, task: Task, is_last: bool
    ) -> Solution:
        solver: GoalSolver = self.choice.registry.goal_solver(id)
        node, solution = await self.stages.run(
            frame,
            solver,
            Solution,
            partial(solver.solve, task),
            _tell_solution,
            input={
                "seed": task.seed.text,
                "evidence": [found.unit.id for found in task.evidence],
                "guidance": [unit.content for unit in task.guidance],
            },
            is_last=is_last,
        )
        weighing.uses(branch, node)
        return solution

    async def _take_apart(
        self, frame: FrameTrail, seed: Seed, questions: Sequence[str], knowledge: str | None, solver: str
    ) -> Answered:
        seeds = [
            Seed(
                id=f"{seed.id}.{number}",
                text=question,
                acts=seed.acts,
                refers_to=antecedent(questions[: number - 1][::-1]) or seed.refers_to,
            )
            for number, question in enumerate(questions[:MOST_SEEDS], start=1)
        ]
        for each in seeds:
            frame.begin_seed(each)
        parts = await self._apart(frame, seeds, "decomposition")
        left_out = len(questions) - len(seeds)
        return Answered(seed=seed, solution=None, knowledge=knowledge, solver=solver, parts=parts, left_out=left_out)

    def _chosen(self, frame: FrameTrail, weighing: Deliberation, seed: Seed, candidate: Candidate) -> Answered:
        weighing.settle(candidate)
        frame.trail.notes.ran(PluginKind.GOAL_SOLVER, candidate.solver)
        return Answered(seed=seed, solution=candidate.solution, knowledge=candidate.knowledge, solver=candidate.solver)

    async def _accepts(
        self, frame: FrameTrail, weighing: Deliberation, task: Task, candidate: Candidate, rejected: list[str]
    ) -> bool:
        """Whether the answer may be given. Where validators are registered, one of them has to say yes.

        A validator that fails has said nothing: the next one is asked, and if all fail, there is no answer.
        """
        order = self.choice.order(PluginKind.VALIDATOR)
        task = replace(task, guidance=(*task.guidance, *self.judging_guidance))
        failures: list[PluginUnusable] = []
        for place, id in enumerate(order):
            validator = self.choice.registry.validator(id)
            try:
                node, judgement = await self.stages.run(
                    frame,
                    validator,
                    Judgement,
                    partial(validator.judge, task, candidate.solution),
                    _tell_judgement,
                    input=candidate.text,
                    is_last=place == len(order) - 1,
                )
            except PluginUnusable as failure:
                failures.append(failure)
                continue
            frame.trail.notes.ran(PluginKind.VALIDATOR, id)
            weighing.needs(candidate, node)
            weighing.ended(candidate, "accepted" if judgement.accepted else "rejected")
            if not judgement.accepted:
                rejected.append(judgement.reason or speech().replies["no_reason"].format(plugin=id))
            return judgement.accepted
        if failures:
            weighing.ended(candidate, "not-judged")
            raise exhausted(PluginKind.VALIDATOR, failures, self.stages.context)
        weighing.ended(candidate, "accepted")
        return True


def _worth(weak: Answered) -> tuple[bool, bool]:
    """Of answers that do not know, one with sources says most; then our own solver says it most plainly."""
    assert weak.solution is not None, "a weak answer is one"
    return bool(weak.solution.sources), weak.solver == SymbolicSolver.descriptor.id


def _tell_plan(plan: Plan) -> Told:
    shown = {"knowledge": plan.knowledge, "solvers": plan.solvers, "separate": plan.separate, "notes": plan.notes}
    return Told(status="success", output=shown)


def _tell_retrieval(retrieval: Retrieval) -> Told:
    return Told(status=retrieval.status, output=[found.unit.id for found in retrieval.evidence])


def _tell_solution(solution: Solution) -> Told:
    said = " ".join(said.text for said in solution.statements) or list(solution.questions)
    return Told(status=solution.status, output=said, model=solution.model)


def _tell_judgement(judgement: Judgement) -> Told:
    return Told(status="accepted" if judgement.accepted else "rejected", output=judgement.reason)
