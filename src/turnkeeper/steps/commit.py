"""Keep the whole turn in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from turnkeeper.knowledge.settling import TOO_MANY
from turnkeeper.ledger.outbox import letters
from turnkeeper.model.budget import Resource
from turnkeeper.model.envelope import Command
from turnkeeper.model.explanation import Explanation
from turnkeeper.model.ids import UnitId
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Finish, RunStatus
from turnkeeper.model.session import Custody
from turnkeeper.model.turn import Turn
from turnkeeper.model.unit import UnitChanges, UnitPlace
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.custody import mark_of
from turnkeeper.ports.runs import RunEnd, RunStore
from turnkeeper.steps.draft import TurnDraft

UNITS_PUSHED_OUT = "units_pushed_out"
UNITS_DROPPED = "units_dropped"
MOST_QUOTED = 20
FAILED = "failed"
ACCOUNTED = (Resource.TOKENS, Resource.COST_CENTS, Resource.TOOL_CALLS)
DONE_BY_COMMAND = {
    Command.IMPORT_UNITS: "The units were imported.",
    Command.EDIT_UNIT: "The unit was edited.",
    Command.FORGET_UNIT: "The unit was forgotten.",
}


@dataclass(frozen=True, slots=True)
class Commit:
    custodians: Mapping[Custody, Custodian]
    runs: RunStore
    clock: Clock

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        if draft.is_over or draft.run.input.command is not None:
            return await self._end(draft)
        custodian, conversation, now = self.custodians[draft.run.custody], draft.opened, self.clock.now()
        if draft.staged_units:
            place = UnitPlace(chunk_id=f"session::t{conversation.session.turns + 1:04d}", at=now)
            forgotten = draft.unit_changes.forgotten
            draft = settled(draft, await custodian.settle(conversation, draft.staged_units, place, forgotten=forgotten))
        began = conversation.session
        # What a session or an epoch began with is told by its first turn, so that every turn can be asked for it.
        is_first = began.turns == 0 or draft.has_reset
        turn = Turn.of(
            draft.run,
            conversation.session,
            asks=draft.asks,
            text=draft.text,
            state=draft.state,
            finish=Finish.DONE,
            at=now,
            units=draft.unit_changes,
            preferences=new_preferences(draft) or (began.preferences if is_first else None),
            packs=draft.new_pins,
            lifetime=draft.lifetime,
            dialogue=None if draft.dialogue == began.dialogue and not is_first else draft.dialogue,
            intent=draft.dialogue.told,
            account=account_of(draft),
            deliveries=letters(draft.run, draft.text, at=now, clock=self.clock),
            agent_head=draft.agent_head,
        )
        explanation = explain(draft, RunStatus.COMPLETED, turn=turn)
        kept = await custodian.keep(draft.run, turn, draft.lease, conversation, explanation)
        reply = Reply(
            session_id=draft.run.session_id,
            run_id=draft.run.id,
            status=RunStatus.COMPLETED,
            text=draft.text,
            turn=turn.number,
            finish=turn.finish,
            merged=draft.run.merged,
            carried=kept.carried,
            warnings=(*explanation.warnings, *kept.warnings),
            units=explanation.units,
            intent=turn.intent,
            explanation=explanation,
        )
        return replace(draft, reply=reply, queued=kept.committed.queued)

    async def _end(self, draft: TurnDraft) -> TurnDraft:
        """A reset has done its work already; what changes units does it here. What is left is to say so."""
        command = draft.run.input.command
        text = DONE_BY_COMMAND.get(command, draft.text) if command else draft.text
        explanation = replace(explain(draft, RunStatus.COMPLETED), at=self.clock.now())
        custodian = self.custodians[draft.run.custody]
        carried = custodian.carried(draft.opened)
        result = {"text": text, "carried": carried}
        if explanation.units:
            # Who asks again is told the same, also when the Explanation is gone by then.
            result["units"] = explanation.units
        end = RunEnd(
            status=RunStatus.COMPLETED,
            explanation=explanation,
            at=explanation.at,
            result=result,
            deliveries=letters(draft.run, text, at=explanation.at, clock=self.clock),
            account=account_of(draft),
            mark=mark_of(draft.opened),
            carried_until=custodian.kept_until(draft.run, explanation.at),
        )
        if not draft.unit_changes.is_empty:
            session = draft.opened.session
            committed = await self.runs.change_units(draft.lease, draft.unit_changes, end, session=session)
        else:
            committed = await self.runs.end(draft.lease, end)
        reply = Reply(
            session_id=draft.run.session_id,
            run_id=draft.run.id,
            status=RunStatus.COMPLETED,
            text=text,
            carried=carried,
            warnings=explanation.warnings,
            units=explanation.units,
            explanation=explanation,
        )
        return replace(draft, reply=reply, queued=committed.queued)


def settled(draft: TurnDraft, changes: UnitChanges) -> TurnDraft:
    """The draft with what its units come to; what must give way is said."""
    notes = draft.trace.notes
    if changes.pushed_out:
        notes.warn(UNITS_PUSHED_OUT, {"units": list(changes.pushed_out)})
    if too_many := sum(dropped.reason == TOO_MANY for dropped in changes.dropped):
        notes.warn(UNITS_DROPPED, {"count": too_many})
    return replace(draft, unit_changes=changes)


def new_preferences(draft: TurnDraft) -> Preferences | None:
    """What really ran is what the next turn would rather use; None when that changes nothing."""
    notes, before = draft.trace.notes, draft.opened.session.preferences
    if not notes.plugins and notes.level is None and notes.model is None:
        return None
    preferences = Preferences(
        model=notes.model or before.model,
        plugins={**before.plugins, **notes.plugins},
        level=before.level if notes.level is None else notes.level,
    )
    return None if preferences == before else preferences


def explain(draft: TurnDraft, status: RunStatus, turn: Turn | None = None) -> Explanation:
    """What can be told of this run by now, whatever its end."""
    notes, has_failed = draft.trace.notes, status in (RunStatus.FAILED, RunStatus.TIMED_OUT)
    asked_level = draft.run.input.explicit.level if has_failed else None
    return Explanation(
        run_id=draft.run.id,
        session_id=draft.run.session_id,
        status=status,
        at=turn.committed_at if turn else draft.run.accepted_at,
        turn=turn.number if turn else None,
        stages=draft.trace.stages(),
        budget=spent(draft),
        warnings=tuple(notes.warnings),
        details={code: detail for code, detail in notes.warnings.items() if detail},
        plugins=notes.plugins,
        answer_status=FAILED if has_failed else notes.status,
        model=notes.model,
        level=asked_level if notes.level is None else notes.level,
        document=_with_kept_ids(notes.document, draft.unit_changes.kept_as),
        units=told(draft.unit_changes) if status is RunStatus.COMPLETED else {},
        notes=notes.graph(),
    )


def _with_kept_ids(said: Any, kept_as: Mapping[UnitId, UnitId]) -> Any:
    """What an agent wrote down names units of its own turn by provisional ids; once they are kept, they have others."""
    if isinstance(said, str):
        return kept_as.get(UnitId(said), said)
    if isinstance(said, Mapping):
        return {name: _with_kept_ids(value, kept_as) for name, value in said.items()}
    if isinstance(said, list | tuple):
        return [_with_kept_ids(value, kept_as) for value in said]
    return said


def spent(draft: TurnDraft) -> Mapping[str, Any]:
    """What the run used of its budget; nothing is said where there was nothing to use."""
    budget = draft.context.budget if draft.context else draft.budget
    if budget is None or not budget.model_calls:
        return {}
    return {"model_calls": budget.model_calls, "most_model_calls": budget.limits.model_calls}


def account_of(draft: TurnDraft) -> Mapping[str, Any] | None:
    """What the run spent, and what it was bound to; None for a plain turn, which has nothing to account for."""
    budget = draft.context.budget if draft.context else draft.budget
    said: dict[str, Any] = {}
    if budget is not None:
        said = {name.value: used for name in ACCOUNTED if (used := budget.used.get(name.value))}
        if budget.model_calls:
            said["model_calls"] = budget.model_calls
    if draft.conversation is not None:
        session = draft.conversation.session
        profile = draft.scope.context.model_profile if draft.scope else None
        bound = {"context_sha256": session.context_sha256, "model_profile": profile}
        said |= {name: value for name, value in bound.items() if value is not None}
    if draft.trace.notes.model is not None:
        said["model"] = draft.trace.notes.model
    elif draft.context is not None and draft.context.model_profile is not None:
        said["model"] = draft.context.explicit.model or draft.context.model_profile.chat_model
    if draft.trace.notes.manifests:
        said["manifests"] = dict(draft.trace.notes.manifests)
    return said or None


def told(changes: UnitChanges) -> Mapping[str, Any]:
    """Which units a turn added, superseded and dropped; what was not kept is quoted, since it has no id to look up."""
    said: dict[str, Any] = {}
    if changes.added:
        said["added"] = [unit.id for unit in changes.added]
    if changes.superseded:
        said["superseded"] = [{"unit": old, "by": new} for old, new in changes.superseded]
    if changes.pushed_out:
        said["pushed_out"] = list(changes.pushed_out)
    if changes.forgotten:
        said["forgotten"] = list(changes.forgotten)
    if changes.dropped:
        said["dropped"] = [
            {"content": dropped.unit.content[:160], "reason": dropped.reason}
            for dropped in changes.dropped[:MOST_QUOTED]
        ]
    if len(changes.dropped) > MOST_QUOTED:
        said["dropped_beside"] = len(changes.dropped) - MOST_QUOTED
    return said
