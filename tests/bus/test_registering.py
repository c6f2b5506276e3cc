"""What an orchestrator is given is looked at when it is given, and not in the first round that needs it."""

import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import Meta, Plugin, a_settings
from turnkeeper import Turnkeeper
from turnkeeper.bus.handlers import Dispatch, Handler
from turnkeeper.bus.matching import MOST_TOLD, Pipeline
from turnkeeper.bus.orchestrator import Orchestrator
from turnkeeper.bus.relay import Relay
from turnkeeper.bus.serving import on_the_bus
from turnkeeper.cli.bus_beside import BusBeside
from turnkeeper.client.bus import BusClient
from turnkeeper.server.identities import StaticIdentities
from turnkeeper.server.tokens import Tokens


@pytest.fixture
def orchestrator(tmp_path: Path) -> Orchestrator:
    return Orchestrator(Turnkeeper(a_settings(tmp_path)))


def at_once(*given: Any) -> Any:
    """What somebody writes who has forgotten `async`."""


class Hasty(Plugin):
    match = at_once  # type: ignore[assignment]


class HastyMeta(Meta):
    transform = at_once  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("give", "what"),
    [
        (lambda each: each.handler("lamp.skill", "dim")(at_once), "the handler of lamp.skill:dim"),
        (lambda each: each.handler("lamp.skill")(lambda dispatch: None), "the handler of lamp.skill:*"),
        (lambda each: each.converses("lamp.skill")(at_once), "what lamp.skill is asked in a conversation"),
        (lambda each: each.stops("lamp.skill")(at_once), "what lamp.skill is asked about stopping"),
        (lambda each: each.falls_back("lamp.skill")(at_once), "what lamp.skill is asked as a fallback"),
        (lambda each: each.add_plugin(Hasty("hasty")), "`match` of the plugin 'hasty'"),
        (lambda each: each.add_transformer(HastyMeta("t", at_once)), "`transform` of the transformer 't'"),
    ],
)
def test_what_is_awaited_has_to_be_async(
    orchestrator: Orchestrator, give: Callable[[Orchestrator], Any], what: str
) -> None:
    with pytest.raises(ValueError, match="has to be an async function: write `async def ") as refused:
        give(orchestrator)

    assert str(refused.value).startswith(what)


def test_async_functions_may_be_wrapped(orchestrator: Orchestrator) -> None:
    class Skill:
        async def __call__(self, dispatch: Dispatch) -> None: ...

    async def handle(more: str, dispatch: Dispatch) -> None: ...

    @functools.wraps(handle)
    def wrapped(dispatch: Dispatch) -> Any:
        return handle("more", dispatch)

    wraps: list[Handler] = [Skill(), functools.partial(handle, "more"), wrapped]
    for number, each in enumerate(wraps):
        orchestrator.handler("s", str(number))(each)


def test_a_sample_that_cannot_be_read_is_named_with_its_intent(orchestrator: Orchestrator) -> None:
    with pytest.raises(ValueError, match=r"lamp.skill:dim .*'dim \[the lamp' in `samples` .* never closed"):
        orchestrator.intents.add("lamp.skill", "dim", lang="en-US", samples=["dim the lamp", "dim [the lamp"])


def test_a_name_that_is_taken_by_the_pipeline_is_refused_with_all_of_them(orchestrator: Orchestrator) -> None:
    with pytest.raises(ValueError, match=r"lamp.skill:stop .*common_query, converse, fallback, response, stop"):
        orchestrator.intents.add("lamp.skill", "stop", lang="en-US", samples=["stop it"])


async def test_an_async_setup_is_awaited(tmp_path: Path) -> None:
    async def set_up(orchestrator: Orchestrator) -> None:
        orchestrator.add_plugin(Plugin("sums"))

        @orchestrator.handler("echo.skill", "say")
        async def say(dispatch: Dispatch) -> None:
            await dispatch.speak(dispatch.utterance)

    settings = a_settings(tmp_path, bus_pipeline="sums")
    async with (
        Turnkeeper(settings) as keeper,
        Relay(port=0) as relay,
        on_the_bus(keeper, relay, [set_up]),
        BusClient(relay.url, session_id="kiosk-9") as client,
    ):
        assert (await client.say("one")).text == "one"


async def test_a_setup_for_a_bus_that_is_not_there_is_told(tmp_path: Path) -> None:
    keeper = Turnkeeper(a_settings(tmp_path, bus_port="off"))
    beside = BusBeside(keeper, Tokens(keeper, StaticIdentities([])), [at_once], is_asked_for=True)

    async with beside.opened() as leave:
        assert leave is None

    assert beside.told == [
        "There is no bus, so --bus-setup is of no use. Give the bus a port with --bus-port, or join one with --bus-url."
    ]


async def test_a_slip_in_the_pipeline_and_a_plugin_that_nobody_names_are_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = a_settings(tmp_path, bus_pipeline="stop,intnets,agents")
    caplog.set_level(logging.WARNING)
    async with (
        Turnkeeper(settings) as keeper,
        Relay(port=0) as relay,
        on_the_bus(keeper, relay, [add_idle]),
        BusClient(relay.url, session_id="kiosk-9") as client,
    ):
        await client.say("one")
        client.change(pipeline=["agentz", "agents"])
        answers = [await client.say(text) for text in ("two", "three")]

    assert all(answer.text for answer in answers)
    told = [(each.message, vars(each).get("entry", vars(each).get("pipeline_id"))) for each in caplog.records]
    assert told == [
        ("pipeline stage unknown", "intnets"),
        ("pipeline plugin in no pipeline", "idle"),
        ("pipeline stage unknown", "agentz"),
    ]
    assert vars(caplog.records[0])["known"].startswith("stop,converse,intents,fallback-high")


def test_what_sessions_name_and_nobody_has_is_told_of_so_many_only(caplog: pytest.LogCaptureFixture) -> None:
    pipeline = Pipeline(seconds=1.0, aliases=lambda entry: (entry,))

    for number in range(2 * MOST_TOLD):
        pipeline.effective({}, [f"stage-{number}"])

    assert len(caplog.records) == MOST_TOLD


def add_idle(orchestrator: Orchestrator) -> None:
    orchestrator.add_plugin(Plugin("idle"))
