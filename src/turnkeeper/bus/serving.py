"""A bus of one's own, or a place on another one, as the settings want it."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from turnkeeper.bus.guard import guarded
from turnkeeper.bus.legacy.adapter import LegacyWire
from turnkeeper.bus.orchestrator import BUS, Orchestrator
from turnkeeper.bus.relay import Relay
from turnkeeper.bus.rules import STAGES, BusRules
from turnkeeper.bus.wire import PlainWire
from turnkeeper.keeper import Turnkeeper
from turnkeeper.settings import Settings


def relay_of(settings: Settings, *, admits: Callable[[str, str], Awaitable[bool | None]] | None = None) -> Relay:
    """The bus that the settings describe; it does not listen yet."""
    return Relay(
        settings.host,
        int(settings.bus_port),
        admits=admits,
        guard=guarded if settings.bus_guard == "on" else None,
        frame_bytes=settings.bus_frame_bytes,
        queue_bytes=settings.bus_queue_bytes,
        queue_frames=settings.bus_queue_frames,
        connections=settings.bus_connections,
    )


def orchestrator_of(keeper: Turnkeeper) -> Orchestrator:
    """The orchestrator that the settings describe; it is on no bus yet."""
    settings = keeper.settings
    languages = _listed(settings.bus_languages)
    rules = BusRules(
        lang=languages[0],
        languages=languages,
        pipeline=_listed(settings.bus_pipeline) or STAGES,
        match_seconds=settings.bus_match_seconds,
        handler_seconds=settings.bus_handler_seconds,
        owner_seconds=settings.bus_owner_seconds,
        rounds=settings.bus_rounds,
        marks_dropped=settings.bus_end_dropped == "on",
        syncs_at_completion=settings.bus_completion_sync == "on",
    )
    agents = _listed(settings.bus_agents) or (settings.default_agent,)
    wire = LegacyWire() if settings.bus_legacy == "on" else PlainWire()
    principal = replace(BUS, grants=frozenset(_listed(settings.bus_grants)))
    return Orchestrator(keeper, agents=agents, rules=rules, wire=wire, principal=principal)


@asynccontextmanager
async def on_the_bus(
    keeper: Turnkeeper, relay: Relay | None, set_up: Sequence[Callable[[Orchestrator], Any]] = ()
) -> AsyncIterator[Orchestrator]:
    """An orchestrator on a relay that listens, or on the bus that the settings name.

    `set_up` are functions, sync or async, that may add to it before it is there.
    """
    settings = keeper.settings
    orchestrator = orchestrator_of(keeper)
    for each in set_up:
        made = each(orchestrator)
        if inspect.isawaitable(made):
            await made
    url, token = (settings.bus_url, settings.bus_token) if relay is None else (relay.url, relay.token)
    assert url is not None, "there is a bus of one's own, or another one"
    async with orchestrator.on(url, token=token, is_first=relay is not None):
        if relay is not None:
            await orchestrator.joined()
        yield orchestrator


def _listed(names: str | None) -> tuple[str, ...]:
    return tuple(each.strip() for each in (names or "").split(",") if each.strip())
