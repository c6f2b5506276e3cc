"""Turnkeeper: the embedded face, and what every other face is given."""

import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, TypeVar

from turnkeeper.custody.sealing import Sealing
from turnkeeper.dispatch import Dispatch
from turnkeeper.engine import Engine, LiveRun
from turnkeeper.errors import (
    EnvelopeInvalid,
    InvalidTransition,
    RunNotFound,
    ScopeDenied,
    SessionNotFound,
    SessionNotOver,
    ShuttingDown,
    StoreUnavailable,
    TurnkeeperError,
    VersionMoved,
)
from turnkeeper.keeping.approvals import Approvals
from turnkeeper.keeping.archiving import Archiving
from turnkeeper.keeping.artifacts import Artifacts
from turnkeeper.keeping.audit import Audit
from turnkeeper.keeping.bases import Bases
from turnkeeper.keeping.bindings import Bindings
from turnkeeper.keeping.channels import Channels
from turnkeeper.keeping.continuing import checked_idle, continued
from turnkeeper.keeping.converting import Converting, Released
from turnkeeper.keeping.definitions import Definitions
from turnkeeper.keeping.deliveries import Deliveries
from turnkeeper.keeping.door import Door, Ticket
from turnkeeper.keeping.erasing import Erasing
from turnkeeper.keeping.exporting import Exporting
from turnkeeper.keeping.histories import Histories
from turnkeeper.keeping.invoking import Invoking
from turnkeeper.keeping.layers import Layers, Users
from turnkeeper.keeping.limits import Limits
from turnkeeper.keeping.manifests import Manifests
from turnkeeper.keeping.packs import Packs
from turnkeeper.keeping.pointers import Pointers
from turnkeeper.keeping.resuming import ResumeView, Resuming, SessionEvent
from turnkeeper.keeping.scoping import Pin, Scoping, purpose_of, written_layout
from turnkeeper.keeping.seals import Seals
from turnkeeper.keeping.substrate import Substrate
from turnkeeper.keeping.units import Units
from turnkeeper.knowledge.retrieval import view_of
from turnkeeper.ledger.audit import Verdict, verify_audit
from turnkeeper.ledger.checkpoints import checkpoint_document, effects_told
from turnkeeper.ledger.feed import Feed, Frame
from turnkeeper.ledger.outbox import Outbox, OutboxRules
from turnkeeper.ledger.outcomes import Outcomes
from turnkeeper.model.audit import AuditEntry, AuditFacts
from turnkeeper.model.band import Lifetime
from turnkeeper.model.double_text import DoubleText
from turnkeeper.model.effect import Effect
from turnkeeper.model.envelope import Command, Envelope, OnMissing, Prior
from turnkeeper.model.explanation import ExplainedRun, Explanation, Summary
from turnkeeper.model.feed import FeedType
from turnkeeper.model.history import StateAt
from turnkeeper.model.ids import AgentId, RunId, SessionId, Subject, TenantId
from turnkeeper.model.message import Message
from turnkeeper.model.mode import Mode
from turnkeeper.model.mount import MountKind
from turnkeeper.model.node import Node
from turnkeeper.model.policy import Policy
from turnkeeper.model.principal import LOCAL, Principal
from turnkeeper.model.purpose import Module, PolicyTemplate
from turnkeeper.model.receipt import Receipt
from turnkeeper.model.reply import Reply
from turnkeeper.model.run import Run, RunStatus
from turnkeeper.model.safety import SafetyMode
from turnkeeper.model.scope import Level
from turnkeeper.model.session import Conversation, Custody, Freshness, Session, SessionStatus, SettingsChange
from turnkeeper.model.tool import Denial, Resource, ToolSpec
from turnkeeper.model.trace_context import TraceContext
from turnkeeper.ports.agent import Agent, AgentPolicy, AgentTurn
from turnkeeper.ports.channels import Channel
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.compiler import Compiler
from turnkeeper.ports.critic import Critic
from turnkeeper.ports.plugins import KnowledgeEvent, KnowledgeEventType
from turnkeeper.ports.sessions import Sought
from turnkeeper.ports.store import WriteProbe
from turnkeeper.ports.threads import Threads
from turnkeeper.ports.tools import Tool
from turnkeeper.scope.calling import offered
from turnkeeper.scope.check import Gated, Refused
from turnkeeper.scope.storage import StorageQuota
from turnkeeper.settings import Settings, settings_from
from turnkeeper.steps.intake import TakenIn, audit_of
from turnkeeper.steps.open_session import lifetime_of
from turnkeeper.steps.receive import Inbound, is_foreign_id, is_id
from turnkeeper.substrate.artifacts import ArtifactShelf
from turnkeeper.substrate.collecting import Collector
from turnkeeper.upkeep.leases import LeaseRenewer
from turnkeeper.upkeep.sweeper import Duty, Sweeper
from turnkeeper.wiring import wire

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[[AgentTurn], Any])
T = TypeVar("T", bound=Callable[..., Any])


class Turnkeeper:
    """One open turnkeeper. Use it as `async with Turnkeeper.open("conversations.db") as keeper:`."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        probe: WriteProbe | None = None,
        policy: Policy | None = None,
        compiler: Compiler | None = None,
    ) -> None:
        self.settings = settings
        self._world, self._registry, self._factory = wire(
            settings, clock=clock, probe=probe, policy=policy, compiler=compiler
        )
        self._store, self._clock, self.telemetry = self._world.store, self._world.clock, self._world.telemetry
        self.device = self._world.device
        self._feed = Feed(self._store.feed, page=settings.stream_frames)
        self._engine = Engine(self._world)
        self._dispatch = Dispatch(self._world, self._engine, self._feed, has_letters=self._send_letters)
        self._outcomes = Outcomes(self._store.runs, self._store.explanations, self._store.feed, self._feed)
        self._started_at = self._clock.now()
        self._agents_told: frozenset[AgentId] = frozenset()
        self._accepting = self._opened = self._closed = False
        self._open_the_door()
        self._keep_knowledge()
        self._keep_scope()
        self._keep_channels()
        self._keep_history()
        self._keep_elsewhere()
        self._keep_no_longer()
        self._take_up_duties()

    def _open_the_door(self) -> None:
        """What every message comes through."""
        world = self._world
        self._door = Door(
            self._engine.take_in,
            self._store.audit,
            world.channels,
            world.telemetry,
            self._clock,
            self.settings,
            world.directory,
            check_open=self._check_open,
            ready=self._be_known,
            start=self._start,
        )
        self._invoking = Invoking(
            channels=world.channels,
            policy=world.policy,
            packs=world.packs,
            settings=self.settings,
            telemetry=world.telemetry,
            refused=self.refused,
            accept=self.accept,
            receive=self._door.envelope,
            refuse_sooner=self._refuse_sooner,
            is_known=self._is_known,
            waiting_in=self._waiting_in,
        )
        self.limits = Limits(self._store.buckets, world.policy, self._clock, self.settings.streams)
        self.audit = Audit(self._store.audit)
        self.approvals = Approvals(
            self._store.approvals,
            self._store.wakes,
            self._clock,
            directory=self._world.directory,
            session_of=self.session,
            accept=self.accept,
            audit=self._audit_of_command,
        )

    def _keep_knowledge(self) -> None:
        """What sessions know, and what configures them."""
        store, world, settings = self._store, self._world, self.settings
        self.units = Units(store.units, world.extractor, self.session, self._perform, most_bytes=settings.import_bytes)
        self.bases = Bases(
            store.bases,
            store.units,
            world.extractor,
            self._clock,
            settings,
            world.scopes,
            session_of=self.session,
            change_session=self.change_session,
            audit=self._audit_of_command,
            tell=self._dispatch.tell,
        )
        self.packs = Packs(
            store.packs,
            world.packs,
            self.bases,
            self._clock,
            settings,
            bands=world.policy.bands,
            session_of=self.session,
            change_session=self.change_session,
            audit=self._audit_of_command,
        )

    def _keep_scope(self) -> None:
        """Who owns sessions, what they are for, and what they inherit."""
        store, world, audit = self._store, self._world, self._audit_of_command
        self.directory = world.directory
        self.tenants, self.projects, self.objectives = (
            Layers(level, store.layers, world.scopes, world.directory, self._clock, audit=audit)
            for level in (Level.TENANT, Level.PROJECT, Level.OBJECTIVE)
        )
        self.users = Users(store.users, world.directory, self._clock, audit=audit)
        self.definitions = Definitions(
            store.definitions, world.directory, self._clock, living_agents=self._living_agents, audit=audit
        )
        self.scoping = Scoping(
            world.scopes,
            store.contexts,
            store.layouts,
            self._clock,
            self.settings,
            session_of=self.session,
            change_session=self.change_session,
        )
        self._resuming = Resuming(store, self.scoping)

    def _keep_history(self) -> None:
        """What sessions were, and what their agents remember of it."""
        store = self._store
        self._histories = Histories(
            histories=store.histories,
            sessions=store.sessions,
            wakes=store.wakes,
            clock=self._clock,
            settings=self.settings,
            threads=self._factory.threads,
            session_of=self.session,
            lifetime_of=self._lifetime_of,
            most_sessions=self._most_sessions,
            check_layers=self._world.scopes.layers_of,
            audit=self._audit_of_command,
        )

    def _keep_elsewhere(self) -> None:
        """What is kept by others than us, and how it comes back."""
        sealing = Sealing(self._store.seals, self._clock, self.settings.carried_bytes)
        self.seals = Seals(self._store.seals, sealing, self._clock, audit=self._audit_of_command)
        self._converting = Converting(
            sessions=self._store.sessions,
            units=self._store.units,
            packs=self._world.packs,
            packing=self._world.packing,
            clock=self._clock,
            settings=self.settings,
            threads=self._factory.threads,
            session_of=self.session,
            change_session=self.change_session,
        )

    def _keep_no_longer(self) -> None:
        """What is given out whole, erased, or written down because it is long over."""
        store, world = self._store, self._world
        # What the house writes down is not held against the quota of a tenant.
        shelf = ArtifactShelf(store.artifacts, store.blobs, self._clock, self.settings.artifact_bytes)
        self._exporting = Exporting(
            store=store,
            artifacts=self.artifacts,
            shelf=shelf,
            clock=self._clock,
            threads=self._all_threads,
            session_of=self.session,
        )
        self.erasure = Erasing(
            store=store,
            clock=self._clock,
            policy=world.policy,
            directory=world.directory,
            stop_seconds=self.settings.stop_seconds,
            threads=self._all_threads,
            session_of=self.session,
            stop_runs=self._cancel_open_runs,
            audit=self._audit_of_command,
            forget_device=self.device.forget,
        )
        self._archiving = Archiving(
            store=store,
            shelf=shelf,
            resuming=self._resuming,
            clock=self._clock,
            archive_seconds=self.settings.archive_seconds,
        )

    def _keep_channels(self) -> None:
        """What comes in and goes out through channels, and what comes along."""
        store, world, settings = self._store, self._world, self.settings
        room = StorageQuota(world.directory)
        shelf = ArtifactShelf(store.artifacts, store.blobs, self._clock, settings.artifact_bytes, room)
        self.artifacts = Artifacts(store.artifacts, shelf, audit=self._audit_of_command)
        self.manifests = Manifests(
            store.manifests, self._clock, most_entries=settings.manifest_entries, audit=self._audit_of_command
        )
        self.pointers = Pointers(store.pointers, self._clock, audit=self._audit_of_command)
        self.substrate = Substrate(
            store.outputs,
            self.pointers,
            Collector(store.collection, store.blobs, self._clock, settings.artifact_grace_seconds),
            store.wakes,
            self._clock,
            most_entries=settings.manifest_entries,
            session_of=self.session,
            audit=self._audit_of_command,
        )
        self.bindings = Bindings(
            store.bindings,
            world.channels,
            self._clock,
            settings,
            agents=self._living_agents,
            find_pack=world.packs.find,
            session_of=self.session,
            audit=self._audit_of_command,
        )
        self.channels = Channels(
            world.channels,
            store,
            self.artifacts,
            world.policy,
            self._clock,
            settings,
            session_of=self.session,
            accept=self.accept,
            refused=self.refused,
        )
        self.deliveries = Deliveries(
            store.outbox,
            self._clock,
            session_of=self.session,
            audit=self._audit_of_command,
            hurry=self._send_letters,
        )
        rules = OutboxRules(
            attempts=settings.outbox_attempts,
            first_seconds=settings.outbox_first_seconds,
            most_seconds=settings.outbox_most_seconds,
            send_seconds=settings.outbox_send_seconds,
        )
        self._outbox = Outbox(store.outbox, store.bindings, world.senders, self._clock, world.node, rules)

    def _take_up_duties(self) -> None:
        """What is done again and again as long as this turnkeeper is open."""
        settings, store = self.settings, self._store
        self._renewer = LeaseRenewer(
            store.runs,
            self._dispatch.live_leases,
            self._dispatch.lost,
            renew_seconds=settings.renew_seconds,
            lease_seconds=settings.lease_seconds,
        )
        self._sweeper = Sweeper(
            Duty("due-runs", settings.sweep_seconds, self._dispatch.take_what_is_due),
            Duty("node-beat", settings.renew_seconds, lambda: store.nodes.beat(self._node())),
            Duty("audit-anchor", settings.anchor_seconds, lambda: store.audit.anchor(at=self._clock.now())),
            Duty("old-requests", 3600.0, self._forget_requests),
            Duty("carried-states", settings.expiry_seconds, self._forget_carried),
            Duty("old-checkpoints", 3600.0, self.forget_checkpoints),
            Duty("loose-content", 86_400.0, lambda: self.substrate.collect()),
            Duty("old-threads", 3600.0, self.prune_threads),
            Duty("old-sessions", 3600.0, self._keep_house),
            Duty("outbox", settings.sweep_seconds, self._outbox.send_what_is_due),
            Duty("due-approvals", settings.renew_seconds, self._settle_approvals),
            Duty("idle-sessions", settings.expiry_seconds, self.expire_idle_sessions),
        )

    @classmethod
    def open(
        cls,
        database: str | os.PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
        probe: WriteProbe | None = None,
        policy: Policy | None = None,
        compiler: Compiler | None = None,
        **given: Any,
    ) -> "Turnkeeper":
        """A turnkeeper on a SQLite file or on `postgresql://...`; opens nothing before `async with`.

        `policy` is what an operator allows, instead of the file in the setting of this name; `compiler` makes what
        agents work from.

        Other settings by name: `Turnkeeper.open("conversations.db", run_seconds=10)`.
        """
        path = None if database is None else os.fspath(database)
        if settings is None:
            settings = settings_from(os.environ, database=path, **given)
        elif path is not None or given:
            settings = replace(settings, **given, database=path or settings.database)
        return cls(settings, clock=clock, probe=probe, policy=policy, compiler=compiler)

    async def __aenter__(self) -> "Turnkeeper":
        await self._store.database.open()
        self._store.wakes.listen(self._woken)
        await self._store.wakes.open()
        self._renewer.start()
        self._sweeper.start()
        self.channels.warn_of_unknown()
        self._accepting = self._opened = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def drain(self, *, grace_seconds: float) -> None:
        """Take no more messages, and let what runs here come to its end for a while. Everything stays readable."""
        self._accepting = False
        await self._dispatch.drain(grace_seconds)

    async def close(self, *, grace_seconds: float | None = None) -> None:
        """Finish or hand over what runs here, then let go of the database. Closing twice does no harm."""
        if self._closed:
            return
        self._closed, self._accepting = True, False
        await self._dispatch.close(self.settings.grace_seconds if grace_seconds is None else grace_seconds)
        await self._sweeper.stop()
        await self._outbox.close(self.settings.grace_seconds if grace_seconds is None else grace_seconds)
        await self._renewer.stop()
        try:
            await self._store.audit.anchor(at=self._clock.now())
            if self._dispatch.has_settled_everything:
                await self._store.nodes.leave(self._node())
        except StoreUnavailable:
            pass  # Others notice by the missing beat.
        if (threads := self._factory.threads()) is not None:
            await threads.close()
        await self._store.wakes.close()
        await self._store.database.close()

    @asynccontextmanager
    async def looking_in(self) -> AsyncIterator["Turnkeeper"]:
        """Open the database to read in it, without becoming a node that takes messages and runs."""
        await self._store.database.open()
        try:
            yield self
        finally:
            await self._store.database.close()

    # --- agents

    def agent(
        self,
        name: str,
        *,
        double_text: DoubleText | str = DoubleText.ENQUEUE,
        allows: Iterable[DoubleText | str] = tuple(DoubleText),
        retry_safe: bool = False,
        run_seconds: float | None = None,
        pack: str | None = None,
        critic: Critic | None = None,
        safety_mode: SafetyMode | str | None = None,
        tools: Iterable[str] | None = None,
    ) -> Callable[[F], F]:
        """Register a function as an agent: async or sync, returning its answer or yielding it piece by piece.

        `retry_safe` says that an answer may be tried again when the node died in the middle of it. `pack` is what
        its sessions are pinned to, unless the first message asks for another one. `critic` judges its turns: it has
        `verify`, `score` or both, see `turnkeeper.ports.critic`. `safety_mode` is how far its runs may go, at most.
        `tools` are patterns of the tools that it has, such as `crm.*`; without it, all that the session permits.
        """
        policy = _agent_policy(
            name,
            double_text=double_text,
            allows=allows,
            retry_safe=retry_safe,
            run_seconds=run_seconds,
            pack=pack,
            critic=critic,
            safety_mode=safety_mode,
            tools=tools,
        )

        def register(function: F) -> F:
            self._registry.add(self._factory.of_function(name, function, policy))
            return function

        return register

    def add_graph(
        self,
        name: str,
        graph: Any,
        *,
        takes: Callable[[AgentTurn], Mapping[str, Any]] | None = None,
        gives: Callable[[Mapping[str, Any]], str] | None = None,
        speaks: Iterable[str] | None = None,
        context: Callable[[AgentTurn], Any] | None = None,
        recursion_limit: int | None = None,
        **policy: Any,
    ) -> None:
        """Register a LangGraph graph, compiled or not, as an agent; needs the extra `langgraph`.

        It remembers by checkpoints that turnkeeper keeps for it, whatever checkpointer it was compiled with. `takes`
        makes the input of a turn, else it is what was said since its last one, as `messages`; `gives` makes the
        answer out of the state, else it is what the assistant says. `speaks` names the nodes whose words are shown,
        `context` makes LangGraph's runtime context. Other settings are those of `agent`.
        """
        how = {"takes": takes, "gives": gives, "context": context, "recursion_limit": recursion_limit}
        nodes = None if speaks is None else frozenset(speaks)
        terms = _agent_policy(name, **policy)
        self._registry.add(self._factory.of_graph(name, graph, terms, speaks=nodes, **how))

    @property
    def critic(self) -> Critic | None:
        """Who judges the turns of every agent that brings no critic of its own."""
        return self._registry.critic

    @critic.setter
    def critic(self, critic: Critic | None) -> None:
        self._registry.critic = critic

    def add_agent(self, agent: Agent) -> None:
        """Register an agent of one's own making; see `turnkeeper.ports.agent`."""
        if not is_id(agent.id):
            raise ValueError(f"an agent needs a simple name, not {agent.id!r}")
        self._registry.add(agent)

    def tool(
        self,
        name: str,
        *,
        action: str | None = None,
        safety_mode: SafetyMode | str = SafetyMode.READ_ONLY,
        repeatable: bool = False,
    ) -> Callable[[T], T]:
        """Register a function as a tool, async or not; what it takes is read from the types of its parameters.

        `name` is like `crm.ticket.read`, and what policies speak of, unless an `action` says otherwise. A parameter of
        type PointerRef, ManifestRef, ArtifactRef or KnowledgeBaseRef names something that the session must have. One
        of type ToolCall is handed the call. `safety_mode` is what a run needs for it; `repeatable` says that calling
        it twice does no harm when a node dies in the middle.
        """

        def register(function: T) -> T:
            mode = SafetyMode(safety_mode)
            self.add_tool(self._factory.of_tool(name, function, action=action, safety_mode=mode, repeatable=repeatable))
            return function

        return register

    def add_tool(self, tool: Tool) -> None:
        """Register a tool of one's own making; see `turnkeeper.ports.tools`."""
        self._world.tools.add(tool)

    def add_channel(self, channel: Channel) -> None:
        """Teach this turnkeeper a channel of one's own; see `turnkeeper.ports.channels`."""
        self._world.channels.add(channel)

    # --- talking

    async def chat(self, message: str, **asked: Any) -> Reply:
        """Send a message and wait for the answer. Raises TurnkeeperError with a stable `code`.

        Takes what `submit` takes. If the caller is cancelled, the run goes on.
        """
        return await self.reply_to(await self.submit(message, **asked))

    async def submit(
        self,
        message: Any,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        pack: str | None = None,
        principal: Principal = LOCAL,
        reset: bool = False,
        params: Any = None,
        plugins: Any = None,
        model: Any = None,
        level: Any = None,
        metadata: Any = None,
        request_id: str | None = None,
        double_text: str | None = None,
        on_missing: str = OnMissing.NEW,
        answers: str | None = None,
        custody: str = Custody.ENGINE,
        carried: Any = None,
        channel: str = "app_chat",
        mode: str = Mode.BATCH,
        trace_id: str | None = None,
        trace: TraceContext | None = None,
        before: Iterable[Mapping[str, Any]] = (),
        freshness: str = Freshness.ANY,
    ) -> Ticket:
        """Send a message and return as soon as it is durable; the run goes on without the caller.

        `pack` (`id`, or `id@version`) is what a new session is pinned to; of a session that is pinned it must be the
        same. `plugins` (an id for each kind), `model` and `level` choose for this turn; what really ran becomes what
        the session would rather use next. `before` is what was decided about the message before it came here, each
        with a `name` in capitals and its `data`; the Explanation of its run begins with that. `freshness` "strict"
        takes no older `carried` than the newest one that was given out under it.
        """
        inbound = Inbound(
            message=message,
            session_id=session_id,
            agent=agent,
            pack=pack,
            reset=reset,
            params={} if params is None else params,
            plugins=plugins,
            model=model,
            level=level,
            metadata={} if metadata is None else metadata,
            request_id=request_id,
            double_text=double_text,
            on_missing=on_missing,
            answers=answers,
            custody=custody,
            carried=carried,
            channel=channel,
            mode=mode,
            trace_id=trace_id,
            trace=trace,
            before=tuple(Prior(**each) for each in before),
            freshness=freshness,
        )
        return await self.accept(inbound, principal)

    async def invoke(
        self, document: Any, *, principal: Principal = LOCAL, signals: Mapping[str, Any] | None = None
    ) -> Ticket:
        """Send a full envelope (see the schema `envelope`) and return as soon as it is durable.

        `signals` are what the channel knows beyond the words; they win over those in the envelope.
        """
        return await self._invoking(document, principal, signals=signals)

    async def accept(self, inbound: Inbound, principal: Principal, **about: Any) -> Ticket:
        """Take in what a face has written down; see `keeping.door`."""
        return await self._door.accept(inbound, principal, **about)

    async def reset(
        self,
        session_id: str,
        *,
        principal: Principal = LOCAL,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> Reply:
        """Begin a new epoch: nothing said before is in reach of any later turn."""
        inbound = Inbound(
            command=Command.RESET,
            session_id=session_id,
            request_id=request_id,
            on_missing=OnMissing.ERROR,
            trace_id=trace_id,
        )
        return await self._perform(inbound, principal)

    async def reply_to(self, ticket: Ticket) -> Reply:
        """Wait for the answer to an accepted message. Raises RunEnded when the run has another end."""
        reply = None
        if ticket.live is not None:
            reply = await ticket.live.ended()
        if reply is None:
            reply = await self._outcome(ticket.run)
        if not ticket.created and ticket.replaced_session_id is None:
            return reply
        return replace(
            reply,
            created=ticket.created,
            replaced_session_id=ticket.replaced_session_id,
            replaced_reason=ticket.replaced_reason,
        )

    async def reply_of(self, run: Run) -> Reply | None:
        """What a run has answered or asked by now, without waiting; None when it has no reply, or none yet."""
        if run.status not in (RunStatus.COMPLETED, RunStatus.WAITING) and run.turn is None:
            return None
        return await self._outcomes.reply_of(run)

    async def follow(self, run: Run, *, after: int | None = None) -> AsyncGenerator[Frame, None]:
        """What happens in a run until its end, from its beginning or from just after a number already seen."""
        begin, until = run.feed_no - 1, None
        if after is not None:
            newest = await self._store.feed.last_no(run.tenant, run.subject)
            begin = min(after, newest)
            # Read in this order: the end of a run that is open now has a higher number than the newest.
            run = await self._store.runs.get(run.tenant, run.id)
            until = None if run.status.is_open else newest
        followed = self._feed.follow(run.tenant, run.subject, after=begin, run_id=run.id, until=until)
        async with aclosing(followed) as frames:
            async for frame in frames:
                yield frame

    async def follow_reply(self, ticket: Ticket) -> AsyncGenerator[Frame, None]:
        """What happens until an accepted message is answered or a question comes back, whichever run does it."""
        run, after = ticket.run, ticket.run.feed_no - 1
        if ticket.is_answer:
            # The run has a past; what this answer causes begins where it was answered.
            after = await self._outcomes.answered_no(run) - 1
        while True:
            async with aclosing(self._feed.follow(run.tenant, run.subject, after=after, run_id=run.id)) as frames:
                async for frame in frames:
                    yield frame
                    after = frame.no
                    if frame.type is FeedType.RUN_WAITING and await self._is_waiting(run):
                        return
            follower = await self._outcomes.follower_of(run)
            if follower is None:
                return
            run = follower

    async def newest_feed_no(self, session_id: str, *, principal: Principal = LOCAL) -> int:
        """Where the feed of a session stands now."""
        session = await self.session(session_id, principal=principal)
        return await self._store.feed.last_no(session.tenant, Subject(session.id))

    async def follow_session(
        self, session_id: str, *, principal: Principal = LOCAL, after: int | None = None
    ) -> AsyncGenerator[Frame, None]:
        """What happens in a session from now on, or from just after a number already seen; without an end."""
        session = await self.session(session_id, principal=principal)
        subject = Subject(session.id)
        newest = await self._store.feed.last_no(session.tenant, subject)
        begin = newest if after is None else min(after, newest)
        async with aclosing(self._feed.follow(session.tenant, subject, after=begin)) as frames:
            async for frame in frames:
                yield frame

    async def cancel(self, run_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Run:
        """Stop a run, wherever it is. Returns it as it is now; its end may still be on its way."""
        envelope = self._command(Command.CANCEL, principal, trace_id=trace_id)
        run = await self.run(run_id, principal=principal)
        await self._store.audit.record(audit_of(envelope, "accepted", session_id=run.session_id, run_id=run.id))
        await self._dispatch.cancel(run)
        return await self._store.runs.get(run.tenant, run.id)

    # --- sessions

    async def create_session(
        self,
        *,
        principal: Principal = LOCAL,
        agent: str | None = None,
        pack: str | None = None,
        title: str | None = None,
        plugins: Any = None,
        model: Any = None,
        level: Any = None,
        idle_for_seconds: int | None = None,
        from_session_id: str | None = None,
        module: Module | str | None = None,
        project_id: str | None = None,
        objective_id: str | None = None,
        objective: str | None = None,
        policy: PolicyTemplate | str | None = None,
        model_profile: str | None = None,
        backend: str | None = None,
        pins: Iterable[Pin] = (),
        without: Iterable[MountKind] = (),
        layout: Any = None,
        request_id: str | None = None,
        is_current: bool = False,
        trace_id: str | None = None,
    ) -> Session:
        """Begin a session without a message; with `from_session_id` it continues a finished one.

        Then it begins with the newest messages, the state, the units, the preferences, the context and the mounts that
        the other one ended with, and is for the same purpose but for what is asked for here; `without` names the kinds
        of which no pins are taken over. `pins` are mounted on top of what it inherits. The same `request_id` again
        gives the same session, and with `is_current` so does the same module and project while that session lives.
        """
        asked = {
            "module": module,
            "project_id": project_id,
            "objective_id": objective_id,
            "objective": objective,
            "policy": policy,
            "model_profile": model_profile,
            "backend": backend,
        }
        inbound = Inbound(
            command=Command.CREATE,
            request_id=request_id,
            agent=agent,
            pack=pack,
            plugins=plugins,
            model=model,
            level=level,
            trace_id=trace_id,
        )
        begun, _ = await self._begin(
            inbound,
            asked,
            principal,
            title=title,
            idle_for_seconds=idle_for_seconds,
            from_session_id=from_session_id,
            pins=tuple(pins),
            without=tuple(without),
            saved=None if layout is None else written_layout(layout),
            is_current=is_current,
        )
        return begun

    async def _begin(
        self,
        inbound: Inbound,
        asked: Mapping[str, Any],
        principal: Principal,
        *,
        title: str | None = None,
        idle_for_seconds: int | None = None,
        from_session_id: str | None = None,
        pins: tuple[Pin, ...] = (),
        without: tuple[MountKind, ...] = (),
        saved: str | None = None,
        is_current: bool = False,
        adopting: tuple[SessionId, Mapping[str, Any]] | None = None,
    ) -> tuple[Session, bool]:
        """The session, and whether it began with this. `adopting` is what a client has kept, and its id there."""
        envelope = self._door.envelope(inbound, principal)
        before = None if from_session_id is None else await self._finished(from_session_id, principal)
        if before is not None and inbound.agent is None:
            envelope = replace(envelope, agent=before.session.agent)
        await self._engine.take_in.check_agent(envelope)
        if before is None:
            purpose = purpose_of(**asked)
        else:
            purpose = await self.scoping.going_on(before.session, asked)
        or_stricter = before is not None and asked.get("policy") is None
        session = await self._engine.take_in.new_session(envelope, purpose, or_stricter=or_stricter)
        session = replace(session, title=title)
        turn = None
        if before is not None:
            session, turn = continued(session, before, envelope.received_at)
            session = replace(session, mounts=tuple(pin for pin in session.mounts if pin.kind not in without))
        if adopting is not None:
            session, turn = await self._converting.adopted(session, *adopting)
        if idle_for_seconds is not None:
            session = replace(session, idle_for_seconds=checked_idle(idle_for_seconds))
        bands = self._world.policy.bands
        session = session.living_for(await lifetime_of(session, session.packs, self._world.packs, bands))
        session = await self.scoping.pinned_in(session, pins, principal=principal)
        quotas = await self._engine.take_in.quotas(session.tenant, envelope.received_at)
        said: tuple[object, ...] = (purpose, pins, without, title, idle_for_seconds, from_session_id, saved, is_current)
        if adopting is not None:
            said = (*said, *adopting)
        kept = await self._store.sessions.create(
            session,
            audit_of(envelope, "accepted", session_id=session.id),
            continued=turn,
            request=self._engine.take_in.request_to_create(envelope, said),
            is_current=is_current,
            most=None if quotas is None else quotas.sessions,
        )
        if kept.id != session.id:
            return kept, False
        if saved is not None:
            await self._store.layouts.save(session.tenant, session.id, saved, at=envelope.received_at)
        self._tell_of_session(session.tenant, session.id, session.agent)
        return kept, True

    async def current_session(
        self, module: Module | str, *, project_id: str | None = None, principal: Principal = LOCAL, **asked: Any
    ) -> Session:
        """The session that this user was in last, in this module and project; a new one where there is none that lives.

        Takes what `create_session` takes.
        """
        return await self.create_session(
            module=module, project_id=project_id, is_current=True, principal=principal, **asked
        )

    async def enter_session(
        self,
        module: Module | str,
        *,
        project_id: str | None = None,
        objective_id: str | None = None,
        agent: str | None = None,
        principal: Principal = LOCAL,
        trace_id: str | None = None,
    ) -> tuple[Session, bool]:
        """`current_session`, and whether it began with this."""
        asked = {"module": module, "project_id": project_id, "objective_id": objective_id}
        inbound = Inbound(command=Command.CREATE, agent=agent, trace_id=trace_id)
        return await self._begin(inbound, asked, principal, is_current=True)

    async def rebase_session(self, session_id: str, **asked: Any) -> Session:
        """Inherit again, as the layers are now; see `keeping.scoping`."""
        return await self.scoping.rebase(session_id, **asked)

    async def session(self, session_id: str, *, principal: Principal = LOCAL) -> Session:
        """Raises SessionNotFound, also when it belongs to somebody else. One that was idle for too long has expired."""
        if not is_id(session_id):
            raise SessionNotFound(SessionId(session_id))
        session = await self._store.sessions.get(principal.tenant, SessionId(session_id))
        if not session.is_open_to(principal):
            raise SessionNotFound(session.id)
        if session.is_idle_too_long(self._clock.now()):
            session = await self._expire(session.tenant, session.id)
        return session

    async def sessions(
        self,
        *,
        principal: Principal = LOCAL,
        before: str | None = None,
        limit: int = 50,
        sought: Sought = Sought(),  # noqa: B008
    ) -> Sequence[Session]:
        """Newest first: one's own, or all of the tenant's for its owner and admins."""
        owner = None if principal.sees_whole_tenant else principal.user
        at = None if before is None else SessionId(before)
        found = await self._store.sessions.list(principal.tenant, owner=owner, before=at, limit=limit, sought=sought)
        now = self._clock.now()
        return [
            await self._expire(session.tenant, session.id) if session.is_idle_too_long(now) else session
            for session in found
        ]

    async def count_sessions(
        self,
        *,
        principal: Principal = LOCAL,
        sought: Sought = Sought(),  # noqa: B008
    ) -> int:
        """How many `sessions` would give without an end."""
        owner = None if principal.sees_whole_tenant else principal.user
        return await self._store.sessions.count(principal.tenant, owner=owner, sought=sought)

    async def session_events(
        self, session_id: str, *, principal: Principal = LOCAL, after: int = 0, limit: int = 100
    ) -> Sequence[SessionEvent]:
        """What happened to the session itself, oldest first, each with who did it."""
        session = await self.session(session_id, principal=principal)
        return await self._resuming.events(session, after=after, limit=limit)

    async def counts_of(self, session: Session) -> Mapping[str, int]:
        """How many runs a session had, and how many artifacts came out of it."""
        return await self._resuming.counts(session)

    async def resume_view(self, session_id: str, *, principal: Principal = LOCAL, messages: int = 20) -> ResumeView:
        """Everything that somebody needs who comes back to a topic, in one call."""
        return await self._resuming.view(await self.session(session_id, principal=principal), messages=messages)

    async def messages(
        self, session_id: str, *, principal: Principal = LOCAL, after: int = 0, limit: int = 100
    ) -> Sequence[Message]:
        session = await self.session(session_id, principal=principal)
        return await self._store.sessions.messages(session.tenant, session.id, after=after, limit=limit)

    async def state_at(self, session_id: str, turn: int, *, principal: Principal = LOCAL) -> StateAt:
        """A session as it stood after one of its turns, less what was forgotten since. Raises TurnNotFound."""
        return await self._histories.state_at(session_id, turn, principal=principal)

    async def fork_session(
        self,
        session_id: str,
        *,
        at_turn: int | None = None,
        title: str | None = None,
        principal: Principal = LOCAL,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Go on from a turn of a session, the last one unless another is named, in a new session of the same owner.

        The messages up to there are shared, not copied; all else is as it was then, settings and pins as they are now.
        """
        envelope = self._door.envelope(Inbound(command=Command.FORK, request_id=request_id), principal)
        session = await self._histories.fork(
            session_id,
            at_turn=at_turn,
            title=title,
            principal=principal,
            request=self._engine.take_in.request_to_create(envelope, (session_id, at_turn, title)),
            trace_id=trace_id,
        )
        self._tell_of_session(session.tenant, session.id, session.agent)
        return session

    async def adopt_session(
        self,
        session_id: str,
        carried: Mapping[str, Any],
        *,
        principal: Principal = LOCAL,
        agent: str | None = None,
        title: str | None = None,
        request_id: str | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Keep a session here that its client has kept under this id until now. It is a new one, with an id of its own.

        Its next turn begins with what it would have begun with there: messages, state, units, params, intent, pack,
        preferences, epoch and what its agent remembers.
        """
        if not is_foreign_id(session_id):
            raise EnvelopeInvalid.at("/session_id", "must be the id under which the client has kept it")
        inbound = Inbound(command=Command.ADOPT, request_id=request_id, agent=agent, trace_id=trace_id)
        adopting = (SessionId(session_id), carried)
        session, _ = await self._begin(inbound, {}, principal, title=title, adopting=adopting)
        return session

    async def release_session(
        self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> Released:
        """Close a session and give what it holds to its client, who goes on with it under the same id.

        Raises SessionBusy while a run is under way, queued or waiting in it.
        """
        return await self._converting.release(session_id, principal=principal, trace_id=trace_id)

    async def export_session(
        self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """All that is kept of a session, as a zip archive that comes piece by piece while it is read."""
        exported = await self._exporting.session(session_id, principal=principal, trace_id=trace_id)
        async with aclosing(exported) as pieces:
            async for piece in pieces:
                yield piece

    async def export_user(
        self, user: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The same of a user, with each of its sessions in a folder of its own."""
        exported = await self._exporting.user(user, principal=principal, trace_id=trace_id)
        async with aclosing(exported) as pieces:
            async for piece in pieces:
                yield piece

    async def erase_session(
        self, session_id: str, *, principal: Principal = LOCAL, trace_id: str | None = None
    ) -> Receipt:
        """Stop what runs in a session, and erase it everywhere; see `keeping.erasing`."""
        return await self.erasure.session(session_id, principal=principal, trace_id=trace_id)

    async def erase_user(self, user: str, *, principal: Principal = LOCAL, trace_id: str | None = None) -> Receipt:
        """Erase a user with all its sessions. Where its id must stay in a row of others, a pseudonym takes its place,
        or the receipt says that it stays.
        """
        return await self.erasure.user(user, principal=principal, trace_id=trace_id)

    async def pause_session(self, session_id: str, **asked: Any) -> Session:
        """Lay a session aside; the next message on it resumes it. Takes what `close_session` takes."""
        change = SettingsChange(status=SessionStatus.PAUSED)
        return await self.change_session(session_id, change, command=Command.PAUSE, **asked)

    async def resume_session(self, session_id: str, **asked: Any) -> Session:
        """Take up a paused session again, as if a message had come. Takes what `close_session` takes."""
        change = SettingsChange(status=SessionStatus.ACTIVE)
        return await self.change_session(session_id, change, command=Command.RESUME, **asked)

    async def close_session(
        self,
        session_id: str,
        *,
        reason: str = "closed",
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
    ) -> Session:
        """Take no more messages, and cancel what is under way. It stays readable. Closing twice does no harm."""
        try:
            return await self.change_session(
                session_id,
                SettingsChange(status=SessionStatus.CLOSED, reason=reason),
                command=Command.CLOSE,
                principal=principal,
                expected_version=expected_version,
                trace_id=trace_id,
            )
        except (InvalidTransition, VersionMoved):
            session = await self.session(session_id, principal=principal)
            if session.status is not SessionStatus.CLOSED:
                raise
            envelope = self._command(Command.CLOSE, principal, trace_id=trace_id)
            await self._store.audit.record(audit_of(envelope, "accepted", session_id=session.id))
            return session

    async def change_session(
        self,
        session_id: str,
        change: SettingsChange,
        *,
        command: Command = Command.CHANGE,
        principal: Principal = LOCAL,
        expected_version: int | None = None,
        trace_id: str | None = None,
        **about: str,
    ) -> Session:
        """`about` names what else the audit is to name."""
        envelope = self._command(command, principal, trace_id=trace_id)
        session = await self.session(session_id, principal=principal)
        if change.idle_for_seconds is not None and change.lifetime is None:
            # Nobody may let a session live for longer than the class of its data allows.
            bands = self._world.policy.bands
            change = replace(change, lifetime=await lifetime_of(session, session.packs, self._world.packs, bands))
        changed = await self._store.sessions.change(
            session.tenant,
            session.id,
            change,
            at=envelope.received_at,
            expected_version=expected_version,
            audit=audit_of(envelope, "accepted", session_id=session.id, **about),
        )
        self._store.wakes.tell(session.tenant, Subject(session.id))
        if changed.status.is_terminal:
            await self._cancel_open_runs(changed)
        return changed

    async def _cancel_open_runs(self, session: Session) -> None:
        """Nothing goes on in a session that is over."""
        most = self.settings.queue_limit + 2
        for run in await self._store.runs.list(session.tenant, session.id, before=None, limit=most):
            if run.status.is_open:
                await self._dispatch.cancel(run)

    # --- runs

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

    # --- the house

    async def forget_checkpoints(self) -> int:
        """Drop checkpoints and effects of sessions that have long been over; done each hour, on every node."""
        now, bands = self._clock.now(), self._world.policy.bands
        by_class = {each: now - timedelta(seconds=band.checkpoint_seconds) for each, band in bands.items()}
        before = now - timedelta(seconds=self.settings.checkpoint_seconds)
        return await self._store.checkpoints.forget(before=before, by_class=by_class)

    async def prune_threads(self) -> int:
        """Drop what graphs remember of sessions that are over, and say of how many; done each hour, on every node."""
        return await self._histories.prune_threads()

    async def archive_sessions(self) -> int:
        """Write down what sessions were that are long over, and say of how many; done each hour, on every node."""
        return await self._archiving()

    async def retain(self) -> int:
        """Erase the sessions that are past what the class of their data allows, and say how many; done each hour."""
        return await self.erasure.retain()

    async def expire_idle_sessions(self) -> int:
        """End the sessions that were idle for too long, and say how many. Done each minute, on every node."""
        found = [place async for place in self._store.sessions.idle(at=self._clock.now())]
        expired = 0
        for tenant, session_id in found:
            try:
                session = await self._expire(tenant, session_id)
            except StoreUnavailable:
                raise
            except Exception as error:
                # One that cannot be ended does not keep the others alive.
                log.error("session not expired", extra={"session_id": session_id, "kind": type(error).__name__})
            else:
                expired += session.status is SessionStatus.EXPIRED
        return expired

    async def verify_audit(self, tenant: str | None = None) -> Verdict:
        return await verify_audit(self._store.audit, None if tenant is None else TenantId(tenant))

    async def refused(self, error: TurnkeeperError, **about: Any) -> None:
        """Record once that something was refused; see `keeping.door`."""
        await self._door.refused(error, **about)

    @property
    def unaudited(self) -> int:
        """How many refusals could not be recorded, because the store was gone."""
        return self._door.unaudited

    def metrics(self) -> bytes:
        """What was counted since this process began, as Prometheus reads it."""
        return self.telemetry.exposition()

    async def audit_entries(self, tenant: str | None = None) -> AsyncIterator[AuditEntry]:
        """Every entry of the audit, chain by chain in order; of one tenant or of all."""
        async for entry in self._store.audit.entries(None if tenant is None else TenantId(tenant)):
            yield entry

    async def ping(self) -> None:
        """Raises StoreUnavailable when nothing can be written, ShuttingDown when this node is going away."""
        self._check_open()
        await self._store.database.ping()

    async def nodes(self) -> Sequence[Node]:
        return await self._store.nodes.living(seen_within_seconds=self.settings.lease_seconds)

    # --- inside

    async def _perform(self, inbound: Inbound, principal: Principal) -> Reply:
        return await self.reply_to(await self.accept(inbound, principal))

    async def _expire(self, tenant: TenantId, session_id: SessionId) -> Session:
        facts = {"session_id": session_id, "node": self._world.node}
        now = self._clock.now()
        audit = AuditFacts(tenant=tenant, at=now, verb="expire", outcome="expired", facts=facts)
        session = await self._store.sessions.expire(tenant, session_id, at=now, audit=audit)
        self._store.wakes.tell(tenant, Subject(session_id))
        return session

    def _tell_of_session(self, tenant: TenantId, session_id: SessionId, agent: AgentId) -> None:
        event = KnowledgeEvent(type=KnowledgeEventType.SESSION_CREATED, tenant=tenant, session_id=session_id)
        self._dispatch.tell(agent, event)

    async def _finished(self, session_id: str, principal: Principal) -> Conversation:
        """All that a session ended with. Raises SessionNotOver."""
        session = await self.session(session_id, principal=principal)
        if not session.status.is_terminal:
            raise SessionNotOver(session.id)
        window = self.settings.history_messages
        ended = await self._store.sessions.load(session.tenant, session.id, window=window)
        newest = await self._store.units.newest(view_of(session), limit=self.settings.session_units)
        return replace(ended, units=tuple(newest)[::-1])

    def _audit_of_command(
        self, command: Command, principal: Principal, trace_id: str | None, **ids: str | None
    ) -> AuditFacts:
        return audit_of(self._command(command, principal, trace_id=trace_id), "accepted", **ids)

    async def _start(self, taken: TakenIn) -> LiveRun | None:
        if taken.created:
            run = taken.accepted.run
            self._tell_of_session(run.tenant, run.session_id, run.agent)
        return await self._dispatch.accepted(taken.accepted)

    async def _refuse_sooner(self, inbound: Inbound, principal: Principal) -> None:
        await self._engine.take_in.refuse_sooner(self._door.envelope(inbound, principal))

    async def _living_agents(self) -> frozenset[AgentId]:
        """Those that are registered here, or on another node that is alive."""
        return frozenset(self._world.agents.all()).union(*(node.agents for node in await self.nodes()))

    async def _is_known(self, inbound: Inbound, principal: Principal) -> bool:
        return await self._engine.take_in.is_same(self._door.envelope(inbound, principal))

    async def _waiting_in(self, session_id: str, principal: Principal) -> str | None:
        """The newest run of a session that waits for a person."""
        try:
            found = await self.runs(session_id, principal=principal)
        except SessionNotFound:
            return None
        return next((run.id for run in found if run.status is RunStatus.WAITING), None)

    async def _is_waiting(self, run: Run) -> bool:
        return (await self._store.runs.get(run.tenant, run.id)).status is RunStatus.WAITING

    async def _be_known(self) -> None:
        """A node is known before it takes its first message: who looks for what a dead node held asks for nodes."""
        agents = frozenset(self._world.agents.all())
        if not self._agents_told:
            await self._store.nodes.beat(self._node())
        elif self._agents_told != agents:
            self._sweeper.hurry("node-beat")
        self._agents_told = agents

    def _check_open(self) -> None:
        if not self._opened:
            raise RuntimeError("open it first: async with Turnkeeper.open(...) as keeper")
        if not self._accepting:
            raise ShuttingDown

    async def _outcome(self, run: Run) -> Reply:
        try:
            return await self._outcomes.of(run)
        except StoreUnavailable:
            if self._accepting:
                raise
            raise ShuttingDown from None

    def _send_letters(self) -> None:
        self._sweeper.hurry("outbox")

    def _woken(self, tenant: TenantId | None, subject: Subject | None) -> None:
        self._feed.woken(tenant, subject)
        self._dispatch.woken(tenant, subject)

    def _command(self, command: Command, principal: Principal, *, trace_id: str | None = None) -> Envelope:
        return self._door.envelope(Inbound(command=command, trace_id=trace_id), principal)

    def _node(self) -> Node:
        agents = frozenset(self._world.agents.all())
        return Node(id=self._world.node, started_at=self._started_at, seen_at=self._clock.now(), agents=agents)

    async def _most_sessions(self, tenant: TenantId, at: datetime) -> int | None:
        quotas = await self._engine.take_in.quotas(tenant, at)
        return None if quotas is None else quotas.sessions

    async def _lifetime_of(self, session: Session) -> Lifetime | None:
        return await lifetime_of(session, session.packs, self._world.packs, self._world.policy.bands)

    def _all_threads(self) -> Threads | None:
        return self._factory.threads(is_needed=True)

    async def _keep_house(self) -> None:
        await self.archive_sessions()
        await self.retain()
        await self.erasure.finish()

    async def _settle_approvals(self) -> None:
        await self.approvals.settle_what_is_due()

    async def _forget_requests(self) -> None:
        before = self._clock.now() - timedelta(seconds=self.settings.request_seconds)
        await self._store.runs.forget_requests(before=before)

    async def _forget_carried(self) -> None:
        await self._store.runs.forget_carried(at=self._clock.now())


def _agent_policy(
    name: str,
    *,
    double_text: DoubleText | str = DoubleText.ENQUEUE,
    allows: Iterable[DoubleText | str] = tuple(DoubleText),
    retry_safe: bool = False,
    run_seconds: float | None = None,
    pack: str | None = None,
    critic: Critic | None = None,
    safety_mode: SafetyMode | str | None = None,
    tools: Iterable[str] | None = None,
) -> AgentPolicy:
    if not is_id(name):
        raise ValueError(f"an agent needs a simple name, not {name!r}")
    if isinstance(tools, str):
        raise ValueError(f"the tools of an agent are a list of patterns, such as [{tools!r}], and not one text")
    return AgentPolicy(
        double_text=DoubleText(double_text),
        allows=frozenset(DoubleText(way) for way in allows),
        retry_safe=retry_safe,
        run_seconds=run_seconds,
        pack=pack,
        critic=critic,
        safety_mode=None if safety_mode is None else SafetyMode(safety_mode),
        tools=None if tools is None else tuple(tools),
    )
