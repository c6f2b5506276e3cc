"""Make the RunContext, all that is true at the start of this run, and have it compiled for the agent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from turnkeeper.errors import CompileFailed, ModelNotAllowed
from turnkeeper.intent.serving import check_served
from turnkeeper.model.budget import Budget, BudgetLimits, Resource
from turnkeeper.model.compiled import CompiledContext
from turnkeeper.model.definition import ModelTraits
from turnkeeper.model.ids import KnowledgeBaseId
from turnkeeper.model.message import Message
from turnkeeper.model.mode import Mode
from turnkeeper.model.mount import Mount
from turnkeeper.model.pack import Pack
from turnkeeper.model.policy import Ceilings, Policy
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.run import RunInput
from turnkeeper.model.run_context import RunContext
from turnkeeper.model.safety import SafetyMode, narrowest
from turnkeeper.model.scope import NOTHING_INHERITED, Context
from turnkeeper.model.session_state import SessionState
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.agent import Agents
from turnkeeper.ports.compiler import Compiler
from turnkeeper.ports.definitions import DefinitionStore
from turnkeeper.ports.knowledge_bases import KnowledgeBaseStore
from turnkeeper.steps.draft import TurnDraft
from turnkeeper.steps.hold_intent import spent_before

HISTORY_CUT = "history_cut"
KNOWLEDGE_BASE_CHANGED = "knowledge_base_changed"
BUDGET_CLIPPED = "budget_clipped"
TASK_TRUNCATED = "task_truncated"
SCOPE_CHECK_SKIPPED = "scope_check_skipped"
TIMEOUT_SECONDS = "timeout_seconds"
_NAMED = {Resource.STEPS: "max_steps"}
"""How a limit of a context is called where it has not the name of what is spent."""


@dataclass(frozen=True, slots=True)
class Materialize:
    deadline_of: Callable[[TurnDraft], datetime]
    history_tokens: int
    prompt_tokens: int
    bases: KnowledgeBaseStore
    limits: BudgetLimits
    spending: Mapping[str, float]
    packs: PackShelf
    agents: Agents
    policy: Policy
    compiler: Compiler
    definitions: DefinitionStore

    async def __call__(self, draft: TurnDraft) -> TurnDraft:
        """Raises GrantMissing or ChannelNotAccepted when the intent of this turn is not for this caller."""
        run, conversation = draft.run, draft.opened
        session = conversation.session
        packs = tuple([await self.packs.open(run.tenant, pin) for pin in session.packs])
        if packs:
            _check_intent(draft, packs)
        _pass_on_warnings(draft)
        history = newest_that_fit(conversation.history, self.history_tokens)
        if len(history) < len(conversation.history):
            draft.trace.notes.warn(HISTORY_CUT, {"messages": len(conversation.history) - len(history)})
        await self._look_at(session.mounts, draft)
        ceilings = self.policy.ceilings(run.tenant, run.input.channel)
        inherited = draft.scope.context if draft.scope else NOTHING_INHERITED
        profile = await self._profile(draft, inherited)
        context = RunContext(
            run_id=run.id,
            trace_id=run.trace_id,
            session_id=run.session_id,
            tenant=run.tenant,
            user=run.user,
            agent=run.agent,
            turn=session.turns + 1,
            epoch=session.epoch.number,
            deadline=self._deadline(draft),
            history=history,
            params=draft.dialogue.params,
            metadata=run.input.metadata,
            explicit=run.input.explicit,
            preferred=_preferred(session.preferences, inherited, profile),
            mounts=session.mounts,
            inherited=inherited,
            context_sha256=session.context_sha256,
            model_profile=profile,
            packs=session.packs,
            ceilings=_lowest(packs),
            intent=draft.intent,
            grants=run.input.grants,
            safety_mode=narrowest(safety_mode(ceilings, packs, run.input), self._of_agent(draft)),
            mode=run.mode,
            custody=run.custody,
            channel=run.input.channel,
            locale=run.input.locale,
            claims=run.input.claims,
            warnings=tuple(draft.trace.notes.warnings),
            prompt_tokens=self.prompt_tokens,
            plan_by=_plan_by(draft),
            budget=self._budget(draft, ceilings, packs),
        )
        compiled = self._compiled(draft, context, packs)
        return replace(draft, context=context, compiled=compiled, deadline=context.deadline)

    def _compiled(self, draft: TurnDraft, context: RunContext, packs: tuple[Pack, ...]) -> CompiledContext:
        run, session = draft.run, draft.opened.session
        state = SessionState(
            session_id=run.session_id,
            tenant=run.tenant,
            run_id=run.id,
            turn=context.turn,
            mode=run.mode,
            channel=run.input.channel,
            locale=run.input.locale,
            packs=session.packs,
            classification=session.classification,
            history=context.history,
            live=run.input.events,
            received_at=run.accepted_at,
            deadline=context.deadline,
            warnings=context.warnings,
        )
        try:
            compiled = self.compiler.compile(state, context, packs)
        except Exception as error:
            raise CompileFailed(type(error).__name__) from error
        if compiled.is_task_cut:
            draft.trace.notes.warn(TASK_TRUNCATED)
        return compiled

    def _budget(self, draft: TurnDraft, ceilings: Ceilings, packs: tuple[Pack, ...]) -> Budget:
        """What the caller wants, under what tenant and channel, or else the house, allow, and each pack."""
        asked = draft.run.input.limits
        held = draft.budget or Budget(self.limits, used=spent_before(draft))
        inherited = draft.scope.context.limits if draft.scope else {}
        if not asked and not ceilings.budget and not packs and not inherited:
            held.most = self.spending
            return held
        most: dict[str, float] = {}
        clipped = []
        for name in Resource:
            house = ceilings.budget.get(name, self.spending.get(name))
            of_packs = (pack.ceilings.get(name) for pack in packs)
            limits = (house, asked.get(f"max_{name}"), inherited.get(_NAMED.get(name, name)), *of_packs)
            known = [limit for limit in limits if limit is not None]
            if known:
                most[name.value] = min(known)
            if f"max_{name}" in asked and asked[f"max_{name}"] > min(known):
                clipped.append(name.value)
        if clipped:
            draft.trace.notes.warn(BUDGET_CLIPPED, {"limits": clipped})
        held.most = most
        if Resource.PAYLOAD_BYTES in most and draft.resumed is None:
            held.debit(Resource.PAYLOAD_BYTES, sum(len(event.as_text.encode()) for event in draft.run.input.events))
        return held

    def _of_agent(self, draft: TurnDraft) -> SafetyMode | None:
        agent = self.agents.get(draft.run.agent)
        return agent.policy.safety_mode if agent else None

    def _deadline(self, draft: TurnDraft) -> datetime:
        """By the rule of its agent and its pack, or sooner when the caller has no more time: to plan, then to act."""
        latest, asked = self.deadline_of(draft), draft.run.input.limits
        if draft.scope is not None and (seconds := draft.scope.context.limits.get(TIMEOUT_SECONDS)) is not None:
            latest = min(latest, (draft.run.started_at or draft.run.accepted_at) + timedelta(seconds=seconds))
        if "max_wall_ms" not in asked or draft.run.mode is Mode.LONG_RUNNING:
            return latest
        began = draft.run.started_at or draft.run.accepted_at
        return min(latest, began + timedelta(milliseconds=asked["max_wall_ms"] + asked.get("plan_timeout_ms", 0)))

    async def _profile(self, draft: TurnDraft, inherited: Context) -> ModelTraits | None:
        """What the context says of the model. Raises ModelNotAllowed when this request chose one that it may not."""
        found = None
        if inherited.model_profile is not None:
            profile = await self.definitions.model(draft.run.tenant, inherited.model_profile)
            found = profile.traits if profile else ModelTraits(chat_model=inherited.model_profile)
        chosen = draft.run.input.explicit.model
        if chosen is not None and not inherited.permits_model(chosen) and (found is None or chosen != found.chat_model):
            raise ModelNotAllowed(chosen)
        return found

    async def _look_at(self, mounts: tuple[Mount, ...], draft: TurnDraft) -> None:
        """Knowledge bases that have changed since they were mounted are named; the turn sees them as they were."""
        mounts = tuple(mount for mount in mounts if mount.holds_units)
        if not mounts:
            return
        now = await self.bases.revisions(draft.run.tenant, [KnowledgeBaseId(mount.id) for mount in mounts])
        changed = [
            {"knowledge_base": mount.id, "mounted": mount.revision, "now": revision}
            for mount in mounts
            if (revision := now.get(KnowledgeBaseId(mount.id))) != mount.revision
        ]
        if changed:
            draft.trace.notes.warn(KNOWLEDGE_BASE_CHANGED, {"changed": changed})


def _preferred(preferences: Preferences, inherited: Context, profile: ModelTraits | None) -> Preferences:
    """The model of the context comes before what the session last used; one that is not allowed is not used."""
    if profile is not None:
        return replace(preferences, model=profile.chat_model)
    if preferences.model is not None and not inherited.permits_model(preferences.model):
        return replace(preferences, model=None)
    return preferences


def _plan_by(draft: TurnDraft) -> datetime | None:
    span = draft.run.input.limits.get("plan_timeout_ms")
    began = draft.run.started_at or draft.run.accepted_at
    return None if span is None else began + timedelta(milliseconds=span)


def safety_mode(ceilings: Ceilings, packs: tuple[Pack, ...], wish: RunInput) -> SafetyMode:
    """The least of what tenant, channel and packs allow; who acts without a user's leave never acts in their name."""
    mode = narrowest(ceilings.safety_mode or SafetyMode.READ_ONLY, *(pack.safety_mode for pack in packs))
    is_delegated = "delegation" in wish.claims.get("user", {})
    return mode if is_delegated else narrowest(mode, SafetyMode.NETWORK)


def _lowest(packs: tuple[Pack, ...]) -> Mapping[str, int]:
    """The ceilings of all packs: where several name one, the least."""
    lowest: dict[str, int] = {}
    for pack in packs:
        lowest |= {name: min(most, lowest.get(name, most)) for name, most in pack.ceilings.items()}
    return lowest


def _check_intent(draft: TurnDraft, packs: tuple[Pack, ...]) -> None:
    code = draft.served_intent or ""
    if served := next((found for pack in packs if (found := pack.intent(code))), None):
        check_served(served, draft.run.input)
    elif draft.run.input.intent and not any(pack.intents for pack in packs):
        draft.trace.notes.warn(SCOPE_CHECK_SKIPPED, {"intent": draft.run.input.intent})


def _pass_on_warnings(draft: TurnDraft) -> None:
    """What was odd about the request or its Events is told with the answer."""
    for code in draft.run.input.warnings:
        draft.trace.notes.warn(code)
    for event in draft.run.input.events:
        for warning in event.warnings:
            draft.trace.notes.warn(warning.code, {"detail": warning.detail} if warning.detail else None)


def newest_that_fit(history: tuple[Message, ...], tokens: int) -> tuple[Message, ...]:
    """The oldest messages are left out first. A token is taken as four characters."""
    left = tokens * 4
    for place in range(len(history) - 1, -1, -1):
        left -= len(history[place].content)
        if left < 0:
            return history[place + 1 :]
    return history
