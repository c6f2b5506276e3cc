"""Hand the turn to its agent, have it judged, and stage what it says."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from turnkeeper.errors import AgentFailed, AgentNotFound, AnswerRejected, StateTooLarge
from turnkeeper.ledger.effects import RunEffects
from turnkeeper.ledger.output import Output, OutputRules
from turnkeeper.model.approval import ApprovalWish
from turnkeeper.model.budget import Resource
from turnkeeper.model.checkpoint import Ask, Checkpoint
from turnkeeper.model.feed import FeedType
from turnkeeper.model.lease import Lease
from turnkeeper.model.plain_text import is_plain_text, says_plain_text
from turnkeeper.model.session import Custody
from turnkeeper.model.unit import UnitChanges
from turnkeeper.model.verdict import Judgement, Verdict
from turnkeeper.ports.agent import Agent, Agents, AgentTurn, Suspended
from turnkeeper.ports.checkpoints import CheckpointStore
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.critic import Critic, Scorer, Verifier
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.effects import EffectLedger, Effects
from turnkeeper.ports.feed import FeedStore, Wakes
from turnkeeper.ports.substrate import Check, Mounted, Substrate
from turnkeeper.ports.telemetry import Telemetry
from turnkeeper.scope.calling import CalledTools, RunOfTools, ToolDesk
from turnkeeper.steps.draft import TurnDraft
from turnkeeper.steps.judging import Judging
from turnkeeper.steps.receive import json_size
from turnkeeper.substrate.of_run import RunOfSubstrate, RunSubstrate, SubstrateDesk

_SPENT_BY = {Judgement.RETRY: Resource.RETRIES, Judgement.REPLAN: Resource.REPLANS}


class RunSuspended(Exception):
    """The agent asked something that has no answer yet, or needs an approval that nobody has decided."""

    def __init__(self, checkpoint: Checkpoint, wish: ApprovalWish | None = None) -> None:
        super().__init__("the run waits for an answer")
        self.checkpoint, self.wish = checkpoint, wish


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOff:
    agents: Agents
    custodians: Mapping[Custody, Custodian]
    feed: FeedStore
    wakes: Wakes
    checkpoints: CheckpointStore
    effects: EffectLedger
    clock: Clock
    telemetry: Telemetry
    rules: OutputRules
    state_bytes: int
    critic_retries: int
    desk: ToolDesk
    substrate: SubstrateDesk

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        if draft.answer is not None:
            return await self._say(draft, draft.answer)
        agent = self.agents.get(draft.run.agent)
        if agent is None:
            raise AgentNotFound(draft.run.agent, sorted(self.agents.all()))
        await self._tell_of_warnings(draft)
        critic = agent.policy.critic or self.agents.critic
        said = draft.resumed.said if draft.resumed else ""
        held = critic is not None and isinstance(critic, Scorer)
        output = Output(self.feed, self.wakes, draft.lease, self.rules, said=said, held=held)
        judging = Judging(draft, self.feed, self.checkpoints, self.wakes, self.clock, self.telemetry, output)
        try:
            turn = await self._answered(draft, agent, critic, judging, output)
            if draft.afterword is not None:
                await output.add(f"\n\n{draft.afterword}")
        except Suspended as asked:
            _check_piece(asked.question)
            wish = asked.wish
            ask = Ask(
                said=await output.finished(),
                question=asked.question,
                kind=asked.kind,
                approval_id=wish.id if wish else None,
                approval_key=wish.key if wish else None,
            )
            position = None if asked.position is None else self._checked(asked.position)
            raise RunSuspended(judging.checkpoint((*draft.asks, ask), position=position), wish) from None
        finally:
            await output.stop()
        text = await output.finished()
        state = self._checked(turn.state)
        if not all(says_plain_text(unit) for unit in turn.staged_units):
            raise AgentFailed("The agent remembered a NUL character or half of a surrogate pair.")
        return replace(
            draft,
            text=text,
            state=state,
            agent_head=None if turn.next_head is None else self._checked(turn.next_head),
            staged_units=tuple(turn.staged_units),
            unit_changes=UnitChanges(forgotten=tuple(dict.fromkeys(turn.forgotten_units))),
        )

    async def _answered(
        self, draft: TurnDraft, agent: Agent, critic: Critic | None, judging: Judging, output: Output
    ) -> AgentTurn:
        """The turn once its agent has answered it and its critic, if it has one, has let the answer pass."""
        effects = RunEffects(
            self.effects,
            self.wakes,
            self.clock,
            draft.lease,
            draft.run.first_attempt,
            draft.materialized.budget,
            most_bytes=self.state_bytes,
        )
        turn = self._turn(draft, effects)
        if critic is None:
            await self._speak(draft, agent, turn, judging, output)
            return turn
        if isinstance(critic, Verifier):
            verifier = critic
            await judging.ask(lambda: verifier.verify(turn), turn)
        if not isinstance(critic, Scorer):
            await self._speak(draft, agent, turn, judging, output)
            return turn
        for _ in range(self.critic_retries + 1):
            await self._speak(draft, agent, turn, judging, output)
            verdict = await judging.ask(_scoring(critic, turn, output), turn)
            if verdict.value in (Judgement.ACCEPT, Judgement.ESCALATE):
                return turn
            draft.materialized.budget.debit(_SPENT_BY[verdict.value])
            if not judging.catches_up:
                output.restart()
            turn = self._turn(draft, effects, answered=turn.answered)
        raise AnswerRejected(verdict.reasons)

    async def _speak(self, draft: TurnDraft, agent: Agent, turn: AgentTurn, judging: Judging, output: Output) -> None:
        repeated: list[str] = []
        async with aclosing(agent.answer(turn)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Verdict):
                    await judging.take(piece, turn)
                    continue
                _check_piece(piece)
                # What comes before an answered question or a known verdict was said in an earlier walk.
                if turn.answered == len(draft.asks) and not judging.catches_up:
                    await output.add(piece)
                else:
                    repeated.append(piece)
        if turn.answered < len(draft.asks):
            await output.add(_unheard(draft.asks[turn.answered :], draft.asks, "".join(repeated)))

    def _turn(self, draft: TurnDraft, effects: Effects, answered: int = 0) -> AgentTurn:
        return AgentTurn(
            draft.materialized,
            draft.run.input.events,
            dict(draft.state),
            draft.asks,
            memory=self.custodians[draft.run.custody].memory(draft.opened),
            notes=draft.trace.notes,
            compiled=draft.compiled,
            effects=effects,
            answered=answered,
            head=draft.opened.session.agent_head,
            position=draft.resumed.position if draft.resumed else None,
            tell=partial(self._tell, draft.lease),
            tools=CalledTools(self.desk, self._calling(draft, effects)),
        )

    def _substrate(
        self,
        draft: TurnDraft,
        effects: Effects,
        loop: asyncio.AbstractEventLoop,
        check: Check,
        mounted: Mounted,
    ) -> Substrate:
        of = RunOfSubstrate(
            run=draft.run,
            lease=draft.lease,
            check=check,
            mounted=mounted,
            notes=draft.trace.notes,
            used=draft.trace.notes.manifests,
            effects=effects,
            loop=loop,
        )
        return RunSubstrate(self.substrate, of)

    async def _tell(self, lease: Lease, type: FeedType, said: Mapping[str, Any]) -> None:
        await self.feed.append(lease, type, said, at=self.clock.now())
        self.wakes.tell(lease.tenant, lease.subject)

    def _calling(self, draft: TurnDraft, effects: Effects) -> RunOfTools:
        agent = self.agents.get(draft.run.agent)
        return RunOfTools(
            run=draft.run,
            lease=draft.lease,
            session=draft.opened.session,
            context=draft.materialized,
            effects=effects,
            own_tools=agent.policy.tools if agent else (),
            own_mode=agent.policy.safety_mode if agent else None,
            substrate=partial(self._substrate, draft, effects, asyncio.get_running_loop()),
        )

    async def _tell_of_warnings(self, draft: TurnDraft) -> None:
        """What was odd about the input is told once, before the agent begins."""
        if draft.resumed is not None:
            return
        for event in draft.run.input.events:
            for warning in event.warnings:
                told = {"code": warning.code, "severity": warning.severity.value}
                await self.feed.append(draft.lease, FeedType.EVENT_WARNING, told, at=self.clock.now())

    async def _say(self, draft: TurnDraft, text: str) -> TurnDraft:
        """What is to be said was settled before: no agent is asked."""
        output = Output(self.feed, self.wakes, draft.lease, self.rules)
        try:
            await output.add(f"{text}\n\n{draft.afterword}" if draft.afterword else text)
            return replace(draft, text=await output.finished())
        finally:
            await output.stop()

    def _checked(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """The state as it is kept: plain JSON, whatever kind of text or number the agent put there."""
        size = json_size(state)
        if size is None:
            raise AgentFailed("The agent put something into its state or its head that is not JSON. Use plain values.")
        if size > self.state_bytes:
            raise StateTooLarge(size, self.state_bytes)
        plain: dict[str, Any] = json.loads(json.dumps(state)) if state else {}
        return plain


def _unheard(left: tuple[Ask, ...], asks: tuple[Ask, ...], text: str) -> str:
    """What is new in the words of an agent that came to its end without coming to what it had asked.

    It may have found what an approval was for out of reach. A question of its own it must ask again.
    """
    if any(ask.approval_id is None for ask in left):
        raise AgentFailed("The agent did not come to what it had asked in its earlier walk. Ask in one order.")
    return text.removeprefix("".join(ask.said for ask in asks))


def _scoring(critic: Scorer, turn: AgentTurn, output: Output) -> Callable[[], Awaitable[Verdict]]:
    return lambda: critic.score(turn, output.text)


def _check_piece(piece: object) -> None:
    if not isinstance(piece, str):
        raise AgentFailed(f"The agent spoke with a {type(piece).__name__}. Yield, return or ask with text.")
    if not is_plain_text(piece):
        raise AgentFailed("The agent said a NUL character or half of a surrogate pair.")
