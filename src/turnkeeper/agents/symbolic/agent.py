"""The agent `symbolic`: reads a message, remembers what it says, and answers what it asks through plugins."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import partial

from turnkeeper.agents.symbolic.acknowledge import noted_too
from turnkeeper.agents.symbolic.choice import Choice, choice_for
from turnkeeper.agents.symbolic.document import bounded
from turnkeeper.agents.symbolic.frames import MOST_SEEDS, RETRYABLE, Answered, Frames
from turnkeeper.agents.symbolic.guidance import lasting, refusals, shape_of
from turnkeeper.agents.symbolic.language import speech
from turnkeeper.agents.symbolic.levels import LEVELS
from turnkeeper.agents.symbolic.question import asks_for_little, read_question
from turnkeeper.agents.symbolic.reference import antecedent, has_pronoun
from turnkeeper.agents.symbolic.registry import PluginRegistry
from turnkeeper.agents.symbolic.render import pieces_of, render
from turnkeeper.agents.symbolic.small_talk import small_talk
from turnkeeper.agents.symbolic.stage import PluginUnusable, Stages, Told, exhausted, is_fault_of_plugin, log_failure
from turnkeeper.agents.symbolic.trail import FrameTrail, Trail
from turnkeeper.agents.symbolic.wishes import as_wished, is_not_to_be_kept
from turnkeeper.errors import TurnkeeperError
from turnkeeper.model.ids import AgentId, UnitId
from turnkeeper.model.message import Speaker
from turnkeeper.model.unit import PhaseScope, Unit
from turnkeeper.ports.agent import AgentPolicy, AgentTurn
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.plugins import (
    Detection,
    DetectionStatus,
    KnowledgeEvent,
    KnowledgeEventType,
    PluginKind,
    Seed,
)

SYMBOLIC = AgentId("symbolic")
PLUGIN_NOT_TOLD = "knowledge_plugin_not_told"
QUESTIONS_LEFT_OUT = "questions_left_out"
BUDGET_EXHAUSTED = "budget_exhausted"
HEARING_SECONDS = 2.0
MOST_GUIDANCE = 20
MOST_TOPICS = 50
ANSWERED, NO_CONTEXT = "answered", "no-context"


class SymbolicAgent:
    """Needs no model. Its plugins are gathered when it is first used, those of installed distributions too."""

    def __init__(self, gather: Callable[[], PluginRegistry], clock: Clock) -> None:
        self.id = SYMBOLIC
        self.policy = AgentPolicy(retry_safe=True)
        self._gather = gather
        self._clock = clock
        self._plugins: PluginRegistry | None = None
        self._one_at_a_time = asyncio.Lock()

    async def plugins(self) -> PluginRegistry:
        """Gathered in a thread: reading languages and loading distributions takes a while, once."""
        async with self._one_at_a_time:
            if self._plugins is None:
                self._plugins = await asyncio.to_thread(self._gather)
        return self._plugins

    async def answer(self, turn: AgentTurn) -> AsyncGenerator[str, None]:
        for piece in pieces_of(await _TurnOfPlugins(turn, await self.plugins(), self._clock).answer()):
            yield piece

    async def heard(self, event: KnowledgeEvent) -> list[str]:
        """Tell every knowledge plugin, and return the ids of those that failed to listen."""
        return await _tell_knowledge(await self.plugins(), event)


class _TurnOfPlugins:
    """One turn: detect, stage, plan, find, solve, judge, render."""

    def __init__(self, turn: AgentTurn, plugins: PluginRegistry, clock: Clock) -> None:
        context = turn.context
        explicit, preferred = context.explicit, context.preferred
        number = explicit.level if explicit.level is not None else preferred.level or 0
        self._turn, self._plugins = turn, plugins
        self._level = LEVELS[number]
        self._choice: Choice = choice_for(context, plugins, turn.notes)
        self._stages = Stages(
            context=context,
            memory=turn.memory,
            clock=clock,
            level=number,
            model=explicit.model or preferred.model,
        )
        self._trail = Trail(turn.notes)
        self._remarks: list[str] = []

    async def answer(self) -> str:
        turn, limits = self._turn, self._turn.context.budget.limits
        root = self._trail.frame(
            depth=0, purpose="chat-turn", level=self._level, max_depth=limits.depth, input=turn.text
        )
        try:
            # Before anything is staged or told to a plugin: what is not to be remembered is dropped here.
            detection = as_wished(await self._detect(root), turn.text)
            seeds = await self._seeds(detection)
            for seed in seeds:
                root.begin_seed(seed)
            turn.remember(*detection.units)
            await self._tell(detection.units)
            answers = await self._answers(root, seeds, detection.units)
        except TurnkeeperError as error:
            root.end("failed", error=error.code, units=len(turn.staged_units))
            raise
        turn.forget(*_forgotten_by(answers))
        self._tell_what_is_missing(answers)
        guidance = await self._guidance(PhaseScope.SOLVE, detection.units)
        if any(seed.asks for seed in seeds):
            self._remarks += refusals(detection.units)
        if any(seed.asks for seed in seeds) and not any(each.is_known for each in answers):
            self._remarks += noted_too(detection.units)
        if any(seed.asks for seed in seeds) and is_not_to_be_kept(turn.text):
            self._remarks.append(speech().replies["not_kept"])
        shape = shape_of(guidance if any(seed.asks for seed in seeds) else lasting(guidance))
        rendered = render(answers, shape, self._remarks)
        root.end(
            "succeeded",
            seeds=[seed.text for seed in seeds],
            units=[unit.id for unit in detection.units],
            closure=rendered.document["closure"],
        )
        turn.notes.answered(
            ANSWERED if rendered.is_known else NO_CONTEXT,
            document=bounded(rendered.document),
            model=_model_of(answers) or detection.model,
            level=self._level.number,
        )
        return rendered.text

    async def _detect(self, root: FrameTrail) -> Detection:
        text = self._turn.text
        order = self._choice.order(PluginKind.SEED_DETECTOR)
        failures: list[PluginUnusable] = []
        for place, id in enumerate(order):
            detector = self._plugins.seed_detector(id)
            try:
                _, detection = await self._stages.run(
                    root,
                    detector,
                    Detection,
                    partial(detector.detect, text),
                    _tell_detection,
                    input=text,
                    is_last=place == len(order) - 1,
                )
            except PluginUnusable as failure:
                failures.append(failure)
                continue
            if detection.status is DetectionStatus.UNSUPPORTED:
                failures.append(PluginUnusable(id, DetectionStatus.UNSUPPORTED))
                continue
            self._turn.notes.ran(PluginKind.SEED_DETECTOR, id)
            return detection
        raise exhausted(PluginKind.SEED_DETECTOR, failures, self._turn.context)

    async def _seeds(self, detection: Detection) -> tuple[Seed, ...]:
        """One for each question; a message that asks nothing is one by itself."""
        asked, whole = detection.asked, self._turn.text.strip()
        if not asked and not detection.units and whole.endswith("?") and small_talk(whole) is None:
            asked = (whole,)
        if len(asked) > MOST_SEEDS:
            self._leave_out(asked=len(asked))
            asked = asked[:MOST_SEEDS]
        if not asked:
            return (Seed(id="seed-1", text=whole, asks=False),)
        said = [message.content for message in reversed(self._turn.history) if message.role is Speaker.USER]
        told = [unit.content for unit in reversed(detection.units)]
        topics = [unit.topic for unit in reversed(detection.units)]
        if any(has_pronoun(text) for text in asked):
            topics += [unit.topic for unit in await self._turn.memory.newest(limit=MOST_TOPICS)]
        seeds = []
        for number, text in enumerate(asked, start=1):
            earlier = [*asked[: number - 1][::-1], *told, *said]
            refers_to = antecedent(earlier, topics) if has_pronoun(text) else None
            acts, brief = read_question(text).acts, asks_for_little(text)
            seeds.append(Seed(id=f"seed-{number}", text=text, acts=acts, refers_to=refers_to, brief=brief))
        return tuple(seeds)

    def _tell_what_is_missing(self, answers: Sequence[Answered]) -> None:
        for each in _with_parts(answers):
            if each.left_out:
                self._leave_out(asked=len(each.parts) + each.left_out)
        unknown = any(not each.parts and each.seed.asks and not each.is_known for each in _with_parts(answers))
        if unknown and self._stages.skipped:
            self._turn.notes.warn(BUDGET_EXHAUSTED, {"plugins": list(dict.fromkeys(self._stages.skipped))})
            self._remarks.append(speech().replies["out_of_calls"])

    def _leave_out(self, *, asked: int) -> None:
        self._turn.notes.warn(QUESTIONS_LEFT_OUT, {"asked": asked, "answered": MOST_SEEDS})
        self._remarks.append(speech().replies["left_out"].format(answered=MOST_SEEDS, asked=asked))

    async def _tell(self, units: tuple[Unit, ...]) -> None:
        """Knowledge plugins hear of staged units. One that fails to listen is a warning: the units are at hand."""
        if not units:
            return
        context = self._turn.context
        event = KnowledgeEvent(
            type=KnowledgeEventType.UNITS_STAGED,
            tenant=context.tenant,
            session_id=context.session_id,
            run_id=context.run_id,
            units=units,
        )
        if deaf := await _tell_knowledge(self._plugins, event):
            self._turn.notes.warn(PLUGIN_NOT_TOLD, {"plugins": deaf})

    async def _answers(
        self, root: FrameTrail, seeds: tuple[Seed, ...], staged: tuple[Unit, ...]
    ) -> tuple[Answered, ...]:
        """Under the first planner that leads to an answer. A weak answer counts when no planner finds a better one."""
        planning = await self._guidance(PhaseScope.PLAN, staged)
        answering = await self._guidance(PhaseScope.SOLVE, staged)
        judging = await self._guidance(PhaseScope.VALIDATE, staged)
        pinned = self._choice.is_pinned(PluginKind.PLANNER)
        order = self._choice.order(PluginKind.PLANNER)
        weak: tuple[str, tuple[Answered, ...]] | None = None
        failed: TurnkeeperError | None = None
        for place, id in enumerate(order):
            frames = Frames(
                stages=self._stages,
                choice=self._choice,
                level=self._level,
                planner=self._plugins.planner(id),
                staged=staged,
                planning_guidance=planning,
                answering_guidance=answering,
                judging_guidance=judging,
            )
            self._trail.planner = id
            try:
                answers = await frames.answer(root, seeds)
            except RETRYABLE as error:
                if pinned:
                    raise
                failed = error
                root.planner_led_nowhere()
                continue
            if any(each.is_known or each.sufficient for each in answers) or pinned or place == len(order) - 1:
                self._turn.notes.ran(PluginKind.PLANNER, id)
                return answers
            weak = weak or (id, answers)
            root.planner_led_nowhere()
        if weak is not None:
            self._turn.notes.ran(PluginKind.PLANNER, weak[0])
            return weak[1]
        raise failed or exhausted(PluginKind.PLANNER, [], self._turn.context)

    async def _guidance(self, scope: PhaseScope, staged: tuple[Unit, ...]) -> tuple[Unit, ...]:
        """Newest first: what this message says, then what was said before."""
        kept = await self._turn.memory.guidance(scope, limit=MOST_GUIDANCE)
        return (*(unit for unit in reversed(staged) if unit.guides(scope)), *(found.unit for found in kept))


async def _tell_knowledge(plugins: PluginRegistry, event: KnowledgeEvent) -> list[str]:
    """Tell them all at once, under one limit; returns the ids of those that failed or took too long."""
    ids, told = plugins.ids(PluginKind.KNOWLEDGE), set()

    async def tell(id: str) -> None:
        try:
            await plugins.knowledge(id).heard(event)
        except BaseException as error:
            if not is_fault_of_plugin(error):
                raise
            log_failure(id, error, run_id=event.run_id)
        else:
            told.add(id)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HEARING_SECONDS), asyncio.TaskGroup() as group:
            for id in ids:
                group.create_task(tell(id))
    return [id for id in ids if id not in told]


def _with_parts(answers: Sequence[Answered]) -> Iterator[Answered]:
    for each in answers:
        yield each
        yield from _with_parts(each.parts)


def _forgotten_by(answers: Sequence[Answered]) -> list[UnitId]:
    return [
        unit for each in answers for unit in (each.solution.forgets if each.solution else _forgotten_by(each.parts))
    ]


def _model_of(answers: Sequence[Answered]) -> str | None:
    """Who wrote the answer, where a model did; it becomes what the session would rather use."""
    for each in answers:
        model = each.solution.model if each.solution else _model_of(each.parts)
        if model:
            return model
    return None


def _tell_detection(detection: Detection) -> Told:
    shown = {"units": [unit.content for unit in detection.units], "asked": detection.asked}
    return Told(status=detection.status, output=shown, model=detection.model)
