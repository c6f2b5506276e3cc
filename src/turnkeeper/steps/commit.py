"""Keep the whole turn in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from turnkeeper.model.envelope import Command
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Finish, RunStatus
from turnkeeper.model.session import Custody
from turnkeeper.model.turn import Turn
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.runs import RunEnd, RunStore
from turnkeeper.steps.draft import TurnDraft

DONE_BY_COMMAND = {Command.RESET: "We start afresh."}


@dataclass(frozen=True, slots=True)
class Commit:
    custodians: Mapping[Custody, Custodian]
    runs: RunStore
    clock: Clock

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        if draft.run.input.command is not None:
            return await self._commit_command(draft, draft.run.input.command)
        conversation = draft.opened
        turn = Turn.of(
            draft.run,
            conversation.session,
            asks=draft.asks,
            text=draft.text,
            state=draft.state,
            finish=Finish.DONE,
            at=self.clock.now(),
        )
        explanation = explain(draft, RunStatus.COMPLETED, turn=turn)
        kept = await self.custodians[draft.run.custody].keep(turn, draft.lease, conversation, explanation)
        reply = Reply(
            session_id=draft.run.session_id,
            run_id=draft.run.id,
            status=RunStatus.COMPLETED,
            text=draft.text,
            turn=turn.number,
            finish=turn.finish,
            merged=draft.run.merged,
            carried=kept.carried,
            warnings=draft.warnings,
            explanation=explanation,
        )
        return replace(draft, reply=reply, queued=kept.committed.queued)

    async def _commit_command(self, draft: TurnDraft, command: Command) -> TurnDraft:
        """A command has done its work already; what is left is to say so."""
        text = DONE_BY_COMMAND[command]
        explanation = replace(explain(draft, RunStatus.COMPLETED), at=self.clock.now())
        carried = self.custodians[draft.run.custody].carried(draft.opened)
        result = {"text": text, "carried": carried}
        end = RunEnd(status=RunStatus.COMPLETED, explanation=explanation, at=explanation.at, result=result)
        committed = await self.runs.end(draft.lease, end)
        reply = Reply(
            session_id=draft.run.session_id,
            run_id=draft.run.id,
            status=RunStatus.COMPLETED,
            text=text,
            carried=carried,
            explanation=explanation,
        )
        return replace(draft, reply=reply, queued=committed.queued)


def explain(draft: TurnDraft, status: RunStatus, turn: Turn | None = None) -> Explanation:
    return Explanation(
        run_id=draft.run.id,
        session_id=draft.run.session_id,
        status=status,
        at=turn.committed_at if turn else draft.run.accepted_at,
        turn=turn.number if turn else None,
        stages=draft.trace.stages(),
        warnings=draft.warnings,
    )
