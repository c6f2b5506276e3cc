"""Hand the turn to its agent and stage what it says."""

import json
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.errors import AgentFailed, AgentNotFound, StateTooLarge
from turnkeeper.ledger.output import Output, OutputRules
from turnkeeper.model.checkpoint import Ask, Checkpoint
from turnkeeper.model.plain_text import is_plain_text, says_plain_text
from turnkeeper.model.session import Custody
from turnkeeper.model.unit import UnitChanges
from turnkeeper.ports.agent import Agents, AgentTurn, Suspended
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.feed import FeedStore, Wakes
from turnkeeper.steps.draft import TurnDraft
from turnkeeper.steps.receive import json_size


class RunSuspended(Exception):
    """The agent asked something that has no answer yet."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        super().__init__("the run waits for an answer")
        self.checkpoint = checkpoint


@dataclass(frozen=True, slots=True)
class HandOff:
    agents: Agents
    custodians: Mapping[Custody, Custodian]
    feed: FeedStore
    wakes: Wakes
    rules: OutputRules
    state_bytes: int

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        if draft.answer is not None:
            return await self._say(draft, draft.answer)
        agent = self.agents.get(draft.run.agent)
        if agent is None:
            raise AgentNotFound(draft.run.agent, sorted(self.agents.all()))
        state = dict(draft.state)
        memory = self.custodians[draft.run.custody].memory(draft.opened)
        turn = AgentTurn(
            draft.materialized, draft.run.input.events, state, draft.asks, memory=memory, notes=draft.trace.notes
        )
        output = Output(self.feed, self.wakes, draft.lease, self.rules)
        try:
            async with aclosing(agent.answer(turn)) as pieces:
                async for piece in pieces:
                    _check_piece(piece)
                    # What comes before an answered question was said in an earlier walk through the agent.
                    if turn.answered == len(draft.asks):
                        await output.add(piece)
            if draft.afterword is not None:
                await output.add(f"\n\n{draft.afterword}")
        except Suspended as asked:
            _check_piece(asked.question)
            text = await output.finished()
            raise RunSuspended(_checkpoint(draft, Ask(said=text, question=asked.question))) from None
        finally:
            await output.stop()
        text = await output.finished()
        state = self._checked(state)
        if not all(says_plain_text(unit) for unit in turn.staged_units):
            raise AgentFailed("The agent remembered a NUL character or half of a surrogate pair.")
        return replace(
            draft,
            text=text,
            state=state,
            staged_units=tuple(turn.staged_units),
            unit_changes=UnitChanges(forgotten=tuple(dict.fromkeys(turn.forgotten_units))),
        )

    async def _say(self, draft: TurnDraft, text: str) -> TurnDraft:
        """What is to be said was settled before: no agent is asked."""
        output = Output(self.feed, self.wakes, draft.lease, self.rules)
        try:
            await output.add(f"{text}\n\n{draft.afterword}" if draft.afterword else text)
            return replace(draft, text=await output.finished())
        finally:
            await output.stop()

    def _checked(self, state: dict[str, Any]) -> dict[str, Any]:
        """The state as it is kept: plain JSON, whatever kind of text or number the agent put there."""
        size = json_size(state)
        if size is None:
            raise AgentFailed("The agent put something into turn.state that is not JSON. Keep plain values there.")
        if size > self.state_bytes:
            raise StateTooLarge(size, self.state_bytes)
        plain: dict[str, Any] = json.loads(json.dumps(state)) if state else state
        return plain


def _checkpoint(draft: TurnDraft, ask: Ask) -> Checkpoint:
    """What the run has understood goes with its question; what its pack says can be read again."""
    view = None if draft.intent is None else replace(draft.intent, prompts={}, tools=())
    asks, revision = (*draft.asks, ask), draft.opened.session.revision
    if draft.resumed is not None:
        return replace(draft.resumed, asks=asks)
    return Checkpoint(asks=asks, intent=view, dialogue=draft.dialogue, revision=revision)


def _check_piece(piece: object) -> None:
    if not isinstance(piece, str):
        raise AgentFailed(f"The agent spoke with a {type(piece).__name__}. Yield, return or ask with text.")
    if not is_plain_text(piece):
        raise AgentFailed("The agent said a NUL character or half of a surrogate pair.")
