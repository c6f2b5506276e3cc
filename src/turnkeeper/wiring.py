"""The one place where a port meets its implementation."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from turnkeeper.agents.chat_model import HttpChatModel
from turnkeeper.agents.echo import echo
from turnkeeper.agents.factory import AgentFactory
from turnkeeper.agents.registry import AgentRegistry
from turnkeeper.agents.symbolic.agent import SymbolicAgent
from turnkeeper.agents.symbolic.builtin import gather_plugins
from turnkeeper.agents.tools import ToolRegistry
from turnkeeper.channels.http_sender import HttpSender
from turnkeeper.channels.registry import ChannelRegistry
from turnkeeper.channels.smtp_sender import SmtpSender, server_of
from turnkeeper.custody.client import ClientCustodian
from turnkeeper.custody.device import DeviceCustodian, DeviceMemory
from turnkeeper.custody.engine import EngineCustodian
from turnkeeper.custody.packing import Packing
from turnkeeper.engine import World
from turnkeeper.errors import ExtraMissing
from turnkeeper.knowledge.extraction import RuleExtractor
from turnkeeper.model.binding import ReplyKind
from turnkeeper.model.ids import NodeId, sortable_id
from turnkeeper.model.policy import Policy, Rate
from turnkeeper.model.session import Custody
from turnkeeper.packs.compiling import PlainCompiler
from turnkeeper.packs.shelf import PackShelf
from turnkeeper.ports.agent import AgentPolicy
from turnkeeper.ports.clock import Clock
from turnkeeper.ports.compiler import Compiler
from turnkeeper.ports.custodian import Custodian
from turnkeeper.ports.sender import Sender
from turnkeeper.ports.store import Store, WriteProbe
from turnkeeper.ports.tables import Tables
from turnkeeper.ports.tokenizer import EstimatingTokenizer
from turnkeeper.scope.directory import Directory
from turnkeeper.scope.effective import LiveScopes
from turnkeeper.scope.policy_file import read_policy
from turnkeeper.settings import Settings
from turnkeeper.stores.files import FileBlobs, KnownBlobs
from turnkeeper.telemetry.counting import Counts
from turnkeeper.upkeep.moving import Copied

if TYPE_CHECKING:
    pass


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def new_id(self, prefix: str) -> str:
        return sortable_id(prefix, time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)))


def open_store(settings: Settings, node: NodeId, probe: WriteProbe | None = None) -> Store:
    """The database, with the bytes of content in it or in files."""
    store = open_database(settings, node, probe)
    if settings.artifact_files is None:
        return store
    return replace(store, blobs=FileBlobs(Path(settings.artifact_files), cast(KnownBlobs, store.blobs)))


def open_database(settings: Settings, node: NodeId, probe: WriteProbe | None = None) -> Store:
    address = settings.database
    if address.startswith(("postgresql://", "postgres://")):
        from turnkeeper.stores.postgres.store import postgres_store

        return postgres_store(address, node, pool_size=settings.pool_size, probe=probe)
    from turnkeeper.stores.sqlite.store import sqlite_store

    path = Path(address.removeprefix("sqlite:///"))
    return sqlite_store(path, node, synchronous=settings.synchronous, probe=probe)


def open_tables(database: str) -> Tables:
    """The same database as its operator sees it; opens nothing yet."""
    if database.startswith(("postgresql://", "postgres://")):
        from turnkeeper.stores.postgres.tables import PostgresTables

        return PostgresTables(database)
    from turnkeeper.stores.sqlite.tables import SqliteTables

    return SqliteTables(Path(database.removeprefix("sqlite:///")))


async def copy_graphs(source: str, target: str, told: Callable[[int], None]) -> Sequence[Copied]:
    """What graphs remember. Raises ExtraMissing."""
    try:
        from turnkeeper.agents.langgraph.memory import GraphMemory
        from turnkeeper.agents.langgraph.moving import copy_memory
    except ModuleNotFoundError as missing:
        raise ExtraMissing("langgraph", str(missing.name)) from None
    own, other = (GraphMemory(database, synchronous="FULL") for database in (source, target))
    try:
        count, here, there = await copy_memory(own, other, told)
    finally:
        await own.close()
        await other.close()
    return [Copied(table="memory of graphs", rows=count, digest=here, rows_there=count, digest_there=there)]


def chat_model(settings: Settings, clock: Clock) -> HttpChatModel | None:
    """None where no model is configured; everything works without one."""
    if not settings.model_url or not settings.model_name:
        return None
    return HttpChatModel(
        url=settings.model_url,
        name=settings.model_name,
        key=settings.model_key,
        seconds=settings.model_seconds,
        retries=settings.model_retries,
        clock=clock,
    )


def policy_from(settings: Settings) -> Policy:
    """What the file of the operator says; without one, what is safe."""
    rate = Rate(per_second=settings.rate_per_second, burst=settings.rate_burst)
    return Policy(rate=rate) if settings.policy is None else read_policy(Path(settings.policy), rate=rate)


def senders_from(settings: Settings, clock: Clock) -> Mapping[ReplyKind, Sender]:
    """One for each way out. Half of the time is for reaching the other side, so that a slow one is told from none."""
    seconds = settings.outbox_send_seconds / 2
    server = None if settings.smtp_url is None else server_of(settings.smtp_url)
    return {
        ReplyKind.SMTP: SmtpSender(server=server, mail_from=settings.mail_from, seconds=seconds),
        ReplyKind.HTTP: HttpSender(clock=clock, seconds=seconds),
    }


def telemetry_from(settings: Settings) -> Counts:
    """Raises ExtraMissing when spans are wanted and the extra for them is not installed."""
    if settings.telemetry != "otel":
        return Counts()
    try:
        from turnkeeper.telemetry.otel import OpenTelemetry
    except ModuleNotFoundError as missing:
        raise ExtraMissing("otel", str(missing.name)) from None
    return OpenTelemetry()


def scopes_of(store: Store, directory: Directory, clock: Clock) -> LiveScopes:
    return LiveScopes(
        directory=directory,
        layers=store.layers,
        definitions=store.definitions,
        contexts=store.contexts,
        bases=store.bases,
        artifacts=store.artifacts,
        pointers=store.pointers,
        clock=clock,
    )


def wire(
    settings: Settings,
    *,
    clock: Clock | None = None,
    probe: WriteProbe | None = None,
    policy: Policy | None = None,
    compiler: Compiler | None = None,
) -> tuple[World, AgentRegistry, AgentFactory]:
    clock = clock or SystemClock()
    node = NodeId(clock.new_id("node"))
    store = open_store(settings, node, probe)
    registry = AgentRegistry()
    factory = AgentFactory(
        settings.database, synchronous=settings.synchronous, most_threads=settings.sync_agent_threads
    )
    registry.add(factory.of_function("echo", echo, AgentPolicy(retry_safe=True)))
    registry.add(SymbolicAgent(lambda: gather_plugins(RuleExtractor(), chat_model(settings, clock)), clock))
    directory = Directory(store.layers, store.users, store.definitions)
    scopes = scopes_of(store, directory, clock)
    packing = Packing(
        store.units,
        settings.history_messages,
        settings.session_units,
        settings.idle_seconds,
        settings.carried_bytes,
    )
    device = DeviceMemory(store.devices if settings.device_memory == "kept" else None, clock)
    custodians: Mapping[Custody, Custodian] = {
        Custody.ENGINE: EngineCustodian(
            store.sessions, store.runs, store.units, clock, settings.history_messages, settings.session_units, scopes
        ),
        Custody.CLIENT: ClientCustodian(
            packing, store.runs, store.audit, clock, settings.request_seconds, settings.carried_seconds
        ),
        Custody.DEVICE: DeviceCustodian(packing, device, store.runs, store.audit, clock),
    }
    world = World(
        store=store,
        custodians=custodians,
        device=device,
        packing=packing,
        agents=registry,
        tools=ToolRegistry(),
        extractor=RuleExtractor(),
        packs=PackShelf(store.packs),
        channels=ChannelRegistry(),
        telemetry=telemetry_from(settings),
        senders=senders_from(settings, clock),
        policy=policy or policy_from(settings),
        scopes=scopes,
        directory=directory,
        compiler=compiler or PlainCompiler(EstimatingTokenizer()),
        model=chat_model(settings, clock),
        clock=clock,
        node=node,
        settings=settings,
    )
    return world, registry, factory
