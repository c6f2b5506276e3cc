"""Clients of the wild, as they are installed from their packages, in conversation with a running bus."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.bus.house import House, a_house, a_settings
from tests.bus.wire import WITHIN
from turnkeeper.bus import topics
from turnkeeper.bus.legacy.adapter import LegacyWire

HERE = Path(__file__).parent


@pytest.fixture
async def old_house(tmp_path: Path) -> AsyncIterator[House]:
    """A house that understands the old names."""
    async with a_house(a_settings(tmp_path), wire=LegacyWire()) as house:
        yield house


@dataclass
class Client:
    """A process of its own, which speaks through the client of the wild."""

    process: asyncio.subprocess.Process

    async def says(self, text: str, *, replies: int = 1) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdin.write(json.dumps({"say": text, "replies": replies}).encode() + b"\n")
        async with asyncio.timeout(3 * WITHIN):
            # These clients write their log where they please.
            while not (line := await self.process.stdout.readline()).startswith(b"{"):
                if not line:
                    pytest.fail((await self.process.stderr.read()).decode(errors="replace")[-3000:])
        told: dict[str, Any] = json.loads(line)
        assert (told["spoken_too_often"], told["ended_too_often"]) == (0, 0)
        return told


@asynccontextmanager
async def a_client(kind: str, programs: Path, house: House, session_id: str, home: Path) -> AsyncIterator[Client]:
    async with running([programs / "python", HERE / f"{kind}_client.py", session_id], house, home) as process:
        yield Client(process)


@asynccontextmanager
async def running(command: Sequence[str | Path], house: House, home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A program that is told the port of the bus first."""
    python, script, *more = command
    process = await _started([python, script, str(_port(house)), *more], house, home)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _started(command: Sequence[str | Path], house: House, home: Path) -> asyncio.subprocess.Process:
    """With a home of its own: these clients read and write there."""
    folder = home / "config" / "mycroft"
    folder.mkdir(parents=True, exist_ok=True)
    bus = {"host": "127.0.0.1", "port": _port(house), "route": "/core", "ssl": False}
    (folder / "mycroft.conf").write_text(json.dumps({"lang": "en-us", "websocket": bus}), encoding="utf-8")
    places = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": str(home), **places},
        cwd=home,
    )


def _port(house: House) -> int:
    return int(house.relay.url.rpartition(":")[2].partition("/")[0])


@pytest.mark.parametrize("session_id", ["default", "kiosk-9"])
@pytest.mark.parametrize("kind", ["stable", "pre"])
async def test_an_unmodified_client_holds_a_conversation(
    kind: str, session_id: str, old_house: House, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    programs: Path = request.getfixturevalue(kind)
    async with a_client(kind, programs, old_house, session_id, tmp_path) as client:
        asked = await client.says("ask me")
        answered = await client.says("Ada")
        nothing = await client.says("Ada")
        again = await client.says("and what do you know?")

    assert asked["spoken"] == ["what is your name?"]
    # The second turn depends on the first: the answer is delivered to who asked, once.
    assert answered["spoken"] == ["hello Ada"]
    assert old_house.skills.answers == ["Ada"]
    # What nobody understands is answered by an agent, who knows what was said to it before.
    assert nothing["spoken"] == ["1/1: Ada"]
    assert again["spoken"] == ["2/2: Ada | and what do you know?"]
    assert [each.data["utterances"] for each in old_house.person.of("recognizer_loop:utterance")] == [
        ["ask me"],
        ["Ada"],
        ["Ada"],
        ["and what do you know?"],
    ]


async def test_two_stock_clients_share_a_bus_and_not_a_session(
    old_house: House, stable: Path, pre: Path, tmp_path: Path
) -> None:
    async with (
        a_client("stable", stable, old_house, "one", tmp_path / "one") as one,
        a_client("pre", pre, old_house, "other", tmp_path / "other") as other,
    ):
        await one.says("ask me")
        elsewhere = await other.says("Grace")
        answered = await one.says("Ada")

    assert elsewhere["spoken"] == ["1/1: Grace"]
    assert answered["spoken"] == ["hello Ada"]


@pytest.mark.parametrize(("kind", "speak"), [("stable", "speak"), ("pre", "ovos.utterance.speak")])
async def test_a_skill_on_a_stock_client_handles_what_it_has_registered(
    kind: str, speak: str, old_house: House, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    programs: Path = request.getfixturevalue(kind)
    session = {"session_id": "s", "x_vendor": 7}
    async with running([programs / "python", HERE / "skill.py", speak], old_house, tmp_path):
        await old_house.hears("ovos.intent.register.template")
        await old_house.settled()
        heard = await old_house.say("dim the lamp", session)

    assert {each.data["utterance"] for each in heard.frames if each.type in (speak, topics.SPEAK)} == {"lamp is darker"}
    assert heard.one(topics.COMPLETE).data == {"skill_id": "lamp.skill", "intent_name": "dim"}
    assert heard.session["x_vendor"] == 7


@pytest.mark.parametrize("kind", ["stable", "pre"])
async def test_the_console_script_of_a_stock_client_drives_a_round(
    kind: str, old_house: House, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    programs: Path = request.getfixturevalue(kind)
    place = len(old_house.person.heard)

    script = await _started([programs / "python", programs / "ovos-say-to", "say hello there"], old_house, tmp_path)
    _, wrong = await script.communicate()

    assert script.returncode == 0, wrong.decode(errors="replace")[-3000:]
    heard = await old_house.hears_end(place)
    assert heard.one(topics.SPEAK).data["utterance"] == "hello there"
    assert heard.one("speak").context["_namespace_compat_twin"] is True
