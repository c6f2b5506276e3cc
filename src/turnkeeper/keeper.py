"""Turnkeeper: the embedded face, and what every other face is given."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from turnkeeper.custody.sealing import Sealing
from turnkeeper.dispatch import Dispatch
from turnkeeper.engine import Engine, LiveRun
from turnkeeper.errors import SessionNotFound, StoreUnavailable
from turnkeeper.keeping.answering import Answering
from turnkeeper.keeping.approvals import Approvals
from turnkeeper.keeping.archiving import Archiving
from turnkeeper.keeping.artifacts import Artifacts
from turnkeeper.keeping.audit import Audit
from turnkeeper.keeping.bases import Bases
from turnkeeper.keeping.bindings import Bindings
from turnkeeper.keeping.channels import Channels
from turnkeeper.keeping.converting import Converting
from turnkeeper.keeping.definitions import Definitions
from turnkeeper.keeping.deliveries import Deliveries
from turnkeeper.keeping.door import Door
from turnkeeper.keeping.erasing import Erasing
from turnkeeper.keeping.exporting import Exporting
from turnkeeper.keeping.histories import Histories
from turnkeeper.keeping.invoking import Invoking
from turnkeeper.keeping.keys import Keys
from turnkeeper.keeping.layers import Layers, Users
from turnkeeper.keeping.limits import Limits
from turnkeeper.keeping.manifests import Manifests
from turnkeeper.keeping.overview import Overview
from turnkeeper.keeping.packs import Packs
from turnkeeper.keeping.pointers import Pointers
from turnkeeper.keeping.resuming import Resuming
from turnkeeper.keeping.scoping import Scoping
from turnkeeper.keeping.seals import Seals
from turnkeeper.keeping.substrate import Substrate
from turnkeeper.keeping.units import Units
from turnkeeper.ledger.feed import Feed
from turnkeeper.ledger.outbox import Outbox, OutboxRules
from turnkeeper.ledger.outcomes import Outcomes
from turnkeeper.model.band import Lifetime
from turnkeeper.model.ids import AgentId, Subject, TenantId
from turnkeeper.model.node import Node
from turnkeeper.model.policy import Policy
from turnkeeper.model.principal import Principal
from turnkeeper.model.run import RunStatus
from turnkeeper.model.scope import Level
from turnkeeper.model.session import Session
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.compiler import Compiler
from turnkeeper.ports.store import WriteProbe
from turnkeeper.ports.threads import Threads
from turnkeeper.scope.storage import StorageQuota
from turnkeeper.settings import Settings
from turnkeeper.settling import settings_from
from turnkeeper.steps.intake import TakenIn
from turnkeeper.steps.open_session import lifetime_of
from turnkeeper.steps.receive import Inbound
from turnkeeper.substrate.artifacts import ArtifactShelf
from turnkeeper.substrate.collecting import Collector
from turnkeeper.upkeep.leases import LeaseRenewer
from turnkeeper.upkeep.sweeper import Duty, Sweeper
from turnkeeper.verbs.beginning import Beginning
from turnkeeper.verbs.house import House
from turnkeeper.verbs.registering import Registering
from turnkeeper.verbs.talking import Talking
from turnkeeper.wiring import wire


class Turnkeeper(Registering, Beginning, Talking, House):
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
            artifact=lambda id, principal: self.artifacts.get(id, principal=principal),
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
        self.answering = Answering(self._store.answers, self._clock)
        self.audit = Audit(self._store.audit, self._clock)
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
        self.keys = Keys(
            store.keys, self.limits, self._clock, most=self.settings.keys, session_of=self.session, audit=audit
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
        self.overview = Overview(
            store,
            world.telemetry,
            world.directory,
            self.limits,
            self._clock,
            self.settings,
            node=world.node,
            started_at=self._started_at,
        )

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
        config: str | os.PathLike[str] | None = None,
        clock: Clock | None = None,
        probe: WriteProbe | None = None,
        policy: Policy | None = None,
        compiler: Compiler | None = None,
        **given: Any,
    ) -> "Turnkeeper":
        """A turnkeeper on a SQLite file or on `postgresql://...`; opens nothing before `async with`.

        `policy` is what an operator allows, instead of the file in the setting of this name; `compiler` makes what
        agents work from.

        Other settings by name: `Turnkeeper.open("conversations.db", run_seconds=10)`; what is not given comes from
        `TURNKEEPER_*`, then from the TOML file `config`, if one is named.
        """
        path = None if database is None else os.fspath(database)
        if settings is None:
            file = None if config is None else Path(config)
            settings = settings_from(os.environ, file=file, database=path, **given)
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

    async def _be_known(self) -> None:
        """A node is known before it takes its first message: who looks for what a dead node held asks for nodes."""
        agents = frozenset(self._world.agents.all())
        if not self._agents_told:
            await self._store.nodes.beat(self._node())
        elif self._agents_told != agents:
            self._sweeper.hurry("node-beat")
        self._agents_told = agents

    def _send_letters(self) -> None:
        self._sweeper.hurry("outbox")

    def _woken(self, tenant: TenantId | None, subject: Subject | None) -> None:
        self._feed.woken(tenant, subject)
        self._dispatch.woken(tenant, subject)

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
