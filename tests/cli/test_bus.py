"""Watching a bus in the terminal."""

import asyncio
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.bus.house import a_house, a_settings
from tests.bus.wire import a_socket
from tests.cli.terminal import COMMAND, Terminal, plain, turnkeeper
from turnkeeper.bus import topics
from turnkeeper.bus.message import Message
from turnkeeper.bus.relay import Relay
from turnkeeper.cli.bus import Wanted, lines_of, style_of
from turnkeeper.cli.commands import run
from turnkeeper.cli.local import LocalServer, announced

NOON = datetime(2026, 11, 16, 12, 0, 0, 42_000, tzinfo=UTC)


def a_message(type: str = topics.UTTERANCE, data: dict[str, Any] | None = None, **context: Any) -> Message:
    context = {"session": {"session_id": "kitchen"}, "utterance_id": "0f8c2d11aa", "source": "sat-3", **context}
    return Message(type=type, data=data or {}, context=context)


async def test_a_person_sees_what_is_said_in_one_session_and_ends_it_with_ctrl_c() -> None:
    async with Relay(port=0) as relay, a_socket(relay.url) as somebody:
        with Terminal("bus", "--url", relay.url, "--session", "kitchen", columns=110) as terminal:
            await asyncio.to_thread(terminal.until, "Listening on")
            await somebody.send("no message at all")
            await somebody.send(a_message("some.topic", session={"session_id": "hall"}).encoded())
            await somebody.send(a_message(data={"utterances": ["dim \x1b]0;mine\x07the lamp"]}).encoded())
            seen = plain(await asyncio.to_thread(terminal.until, "the lamp”"))
            terminal.interrupt()
            code = await asyncio.to_thread(terminal.ended)
            seen += plain(terminal.seen)

    assert "kitchen       2d11aa  sat-3             “dim ]0;mine" in seen
    assert "hall" not in seen
    assert "\x1b]" not in seen
    assert "3 messages heard, 1 shown." in seen
    assert "Traceback" not in seen
    assert code == 0


async def test_a_program_reads_one_line_of_json_for_each_message() -> None:
    async with Relay(port=0) as relay, a_socket(relay.url) as somebody:
        watching = await asyncio.create_subprocess_exec(
            *(*COMMAND, "bus", "--url", relay.url, "--json", "--topic", "x.*"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert watching.stdout is not None
        assert watching.stderr is not None
        await watching.stderr.readline()
        await somebody.send(a_message("x.y", {"text": "é\u2028"}).encoded())

        line = await asyncio.wait_for(watching.stdout.readline(), 30)

        watching.terminate()
        await watching.communicate()
    told = json.loads(line)
    assert datetime.fromisoformat(told.pop("at")).tzinfo is not None
    assert told == {"type": "x.y", "data": {"text": "é\u2028"}, "context": a_message().context}


async def test_a_bus_that_refuses_is_quoted() -> None:
    async with Relay(port=0) as relay:
        ended = await asyncio.to_thread(turnkeeper, "bus", "--url", relay.url.replace("/core", "/gui"))

    assert ended.returncode == 1
    assert ended.stderr.startswith("turnkeeper: The bus answered 404: The bus is at /core.")


async def test_what_is_said_in_a_terminal_is_answered_on_the_bus_of_the_local_server(tmp_path: Path) -> None:
    async with a_house(a_settings(tmp_path)) as house:
        server = LocalServer(url="http://127.0.0.1:1", token="x", pid=1, bus=house.relay.url)
        with announced(tmp_path / "turnkeeper.db-server", server):
            flags = ("--session", "kitchen", "--keep", "kitchen.json")
            spoken = await asyncio.to_thread(turnkeeper, "bus", "say", "say hello", *flags, cwd=tmp_path)
            failed = await asyncio.to_thread(turnkeeper, "bus", "say", "boom", *flags, "--json", cwd=tmp_path)

    assert (spoken.returncode, spoken.stdout) == (0, "hello\n")
    assert re.search(r"^completed by echo.skill:say\nWhy: .* explain run_\w+$", spoken.stderr, re.MULTILINE)
    assert json.loads((tmp_path / "kitchen.json").read_text())["session_id"] == "kitchen"
    told = json.loads(failed.stdout)
    assert (failed.returncode, told["end"], told["error"]) == (1, "failed", "RuntimeError: boom")
    assert told["run_id"].startswith("run_")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--url", "ws://127.0.0.1:9/core"), "There is no bus at ws://127.0.0.1:9/core. Start one with"),
        (("--url", "http://127.0.0.1:8765"), "is no address of a bus"),
        (("--keep", "x.json"), "--keep goes with a --session of its own"),
    ],
)
def test_what_cannot_be_said_is_told_in_one_line(
    flags: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnkeeper.cli.bus_say.REACH_SECONDS", 0.1)

    assert run(["bus", "say", "hello", *flags]) > 0

    complaint = capsys.readouterr().err
    assert told in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize(
    ("message", "digest"),
    [
        (a_message(data={"utterances": ["one", "won"]}), "“one” | “won”"),
        (a_message(topics.SPEAK, {"utterance": "which?", "listen": True}), "“which?” and listens"),
        (a_message(topics.MATCHED, {"skill_id": "lamp", "intent_name": "dim", "slots": {"to": "5"}}), "lamp:dim to=5"),
        (a_message(topics.ERROR, {"exception": "KeyError:\n'x'"}), "KeyError: 'x'"),
        (a_message(topics.SYNC, {"session": {"lang": "x", "site_id": "y"}}), "changes lang, site_id"),
        (a_message(topics.CANCELLED, {"cancel_reason": "stop_word", "cancel_by": "t"}), "stop_word by t"),
        (a_message("other", {"n": [1, 2]}), '{"n": [1, 2]}'),
        (a_message(data={"utterances": 5}), '{"utterances": 5}'),
    ],
)
def test_a_line_says_when_what_where_who_and_the_gist(message: Message, digest: str) -> None:
    (line,) = lines_of(message, NOON, None)

    assert line.plain.split(maxsplit=5) == ["12:00:00.042", message.type, "kitchen", "2d11aa", "sat-3", digest]


@pytest.mark.parametrize("columns", [20, 40, 80, 95, 96, 140])
def test_a_message_fits_the_terminal(columns: int) -> None:
    message = a_message("a.rather.long.topic", {"text": "漢字" * 200}, session={"session_id": "漢" * 60})

    lines = lines_of(message, NOON, columns)

    assert len(lines) == (1 if columns >= 96 else 2)
    assert all(cell_len(line.plain) <= columns for line in lines)


@pytest.mark.parametrize("columns", [36, 80, 96, 120, None])
def test_the_id_of_the_run_is_shown_whole_before_anything_else(columns: int | None) -> None:
    run_id = "run_01M7HNVX9MV0AEDDPP7QHAP2RC"
    message = a_message(topics.HANDLED, {"run_id": run_id}, skill_id="a.rather.long.skill")

    assert lines_of(message, NOON, columns)[-1].plain.endswith(f" {run_id}")


def test_filters_go_by_session_topic_and_end_of_the_utterance() -> None:
    message = a_message("ovos.intent.matched")

    assert Wanted().fits(message)
    assert Wanted(session="kitchen", topics=("x", "ovos.intent.*"), utterance="2d11aa").fits(message)
    assert not Wanted(session="default").fits(message)
    assert not Wanted(topics=("ovos.utterance.*",)).fits(message)
    assert not Wanted(utterance="2d11ab").fits(message)
    assert Wanted(session="default").fits(Message(type="a"))


def test_kinds_of_messages_look_different() -> None:
    styles = {style_of(a_message(type)) for type in (topics.UTTERANCE, topics.SPEAK, topics.ERROR, "a:b", "a")}

    assert len(styles) == 5
    assert style_of(a_message(topics.SPEAK, _namespace_compat_twin=True)) == "bright_black"
