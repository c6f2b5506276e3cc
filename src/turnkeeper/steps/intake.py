"""Put a message into the queue of its session with one durable write; then the caller may be told."""

import contextlib
import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from turnkeeper.errors import (
    AgentNotFound,
    CarriedStale,
    DoubleTextNotAllowed,
    DuplicateRequest,
    SessionClosed,
    SessionExpired,
    SessionNotFound,
    TurnkeeperError,
)
from turnkeeper.model.audit import AuditFacts
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.envelope import Envelope, OnMissing
from turnkeeper.model.epoch import Epoch
from turnkeeper.model.ids import AgentId, NodeId, RunId, SessionId, TenantId
from turnkeeper.model.layer import Quota
from turnkeeper.model.pack import PackPin
from turnkeeper.model.policy import Policy
from turnkeeper.model.preferences import Preferences
from turnkeeper.model.principal import Principal
from turnkeeper.model.purpose import Purpose
from turnkeeper.model.run import Run, RunInput, RunStatus
from turnkeeper.model.session import Freshness, Session, SessionStatus
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.agent import Agents
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.custody import RevisionStore
from turnkeeper.ports.nodes import NodeStore
from turnkeeper.ports.runs import Accepted, Intake, Quotas, RequestKey, RunStore
from turnkeeper.ports.sessions import SessionStore
from turnkeeper.scope.directory import Directory
from turnkeeper.scope.effective import LiveScopes
from turnkeeper.scope.inheritance import idle_seconds
from turnkeeper.settings import Settings
from turnkeeper.steps.open_session import check_pins, lifetime_of
from turnkeeper.steps.receive import narrowed

EXPIRED, NOT_FOUND = "expired", "not_found"
_canonical = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """An accepted Envelope: its Run, and whether a session was made for it."""

    accepted: Accepted
    created: bool = False
    replaced: SessionId | None = None
    replaced_reason: str | None = None


@dataclass(frozen=True, slots=True)
class TakeIn:
    runs: RunStore
    sessions: SessionStore
    packs: PackShelf
    nodes: NodeStore
    agents: Agents
    clock: Clock
    node: NodeId
    settings: Settings
    policy: Policy
    scopes: LiveScopes
    directory: Directory
    revisions: RevisionStore

    async def __call__(self, envelope: Envelope) -> TakenIn:
        bound_to = envelope.principal.session_id
        if bound_to is not None and envelope.session_id != bound_to:
            raise SessionNotFound(envelope.session_id or bound_to)
        try:
            await self.check_agent(envelope)
            await self.check_packs(envelope)
            await self._check_fresh(envelope)
        except TurnkeeperError:
            # Who asks again is told what was told first, also when the agent has gone since.
            if not await self._is_known(envelope):
                await self.refuse_sooner(envelope)
                raise
        if envelope.session_id is None and envelope.custody.is_ours:
            return await self._in_a_new_session(envelope)
        try:
            accepted = await self.runs.accept(await self._counted(self._intake(envelope)))
        except (SessionNotFound, SessionExpired) as missing:
            return await self._instead_of(envelope, missing)
        if accepted.attached and envelope.session_id not in (None, accepted.run.session_id):
            return await self._sent_again(envelope, accepted)
        return TakenIn(accepted=accepted)

    async def _check_fresh(self, envelope: Envelope) -> None:
        """Raises CarriedStale at once; of two that come at once it is decided when they end."""
        if envelope.freshness is not Freshness.STRICT or envelope.session_id is None:
            return
        principal, sent = envelope.principal, 0 if envelope.carried is None else envelope.carried["revision"]
        newest = await self.revisions.newest(principal.tenant, principal.user, envelope.session_id)
        if sent < newest:
            raise CarriedStale(envelope.session_id, sent=sent, newest=newest)

    async def _is_known(self, envelope: Envelope) -> bool:
        return await self._asked_before(envelope) is not None

    async def _asked_before(self, envelope: Envelope) -> bytes | None:
        """The hash of what was asked under the name of this request before."""
        if envelope.request_id is None:
            return None
        principal = envelope.principal
        return await self.runs.request(principal.tenant, principal.holder, envelope.request_id)

    async def is_same(self, envelope: Envelope) -> bool:
        """Whether the very same was asked under this name before."""
        request = self._request(envelope)
        return request is not None and await self._asked_before(envelope) == request.body_hash

    async def refuse_sooner(self, envelope: Envelope) -> None:
        """Raises what is wrong with the request id, the session or the packs, looked for in this order."""
        request = self._request(envelope)
        if request is not None and await self._asked_before(envelope) not in (None, request.body_hash):
            raise DuplicateRequest(request.key)
        if envelope.session_id is not None and envelope.custody.is_ours:
            await self._check_session(envelope, envelope.session_id)
        await self.check_packs(envelope)

    async def _check_session(self, envelope: Envelope, session_id: SessionId) -> None:
        principal = envelope.principal
        if envelope.on_missing is OnMissing.NEW:
            return
        session = await self.sessions.get(principal.tenant, session_id)
        if not session.is_open_to(principal):
            raise SessionNotFound(session.id)
        if session.status is SessionStatus.CLOSED:
            raise SessionClosed(session.id)
        if session.status is SessionStatus.EXPIRED or session.is_idle_too_long(envelope.received_at):
            raise SessionExpired(session.id)

    async def check_agent(self, envelope: Envelope) -> None:
        """An agent that nobody has, or that does not allow this double_text, is refused before anything is written."""
        name = envelope.agent
        if name is None and envelope.session_id is None:
            name = AgentId(self.settings.default_agent)
        if name is None and envelope.double_text is not None and envelope.session_id is not None:
            name = await self._agent_of_session(envelope.principal, envelope.session_id)
        if name is None:
            return
        agent = self.agents.get(name)
        if agent is None:
            living = await self.nodes.living(seen_within_seconds=self.settings.lease_seconds)
            known = {here for node in living for here in node.agents} | set(self.agents.all())
            if name not in known:
                raise AgentNotFound(name, sorted(known))
        elif envelope.double_text is not None and envelope.double_text not in agent.policy.allows:
            raise DoubleTextNotAllowed(name, envelope.double_text, sorted(agent.policy.allows))

    async def check_packs(self, envelope: Envelope) -> tuple[PackPin, ...]:
        """The packs that are asked for. One that nobody pushed, or others than the session has, are refused at once."""
        if not envelope.packs:
            return ()
        if envelope.session_id is not None and envelope.custody.is_ours:
            with contextlib.suppress(SessionNotFound):
                session = await self.sessions.get(envelope.principal.tenant, envelope.session_id)
                if session.is_open_to(envelope.principal) and (session.packs or session.turns):
                    check_pins(session, envelope.packs, all_of_them=envelope.names_every_pack)
                    return session.packs
        return await self._found(envelope.principal, envelope.packs)

    async def _found(self, principal: Principal, refs: tuple[str, ...]) -> tuple[PackPin, ...]:
        return tuple([await self.packs.find(principal.tenant, ref) for ref in refs])

    async def _pins(self, envelope: Envelope) -> tuple[PackPin, ...]:
        """What a new session is pinned to: what the envelope asks for, else what its agent does."""
        agent = self.agents.get(envelope.agent or AgentId(self.settings.default_agent))
        wanted = envelope.packs or ((agent.policy.pack,) if agent and agent.policy.pack else ())
        return await self._found(envelope.principal, wanted)

    async def _agent_of_session(self, principal: Principal, session_id: SessionId) -> AgentId | None:
        """None where the caller may not know; intake itself then says what there is to say."""
        try:
            session = await self.sessions.get(principal.tenant, session_id)
        except SessionNotFound:
            return None
        return session.agent if session.is_open_to(principal) else None

    async def _in_a_new_session(self, envelope: Envelope, *, sent: Envelope | None = None) -> TakenIn:
        """`sent` is the envelope as it came, where that was for a session that cannot be used."""
        session = await self.new_session(envelope)
        placed = replace(envelope, session_id=session.id)
        intake = replace(self._intake(placed), new_session=session)
        intake = await self._counted(replace(intake, request=self._request(sent or envelope)))
        accepted = await self.runs.accept(intake)
        return TakenIn(accepted=accepted, created=not accepted.attached)

    async def _sent_again(self, envelope: Envelope, accepted: Accepted) -> TakenIn:
        """The same request was answered in a session that took the place of the one it names, and still is."""
        assert envelope.session_id is not None
        try:
            await self.sessions.get(envelope.principal.tenant, envelope.session_id)
            reason = EXPIRED
        except SessionNotFound:
            reason = NOT_FOUND
        return TakenIn(accepted=accepted, replaced=envelope.session_id, replaced_reason=reason)

    async def _instead_of(self, envelope: Envelope, missing: SessionNotFound | SessionExpired) -> TakenIn:
        """The session cannot be used: begin a new one, or refuse, as the caller wanted it."""
        assert envelope.session_id is not None
        if isinstance(missing, SessionExpired):
            await self.sessions.expire(
                envelope.principal.tenant,
                envelope.session_id,
                at=envelope.received_at,
                audit=audit_of(envelope, "expired", verb="expire"),
            )
        if envelope.on_missing is OnMissing.ERROR or envelope.answers is not None or envelope.command is not None:
            raise missing
        fresh = replace(envelope, session_id=None)
        await self.check_agent(fresh)
        taken = await self._in_a_new_session(fresh, sent=envelope)
        reason = EXPIRED if isinstance(missing, SessionExpired) else NOT_FOUND
        return replace(taken, replaced=envelope.session_id, replaced_reason=reason)

    async def _counted(self, intake: Intake) -> Intake:
        """With what its tenant may have at most, where that has a limit."""
        quotas = await self.quotas(intake.run.tenant, intake.run.accepted_at)
        return intake if quotas is None else replace(intake, quotas=quotas)

    async def quotas(self, tenant: TenantId, at: datetime) -> Quotas | None:
        layer = await self.directory.tenant(tenant)
        if layer is None or not layer.terms.quotas:
            return None
        most = layer.terms.quotas
        return Quotas(month=f"{at:%Y-%m}", runs=most.get(Quota.RUNS_MONTHLY), sessions=most.get(Quota.SESSIONS))

    async def new_session(
        self,
        envelope: Envelope,
        purpose: Purpose = Purpose(),  # noqa: B008
        *,
        or_stricter: bool = False,
    ) -> Session:
        """Raises PackNotFound, and whatever `LiveScopes.resolve` does."""
        now, pins = envelope.received_at, await self._pins(envelope)
        agent = envelope.agent or AgentId(self.settings.default_agent)
        resolved = await self.scopes.resolve(envelope.principal.tenant, agent, purpose, or_stricter=or_stricter)
        session = Session(
            tenant=envelope.principal.tenant,
            id=SessionId(self.clock.new_id("sess")),
            owner=envelope.principal.user,
            agent=agent,
            epoch=Epoch(number=1, started_at=now, first_seq=1),
            idle_for_seconds=idle_seconds(resolved.layers) or self.settings.idle_seconds,
            created_at=now,
            last_active_at=now,
            # What a message chose becomes a preference when it has really run.
            preferences=Preferences() if envelope.command is None else envelope.explicit,
            packs=pins,
            purpose=purpose,
            context_sha256=resolved.sha256,
        )
        return session.living_for(await lifetime_of(session, pins, self.packs, self.policy.bands))

    def _intake(self, envelope: Envelope) -> Intake:
        now = envelope.received_at
        session_id = envelope.session_id or SessionId(self.clock.new_id("sess"))
        run = Run(
            tenant=envelope.principal.tenant,
            id=RunId(self.clock.new_id("run")),
            session_id=session_id,
            custody=envelope.custody,
            agent=envelope.agent or AgentId(self.settings.default_agent),
            user=envelope.principal.user,
            status=RunStatus.QUEUED,
            queue_no=0,
            feed_no=0,
            trace_id=envelope.trace_id,
            input=RunInput(
                events=envelope.events,
                command=envelope.command,
                reset=envelope.reset,
                params=envelope.params,
                explicit=envelope.explicit,
                metadata=envelope.metadata,
                carried=envelope.carried,
                packs=envelope.packs,
                names_every_pack=envelope.names_every_pack,
                intent=envelope.intent,
                limits=envelope.limits,
                claims=envelope.claims,
                trace=envelope.trace,
                reply_to=envelope.reply_to,
                warnings=envelope.warnings,
                channel=envelope.channel,
                request_id=envelope.request_id,
                grants=self._grants(envelope),
                before=envelope.before,
                freshness=envelope.freshness,
            ),
            accepted_at=now,
            wait_until=now + timedelta(seconds=self.settings.queue_seconds),
            mode=envelope.mode,
        )
        return Intake(
            run=run,
            agent=envelope.agent,
            sees_whole_tenant=envelope.principal.sees_whole_tenant,
            audit=audit_of(envelope, "accepted", session_id=session_id, run_id=run.id, **_decided(envelope)),
            node=self.node,
            agents=self.agents.terms(),
            lease_seconds=self.settings.lease_seconds,
            queue_limit=self.settings.queue_limit,
            # A command is never merged into a message, and stops none: it takes its turn.
            double_text=envelope.double_text if envelope.command is None else DoubleText.ENQUEUE,
            request=self._request(envelope),
            answers=envelope.answers,
            decision=envelope.decision,
            answer_text="\n".join(event.as_text for event in envelope.events),
            long_runs=self.settings.long_runs,
        )

    def request_to_create(self, envelope: Envelope, said: object) -> RequestKey | None:
        """The name under which a session is made; `said` is what was asked beyond the envelope."""
        request = self._request(envelope)
        if request is None:
            return None
        return replace(request, body_hash=hashlib.sha256(_canonical.encode((_said(envelope), said))).digest())

    def _grants(self, envelope: Envelope) -> tuple[str, ...] | None:
        """What the caller holds on this channel, whatever the door."""
        ceiling = self.policy.ceilings(envelope.principal.tenant, envelope.channel).grants
        return narrowed(envelope.grants, ceiling)

    def _request(self, envelope: Envelope) -> RequestKey | None:
        """The body as the caller sent it is what makes two requests the same."""
        if envelope.request_id is None:
            return None
        body = envelope.same_as.encode() if envelope.same_as is not None else _canonical.encode(_said(envelope))
        return RequestKey(
            key=envelope.request_id, body_hash=hashlib.sha256(body).digest(), user=envelope.principal.holder
        )


def _decided(envelope: Envelope) -> dict[str, str | None]:
    decision = envelope.decision
    return {} if decision is None else {"approval_id": decision.approval_id, "decision": decision.status.value}


def _said(envelope: Envelope) -> tuple[object, ...]:
    """All that a caller can say in a request, but for its name and its trace."""
    return (
        envelope.session_id,
        envelope.agent,
        envelope.events,
        envelope.command,
        envelope.reset,
        envelope.params,
        envelope.explicit,
        envelope.metadata,
        envelope.answers,
        envelope.custody,
        envelope.carried,
        envelope.packs,
        envelope.intent,
        envelope.mode,
        envelope.channel,
        envelope.limits,
        envelope.claims,
        envelope.on_missing,
        # Left out where it says nothing, so that what was asked before there was such a word is still the same.
        *((envelope.freshness,) if envelope.freshness is not Freshness.ANY else ()),
    )


def audit_of(envelope: Envelope, outcome: str, *, verb: str | None = None, **ids: str | None) -> AuditFacts:
    """Who asked for what and what became of it; never what was said."""
    principal = envelope.principal
    facts: dict[str, Any] = {
        "user": principal.user,
        "role": principal.role.value,
        "channel": envelope.channel,
        "trace_id": envelope.trace_id,
        "request_id": envelope.request_id,
        "session_id": envelope.session_id,
        **ids,
        **envelope.audited,
    }
    if principal.acted_by is not None:
        facts["acted_by"] = principal.acted_by
    said = verb or envelope.verb or ("chat" if envelope.command is None else envelope.command.value)
    return AuditFacts(tenant=principal.tenant, at=envelope.received_at, verb=said, outcome=outcome, facts=facts)
