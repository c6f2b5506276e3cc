"""Two orchestrators, each a process of its own, on one bus: one answers, and either may die."""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import a_house, a_settings
from tests.bus.wire import WITHIN, Participant, eventually
from tests.scale import rounds
from turnkeeper.bus import topics
from turnkeeper.bus.legacy.adapter import LegacyWire
from turnkeeper.bus.message import Message
from turnkeeper.bus.relay import Relay
from turnkeeper.bus.rules import BusRules

ROOT = Path(__file__).parents[2]


class Process:
    def __init__(self, database: Path, url: str) -> None:
        self._arguments = (str(database), url)
        self.process: asyncio.subprocess.Process | None = None
        self.id = ""

    async def start(self) -> None:
        command = (sys.executable, "-m", "tests.bus.orchestrator_process", *self._arguments)
        pipe = asyncio.subprocess.PIPE
        environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        self.process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=ROOT, env=environ)
        assert self.process.stdout is not None
        async with asyncio.timeout(WITHIN):
            self.id = (await self.process.stdout.readline()).decode().split()[1]

    async def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()
        self.process = None


@asynccontextmanager
async def the_bus(folder: Path) -> AsyncIterator[tuple[Participant, Process, Process]]:
    async with AsyncExitStack() as stack:
        relay = await stack.enter_async_context(Relay(port=0))
        both = [Process(folder / name, relay.url) for name in ("one.db", "other.db")]
        for each in both:
            stack.push_async_callback(_ended, each)
        await asyncio.gather(*(each.start() for each in both))
        yield await stack.enter_async_context(Participant(relay.url)), both[0], both[1]


async def _ended(process: Process) -> None:
    if process.process is not None:
        await process.kill()


async def said(person: Participant, text: str, session: Any) -> tuple[list[str], Any]:
    """Say something and give what was spoken, and the session at the end."""
    place = len(person.heard)
    context = {} if session is None else {"session": session}
    person.link.send(Message(type=topics.UTTERANCE, data={"utterances": [text]}, context=context))

    def since() -> list[Message]:
        return person.heard[place:]

    await person.until(lambda: any(each.type == topics.HANDLED for each in since()))
    spoken = [each.data["utterance"] for each in since() if each.type == topics.SPEAK]
    return spoken, next(each for each in since() if each.type == topics.HANDLED).context["session"]


async def test_every_utterance_is_answered_once(tmp_path: Path) -> None:
    count = rounds(60, 2_000)
    async with the_bus(tmp_path) as (person, one, other):
        for number in range(count):
            session = {"session_id": f"n{number}"} if number % 3 else {}
            data = {"utterances": [f"say {number}"]}
            person.link.send(Message(type=topics.UTTERANCE, data=data, context={"session": session}))
            # The very same again: two utterances, two answers.
            person.link.send(Message(type=topics.UTTERANCE, data=data, context={"session": session}))
        await person.until(lambda: len(person.of(topics.HANDLED)) >= 2 * count)
        spoken, _ = await said(person, "say over", {"session_id": "last"})

        assert spoken == ["over"]
        assert Counter(each.data["utterance"] for each in person.of(topics.SPEAK)) == {
            **{str(number): 2 for number in range(count)},
            "over": 1,
        }
        assert len(person.of(topics.HANDLED)) == 2 * count + 1
        claims = {each.context["source"] for each in person.of(topics.CLAIM)}
        assert claims == {one.id, other.id}


async def test_a_named_conversation_goes_on_whoever_dies_between_its_rounds(tmp_path: Path) -> None:
    session: Any = {"session_id": "n1"}
    spoken: list[str] = []
    async with the_bus(tmp_path) as (person, one, other):
        for text in ("my name is Ada", "I live in Rome", "ask me", "Ada", "and now"):
            heard, session = await said(person, text, session)
            spoken += heard
            if text == "my name is Ada":
                await one.kill()
            elif text in ("I live in Rome", "Ada"):
                gone, alive = (one, other) if one.process is None else (other, one)
                await gone.start()
                await alive.kill()

    assert spoken == [
        "1/1: my name is Ada",
        "2/2: my name is Ada | I live in Rome",
        "what is your name?",
        "hello Ada",
        "3/3: my name is Ada | I live in Rome | and now",
    ]


@pytest.mark.parametrize(
    ("device_memory", "expected"), [("process", "1/1: who am I"), ("kept", "2/2: my name is Ada | who am I")]
)
async def test_the_device_starts_afresh_with_another_owner_unless_it_is_kept(
    tmp_path: Path, device_memory: str, expected: str
) -> None:
    settings = a_settings(tmp_path, device_memory=device_memory)
    async with Relay(port=0) as relay, Participant(relay.url) as person, AsyncExitStack() as stack:
        await stack.enter_async_context(a_house(settings, relay=relay))
        async with a_house(settings, relay=relay):
            await said(person, "my name is Ada", None)
            await stack.aclose()

            spoken, _ = await said(person, "who am I", None)

    assert spoken == [expected]


async def test_one_that_leaves_takes_nothing_more_and_ends_what_it_has_begun(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with Relay(port=0) as relay, a_house(a_settings(tmp_path), relay=relay) as leaving:
        place = leaving.begin("go slow", {"session_id": "n1"})
        await leaving.hears("slow.skill:go", place)
        async with a_house(a_settings(tmp_path / "other"), relay=relay) as staying:
            leaving.orchestrator.leave()
            for number in range(5):
                spoken, _ = await said(staying.person, f"say {number}", {"session_id": "n2"})
                assert spoken == [str(number)]
            spoken, _ = await said(staying.person, "say it", None)
            assert spoken == ["it"]
            claims = {each.context["source"] for each in staying.person.of(topics.CLAIM)}
            assert claims == {staying.orchestrator.id}
            leaving.skills.release.set()
            ended = await leaving.hears_end(place, count=7)

    assert ended.frames[-1].type == topics.HANDLED
    assert ended.frames[-1].context["session"]["session_id"] == "n1"


async def test_only_the_owner_takes_over_what_is_said_of_the_device(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with (
        Relay(port=0) as relay,
        a_house(a_settings(tmp_path), relay=relay) as owner,
        a_house(a_settings(tmp_path / "other"), relay=relay) as other,
    ):
        await owner.tell(topics.SYNC, {"session": {"site_id": "hall"}})
        await other.settled()
        assert (owner.default.get("site_id"), other.default) == ("hall", {})

        # Somebody else takes it: what is remembered here is of no use any more.
        soon = int(time.time() * 1000) + 60_000
        await owner.tell(topics.OWN_DEFAULT, {"orchestrator": other.orchestrator.id, "term": soon})
        await other.settled()
        assert owner.default == {}


async def test_what_is_claimed_is_served_by_one_that_leaves(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with (
        Relay(port=0) as relay,
        a_house(a_settings(tmp_path), relay=relay) as leaving,
        a_house(a_settings(tmp_path / "other"), relay=relay) as staying,
    ):
        place = len(staying.person.heard)
        for number in range(20):
            staying.begin(f"say {number}", {"session_id": f"n{number}"} if number % 2 else None)
        await leaving.person.until(lambda: len(leaving.person.of(topics.CLAIM)) >= 10)
        leaving.orchestrator.leave()
        heard = await staying.hears_end(place, count=20)

    assert sorted(heard.spoken, key=int) == [str(number) for number in range(20)]


async def test_the_device_is_owned_anew_as_soon_as_its_owner_has_left(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with (
        Relay(port=0) as relay,
        a_house(a_settings(tmp_path), relay=relay) as owner,
        a_house(a_settings(tmp_path / "other"), relay=relay) as other,
    ):
        owner.orchestrator.leave()
        await eventually(lambda: other.orchestrator.owns_default)
        await other.tell(topics.SYNC, {"session": {"site_id": "hall"}})

        assert other.default["site_id"] == "hall"


async def test_the_owner_owns_the_device_again_after_the_bus_was_gone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    rules = BusRules(owner_seconds=0.4)
    relay = Relay(port=0)
    await relay.start()
    async with (
        a_house(a_settings(tmp_path, device_memory="kept"), relay=relay) as owner,
        a_house(a_settings(tmp_path / "other"), relay=relay, rules=rules) as other,
    ):
        await owner.say("say hello", {"site_id": "hall"})
        # Newer than what was kept, and not to be undone by it.
        owner.orchestrator._device.write({**owner.default, "site_id": "attic"})
        await relay.close()
        await eventually(lambda: not owner.orchestrator.owns_default and not other.orchestrator.owns_default)
        async with Relay(port=relay.port):
            await eventually(lambda: owner.orchestrator.owns_default or other.orchestrator.owns_default)

            assert owner.orchestrator.owns_default
            assert owner.default["site_id"] == "attic"


async def test_an_old_client_that_is_waited_for_is_answered_once_by_two(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    async with (
        Relay(port=0) as relay,
        a_house(a_settings(tmp_path), relay=relay, wire=LegacyWire()) as one,
        a_house(a_settings(tmp_path / "other"), relay=relay, wire=LegacyWire()),
    ):
        now = time.time()
        session = {
            "session_id": "n1",
            "active_skills": [["ask.skill", now]],
            "utterance_states": {"ask.skill": "response"},
        }
        for _ in range(5):
            place = one.begin("Ada", session)
            await one.hears_end(place)
        await one.settled()

    assert len(one.person.of(topics.HANDLED)) == 5
