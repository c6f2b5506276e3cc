"""The bus beside a server: opened with it, reached by its own clients, and explained over HTTP."""

import re
import socket
from pathlib import Path

import pytest

from tests.server.process import ServerProcess
from turnkeeper.bus.link import Link
from turnkeeper.cli.local import LocalServer, found_at
from turnkeeper.client.bus import BusClient
from turnkeeper.errors import BusRefused


def bus_of(server: ServerProcess) -> str:
    found = re.search(r"^Bus at (\S+)$", server.said, re.MULTILINE)
    assert found is not None, server.said
    return found[1]


async def test_a_server_answers_on_its_bus_and_tells_over_http_why(tmp_path: Path) -> None:
    with ServerProcess(
        "--port", "0", "--bus-port", "0", "--token", "secret", "--database", str(tmp_path / "x.db"),
        TURNKEEPER_DEFAULT_AGENT="symbolic",
    ) as server:  # fmt: skip
        async with BusClient(bus_of(server), session_id="kiosk-9") as client:
            await client.say("My name is Ada.")
            answer = await client.say("What is my name?")

        assert "Ada" in answer.text
        assert found_at(tmp_path / "x.db-server") == LocalServer(
            url=server.url, token="secret", pid=server.process.pid, bus=bus_of(server)
        )
        told = server.api("secret").get(f"/runs/{answer.run_id}").json()
        assert (told["agent"], told["status"], told["custody"]) == ("symbolic", "completed", "client")
        async with Link(server.url.replace("http", "ws") + "/core", on_message=lambda _: None) as astray:
            with pytest.raises(BusRefused, match=r"answered 404: No such route\."):
                await astray.opened(10)
        assert server.stop() == 0
    assert server.complained == ""


async def test_a_server_joins_another_bus(tmp_path: Path) -> None:
    echo = {"TURNKEEPER_DEFAULT_AGENT": "echo"}
    flags = ("--port", "0", "--bus-port", "0", "--token", "a", "--database", str(tmp_path / "a.db"))
    with ServerProcess(*flags, **echo) as one:
        url = bus_of(one)
        flags = ("--port", "0", "--token", "b", "--database", str(tmp_path / "b.db"), "--bus-url", url)
        with ServerProcess(*flags, **echo) as other:
            assert f"Joining the bus at {url}" in other.said
            async with BusClient(url, session_id="n1") as client:
                answers = [await client.say(f"hello {number}") for number in range(5)]

    assert all(f"hello {number}" in answer.text for number, answer in enumerate(answers))
    assert f"info on the bus bus={url}" in other.complained


def test_a_port_that_is_taken_is_named_where_it_was_asked_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        server = ServerProcess("--port", "0", "--bus-port", port, "--token", "x", "--database", str(tmp_path / "x.db"))

        assert server.ended() == 2
    assert f"The bus cannot listen on 127.0.0.1:{port}" in server.complained
    assert "--bus-port 0" in server.complained
