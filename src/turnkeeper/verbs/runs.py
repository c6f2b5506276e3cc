"""Runs: looking at them, asking why, and stopping them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from turnkeeper.errors import RunNotFound, ScopeDenied, SessionNotFound
from turnkeeper.ledger.checkpoints import checkpoint_document, effects_told
from turnkeeper.model.effect import Effect
from turnkeeper.model.envelope import Command
from turnkeeper.model.explanation import ExplainedRun, Explanation, Summary
from turnkeeper.model.ids import RunId, is_id
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.run import Run
from turnkeeper.model.tool import Denial, Resource, ToolSpec
from turnkeeper.scope.calling import offered
from turnkeeper.scope.check import Gated, Refused
from turnkeeper.steps.intake import audit_of
from turnkeeper.verbs.sessions import Sessions


class Runs(Sessions):
    """Raises RunNotFound for a run of somebody else, as for one that never was."""

    async def run(self, run_id: str, *, principal: Principal = LOCAL) -> Run:
        """Raises RunNotFound, also when its session belongs to somebody else."""
        if not is_id(run_id):
            raise RunNotFound(RunId(run_id))
        run = await self._store.runs.get(principal.tenant, RunId(run_id))
        if run.custody.is_ours and (run.user != principal.user or principal.session_id is not None):
            try:
                await self.session(run.session_id, principal=principal)
            except SessionNotFound:
                raise RunNotFound(run.id) from None
        elif run.user != principal.user and not principal.sees_whole_tenant:
            raise RunNotFound(run.id)
        return run

    async def runs(
        self, session_id: str, *, principal: Principal = LOCAL, before: str | None = None, limit: int = 50
    ) -> Sequence[Run]:
        session = await self.session(session_id, principal=principal)
        return await self._store.runs.list(
            session.tenant, session.id, before=None if before is None else RunId(before), limit=limit
        )

    async def cancel(self, run_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Run:
        """Stop a run, wherever it is. Returns it as it is now; its end may still be on its way."""
        envelope = self._command(Command.CANCEL, principal, trace_id=trace_id)
        run = await self.run(run_id, principal=principal)
        await self._store.audit.record(audit_of(envelope, "accepted", session_id=run.session_id, run_id=run.id))
        await self._dispatch.cancel(run)
        return await self._store.runs.get(run.tenant, run.id)

    async def explanation(self, run_id: str, *, principal: Principal = LOCAL) -> Explanation | None:
        """Why a run came out as it did; None while it is still open."""
        run = await self.run(run_id, principal=principal)
        return await self._store.explanations.get(run)

    async def explanations(
        self, session_id: str, *, principal: Principal = LOCAL, before: str | None = None, limit: int = 50
    ) -> Sequence[ExplainedRun[Explanation]]:
        """Why the runs of a session came out as they did, newest first, failed ones too."""
        session = await self.session(session_id, principal=principal)
        at = None if before is None else RunId(before)
        return await self._store.explanations.list(session.tenant, session.id, before=at, limit=limit)

    async def summaries(
        self, session_id: str, *, principal: Principal = LOCAL, before: str | None = None, limit: int = 50
    ) -> Sequence[ExplainedRun[Summary]]:
        """How the runs of a session came out, newest first, without what happened in them."""
        session = await self.session(session_id, principal=principal)
        at = None if before is None else RunId(before)
        return await self._store.explanations.summaries(session.tenant, session.id, before=at, limit=limit)

    async def explained(self, run_id: str, *, principal: Principal = LOCAL) -> ExplainedRun[Explanation]:
        """A run and why it came out as it did. While it is open, or when that was dropped, as its feed tells it."""
        return await self._outcomes.explained(await self.run(run_id, principal=principal))

    async def checkpoints(self, run_id: str, *, principal: Principal = LOCAL) -> list[dict[str, Any]]:
        """Where a long or waiting run stood, oldest first, as documents of `schemas/session-checkpoint.json`."""
        run = await self.run(run_id, principal=principal)
        kept = await self._store.checkpoints.list(run.tenant, run.id)
        if not kept:
            return []
        session = await self._store.sessions.get(run.tenant, run.session_id)
        effects = await self._store.effects.list(run.tenant, run.first_attempt)
        bands, own = self._world.policy.bands, session.classification
        seconds = bands[own].checkpoint_seconds if own else self.settings.checkpoint_seconds
        kept_for = timedelta(seconds=seconds)
        return [checkpoint_document(each, run, session, effects, kept_for=kept_for) for each in kept]

    async def effects(self, run_id: str, *, principal: Principal = LOCAL) -> Sequence[Effect]:
        """What a run, or the one that it tries again, did to the world by `turn.once`."""
        run = await self.run(run_id, principal=principal)
        return effects_told(await self._store.effects.list(run.tenant, run.first_attempt), run)

    async def tools_of(self, session_id: str, *, principal: Principal = LOCAL) -> tuple[ToolSpec, ...]:
        """The tools that the agent of a session is offered right now."""
        session = await self.session(session_id, principal=principal)
        agent = self._world.agents.get(session.agent)
        scope = await self._world.scopes.of(session)
        return await offered(
            self._world.tools, self._engine.check, scope, own_tools=agent.policy.tools if agent else None
        )

    async def check_bound(self, principal: Principal, action: str, *resources: Resource) -> None:
        """Whether the session that this token is bound to may do this, right now. Raises ScopeDenied."""
        assert principal.session_id is not None, "only a bound token is checked like this"
        session = await self.session(principal.session_id, principal=principal)
        answer = await self._engine.check(await self._world.scopes.of(session), action, *resources)
        if isinstance(answer, Refused):
            raise ScopeDenied(answer.denial)
        if isinstance(answer, Gated):
            raise ScopeDenied(Denial.APPROVAL_REQUIRED)
