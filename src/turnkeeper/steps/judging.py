"""What becomes of a verdict: it is told, in a long run kept before anything else is done, and then obeyed."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from turnkeeper.errors import AgentFailed, Escalated, VerifyRejected
from turnkeeper.ledger.output import Output
from turnkeeper.model.checkpoint import Ask, AskKind, Checkpoint
from turnkeeper.model.feed import FeedType
from turnkeeper.model.mode import Mode
from turnkeeper.model.plain_text import is_plain_text
from turnkeeper.model.verdict import Judgement, Verdict
from turnkeeper.ports.agent import AgentTurn, Suspended
from turnkeeper.ports.checkpoints import CheckpointStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.feed import FeedStore, Wakes
from turnkeeper.ports.telemetry import Telemetry
from turnkeeper.steps.draft import TurnDraft


class Judging:
    """The verdicts of one run in their order. Those of an earlier walk through the agent are found, not kept twice.

    `output` is what the agent has said by now.
    """

    def __init__(
        self,
        draft: TurnDraft,
        feed: FeedStore,
        checkpoints: CheckpointStore,
        wakes: Wakes,
        clock: Clock,
        telemetry: Telemetry,
        output: Output,
    ) -> None:
        self._draft, self._feed, self._checkpoints = draft, feed, checkpoints
        self._wakes, self._clock, self._telemetry, self._output = wakes, clock, telemetry, output
        self._known = draft.resumed.verdicts if draft.resumed else ()
        self._passed: list[Verdict] = []
        self._told_used: dict[str, float] = {}

    @property
    def passed(self) -> tuple[Verdict, ...]:
        return tuple(self._passed)

    @property
    def catches_up(self) -> bool:
        """Whether the agent has not yet come to where an earlier walk had got."""
        return len(self._passed) < len(self._known)

    async def ask(self, critic: Callable[[], Awaitable[Verdict]], turn: AgentTurn) -> Verdict:
        """The verdict of a critic. What it judged in an earlier walk stands."""
        verdict = self._known[len(self._passed)] if self.catches_up else await critic()
        return await self.take(verdict, turn)

    async def take(self, verdict: Verdict, turn: AgentTurn) -> Verdict:
        """Raises VerifyRejected, Escalated, or Suspended until a person has approved."""
        if self.catches_up:
            verdict = self._known[len(self._passed)]
            self._passed.append(verdict)
        else:
            _check(verdict)
            self._passed.append(verdict)
            await self._keep(verdict)
        if verdict.value is Judgement.REJECT:
            raise VerifyRejected(verdict.kind, verdict.reasons)
        if verdict.value is Judgement.ESCALATE:
            self._wait_for_approval(verdict, turn)
        return verdict

    def checkpoint(
        self, asks: tuple[Ask, ...], said: str = "", position: Mapping[str, Any] | None = None
    ) -> Checkpoint:
        """Where the run stands. What it has understood goes with it; what its pack says can be read again."""
        draft, before = self._draft, self._draft.resumed
        used, held = dict(draft.materialized.budget.used), self._output.is_held
        now = Checkpoint(
            asks=asks,
            verdicts=self.passed,
            said=said,
            held=held,
            used=used,
            request_id=draft.run.input.request_id,
            warnings=draft.run.input.warnings,
            position=position or (before.position if before else None),
        )
        if before is not None:
            return replace(now, intent=before.intent, dialogue=before.dialogue, revision=before.revision)
        view = None if draft.intent is None else replace(draft.intent, prompts={}, tools=())
        return replace(now, intent=view, dialogue=draft.dialogue, revision=draft.opened.session.revision)

    async def _keep(self, verdict: Verdict) -> None:
        draft, now = self._draft, self._clock.now()
        draft.trace.note("verdict", {"phase": verdict.phase.value, "value": verdict.value.value, "kind": verdict.kind})
        if draft.run.mode is Mode.LONG_RUNNING:
            checkpoint = self.checkpoint(draft.asks, said=self._output.text)
            began = time.perf_counter()
            await self._checkpoints.save(draft.lease, checkpoint, verdict, at=now)
            self._telemetry.checkpoint_written(time.perf_counter() - began)
        else:
            await self._feed.append(draft.lease, FeedType.CRITIC_VERDICT, verdict.told, at=now)
        await self._tell_of_budget(draft)
        self._wakes.tell(draft.lease.tenant, draft.lease.subject)

    async def _tell_of_budget(self, draft: TurnDraft) -> None:
        """What the run has spent by now, where that has changed since it was told."""
        budget = draft.materialized.budget
        if budget.used != self._told_used:
            self._told_used = dict(budget.used)
            said = {"used": self._told_used, "limits": dict(budget.most)}
            await self._feed.append(draft.lease, FeedType.BUDGET_UPDATE, said, at=self._clock.now())

    def _wait_for_approval(self, verdict: Verdict, turn: AgentTurn) -> None:
        if self._draft.run.mode is not Mode.LONG_RUNNING:
            raise Escalated(verdict.kind, verdict.reasons)
        while turn.answered < len(self._draft.asks):
            ask = turn.next_answer()
            if ask.kind is not AskKind.APPROVAL:
                raise AgentFailed("The agent asked for something else than in its earlier walk. Ask in one order.")
            if ask.approves is False:
                raise Escalated(verdict.kind, verdict.reasons, denied=True)
            if ask.approves is True:
                return
        question = "\n".join(verdict.reasons) or "May I go on?"
        raise Suspended(question, AskKind.APPROVAL)


def _check(verdict: object) -> None:
    if not isinstance(verdict, Verdict):
        raise AgentFailed(f"The critic judged with a {type(verdict).__name__}. Return a Verdict.")
    if not all(is_plain_text(text) for text in (verdict.kind or "", verdict.step or "", *verdict.reasons)):
        raise AgentFailed("A verdict holds a NUL character or half of a surrogate pair.")
